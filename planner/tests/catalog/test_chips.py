import pytest

from planner.catalog.chips import ChipCatalog, built_in_chips, read_chip
from planner.catalog.loader import catalog_root, raise_all, read_toml
from planner.core.errors import AdapterError, MissingFact, NotFound
from planner.core.hardware.record import chip_from_record
from planner.tests.effort import lines

CHIPS = built_in_chips()


@pytest.mark.parametrize(("sku", "memory"), [
    ("h100-sxm-80gb", 79.19 * 2**30),  # cudaMemGetInfo, engine start-up logs
    ("h200-sxm-141gb", 143771 * 2**20), ("b200-sxm-180gb", 183359 * 2**20),  # nvidia-smi
    ("a40-48gb", 44.45 * 2**30), ("rtx-3090-24gb", 23.58 * 2**30),  # engine start-up logs
    ("a100-sxm-80gb", 79.25 * 2**30), ("a100-sxm-40gb", 39.50 * 2**30), ("v100-sxm-32gb", 31.74 * 2**30),  # PyTorch
    ("rtx-4090-24gb", 23.64 * 2**30), ("h100-nvl-94gb", 93.00 * 2**30),  # PyTorch
    ("mi300x-192gb", 206_141_652_992), ("trainium2-96gb", 96 * 2**30), ("gaudi-3-128gb", 128e9)])
def test_memory_is_what_the_runtime_reports_where_known(sku, memory):
    assert CHIPS.chip(sku).memory_bytes == pytest.approx(memory, rel=1e-9)


@pytest.mark.parametrize(("low", "high"), [(5.01, 24.83), (12.02, 31.83)])
def test_an_a100_grants_a_quarter_of_what_it_reports_for_a_quarter_of_utilisation(low, high):
    """KV pools [GiB] at utilisations of 0.25 and 0.5, vLLM 0.10.1.1: https://github.com/dennislee22/vLLM-benchmarking."""
    granted = (high - low) / 0.25
    assert CHIPS.chip("a100-sxm-80gb").memory_bytes / 2**30 == pytest.approx(granted, abs=0.04)


@pytest.mark.parametrize(("sku", "peaks", "bandwidth", "link"), [
    ("h100-sxm-80gb", {"bf16": 989.4e12, "fp8": 1978.9e12}, 3.35e12, 450e9),
    ("h200-sxm-141gb", {"bf16": 989.4e12, "fp8": 1978.9e12}, 4.8e12, 450e9),
    ("a100-sxm-80gb", {"bf16": 312e12, "int8": 624e12}, 2.039e12, 300e9),
    ("b200-sxm-180gb", {"bf16": 2250e12, "fp8": 4500e12, "fp4": 9000e12}, 7.7e12, 900e9),
    ("mi300x-192gb", {"bf16": 1307.4e12, "fp8": 2614.9e12}, 5.325e12, 448e9)])
def test_datasheet_values(sku, peaks, bandwidth, link):
    chip = CHIPS.chip(sku)
    assert {pipe: chip.peaks[pipe] for pipe in peaks} == pytest.approx(peaks)
    assert chip.bandwidth == pytest.approx(bandwidth)
    assert chip.scale_up is not None
    assert chip.scale_up.bytes_per_s == pytest.approx(link)


# π [TFLOP/s] and β [TB/s] as the roofline texts write them -> ridge [FLOP/byte], rounded there to the unit.
@pytest.mark.parametrize(("beta", "pi", "ridge"), [
    (2.04, 312, 153), (3.35, 989, 295), (3.35, 1979, 591), (3.35, 66.9, 20), (4.80, 989, 206), (4.80, 1979, 412),
    (4.80, 66.9, 14), (8.00, 2250, 281), (8.00, 4500, 562.5), (8.00, 80, 10), (5.30, 1307, 247), (5.30, 2615, 493),
    (5.30, 163, 31), (0.864, 362, 419), (0.864, 733, 848), (0.864, 91.6, 106), (1.008, 165.2, 164),
    (1.008, 330.3, 328), (1.008, 82.6, 82), (2.04, 19.5, 9.6)])
