import pytest

from planner.core.errors import InvalidQuantity, MissingFact
from planner.core.hardware.chip import Chip, Link
from planner.core.hardware.record import _PIPES, chip_from_record, record_problems
from planner.schemas.resources import PIPES

FORM = {"id": "x-80gb", "name": "X", "vendor": "V", "memory_bytes": 8e10, "bandwidth_bytes_per_s": 3e12,
        "peak_flop_per_s": {"bf16": 9e14, "fp8": None}, "link_bytes_per_s": 4.5e11, "power_w": 700}


def test_the_creation_form_becomes_a_chip():
    chip = chip_from_record(FORM)
    assert (chip.id, chip.memory_bytes, chip.bandwidth, chip.peaks) == ("x-80gb", 8e10, 3e12, {"bf16": 9e14})
    assert chip.scale_up == Link(kind="scale-up", bytes_per_s=4.5e11, domain=8, switched=True)
    assert chip.power_w == 700
    assert chip.host is None
    assert chip.ridge("bf16") == pytest.approx(300)


def test_an_inline_sku_needs_no_id_and_keeps_unknown_facts_none():
    chip = chip_from_record({"memory_bytes": 1e10, "bandwidth_bytes_per_s": 1e12, "peak_flop_per_s": {"bf16": 1e14},
                             "multiprocessors": 10, "boundaries_bytes_per_s": {"l2": 5e12}, "gpus_per_node": 4,
                             "link_bytes_per_s": 1e11})
    assert (chip.id, chip.name, chip.power_w, chip.multiprocessors) == ("inline", "inline SKU", None, 10)
    assert chip.boundaries == {"l2": 5e12}
    assert chip.link(4).domain == 4


@pytest.mark.parametrize(("change", "pointer"), [
    ({"memory_bytes": -1}, "/memory_bytes"), ({"memory_bytes": float("nan")}, "/memory_bytes"),
    ({"memory_bytes": True}, "/memory_bytes"), ({"memory_bytes": None}, "/memory_bytes"),
    ({"bandwidth_bytes_per_s": "fast"}, "/bandwidth_bytes_per_s"), ({"peak_flop_per_s": {}}, "/peak_flop_per_s"),
    ({"peak_flop_per_s": 5}, "/peak_flop_per_s"), ({"peak_flop_per_s": {"bf16": 0}}, "/peak_flop_per_s/bf16"),
    ({"peak_flop_per_s": {"bf17": 1e12}}, "/peak_flop_per_s/bf17"), ({"name": 5}, "/name"), ({"colour": 1}, "/colour"),
    ({"boundaries_bytes_per_s": {"l2": -1}}, "/boundaries_bytes_per_s/l2"),
    ({"boundaries_bytes_per_s": [1]}, "/boundaries_bytes_per_s"), ({"power_w": float("inf")}, "/power_w"),
])
def test_a_wrong_field_is_refused_by_name(change, pointer):
    with pytest.raises(InvalidQuantity) as error:
        chip_from_record(FORM | change)
    assert error.value.pointer == pointer


def test_all_wrong_fields_are_named_at_once():
    problems = record_problems({"memory_bytes": -1, "bandwidth_bytes_per_s": 0, "unknown": 1})
    assert [pointer for pointer, _ in problems] == ["/peak_flop_per_s", "/memory_bytes", "/bandwidth_bytes_per_s",
                                                    "/unknown"]


def test_an_unpublished_peak_is_refused_and_the_known_ones_are_named():
    with pytest.raises(MissingFact, match="fp4") as error:
        chip_from_record(FORM).peak("fp4")
    assert "bf16" in (error.value.hint or "")


def test_the_link_that_spans_a_group():
    chip = Chip(id="a", name="A", vendor="v", architecture="x", memory_bytes=1e9, bandwidth=1e9, peaks={},
                scale_up=Link(kind="nvlink-bridge", bytes_per_s=3e11, domain=2), gpus_per_node=8,
                host=Link(kind="pcie", bytes_per_s=6.4e10, domain=8),
                network=Link(kind="network", bytes_per_s=5e10, domain=16))
    assert [chip.link(n).kind for n in (2, 4, 8, 16)] == ["nvlink-bridge", "pcie", "pcie", "network"]
    with pytest.raises(MissingFact, match="32 chips"):
        chip.link(32)


def test_the_reference_page_lists_every_pipe():
    assert set(PIPES) == set(_PIPES)