def test_golden_ridge_points(beta, pi, ridge):
    chip = chip_from_record({"memory_bytes": 8e10, "bandwidth_bytes_per_s": beta * 1e12,
                             "peak_flop_per_s": {"bf16": pi * 1e12}})
    assert chip.ridge("bf16") == pytest.approx(ridge, abs=0.51)


def test_every_entry_is_sound_and_says_where_it_comes_from():
    entries = CHIPS.entries()
    assert len(entries) >= 62
    for entry in entries:
        assert entry.sources
        assert entry.date
        assert entry.memory_source
        assert entry.memory_basis != "marketed" or entry.chip.memory_bytes <= entry.memory_marketed_gb * 2**30
        for link in (entry.chip.scale_up, entry.chip.host, entry.chip.network):
            assert link is None or link.bytes_per_s > 0


def test_facts_that_must_never_be_derived():
    assert CHIPS.chip("b300-sxm-288gb").peaks["int8"] < CHIPS.chip("b300-sxm-288gb").peaks["fp8"] / 20
    assert "bf16" not in CHIPS.chip("v100-sxm-16gb").peaks
    assert "fp8" not in CHIPS.chip("a100-sxm-80gb").peaks
    with pytest.raises(MissingFact):
        CHIPS.chip("rubin-r200-288gb").peak("bf16")
    assert CHIPS.chip("rubin-r200-288gb").bandwidth == pytest.approx(22e12)
    h100, h200 = CHIPS.chip("h100-sxm-80gb"), CHIPS.chip("h200-sxm-141gb")
    assert h200.peaks == h100.peaks
    assert h200.bandwidth / h100.bandwidth == pytest.approx(1.43, abs=0.005)


def test_only_the_file_asked_for_is_read_and_once():
    fresh = ChipCatalog(catalog_root())
    assert fresh.ids() == CHIPS.ids()
    first = fresh.chip("h100-sxm-80gb")
    assert list(fresh._entries) == ["h100-sxm-80gb"]
    assert fresh.chip("h100-sxm-80gb") is first
    assert lines(lambda: fresh.chip("h100-sxm-80gb")) < 15


def test_an_unknown_sku_is_not_found():
    with pytest.raises(NotFound):
        CHIPS.entry("no-such-chip")


def test_all_errors_of_all_files_come_at_once(tmp_path):
    folder = tmp_path / "chips" / "acme"
    folder.mkdir(parents=True)
    (folder / "one.toml").write_text('id = "uno"\nsurprise = 1\n[links.host]\nkind = "pcie"\nbytes_per_s = -1\n')
    (folder / "two.toml").write_text("id = ")
    with pytest.raises(AdapterError) as error:
        ChipCatalog(tmp_path).entries()
    text = str(error.value)
    for part in ("2 error(s)", "one.toml", "unknown key surprise", "'uno' is not the file's name",
                 "memory_bytes is required", "links.host", "two.toml"):
        assert part in text


def test_a_bad_number_in_a_file_is_named(tmp_path):
    good = (catalog_root() / "chips" / "nvidia" / "l4-24gb.toml").read_text()
    bad = tmp_path / "l4-24gb.toml"
    bad.write_text(good.replace("bandwidth_bytes_per_s = 3.0e11", "bandwidth_bytes_per_s = -3.0e11"))
    with pytest.raises(AdapterError, match="bandwidth_bytes_per_s must be a finite number above zero"):
        read_chip(bad)


def test_loader_refusals(tmp_path, monkeypatch):
    with pytest.raises(AdapterError, match=r"missing\.toml"):
        read_toml(tmp_path / "missing.toml")
    raise_all([], "nothing")
    monkeypatch.setattr("planner.catalog.loader._PACKAGE", tmp_path / "planner")
    with pytest.raises(AdapterError, match="catalogue is missing"):
        catalog_root()
    (tmp_path / "planner" / "models_catalog").mkdir(parents=True)
    assert catalog_root() == tmp_path / "planner" / "models_catalog"
