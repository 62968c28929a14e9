"""Kernel tables: gates count what they drop, fits find planted parameters, unseen shapes are scored."""

from __future__ import annotations

import numpy as np
import pytest

from planner.core.errors import InvalidQuantity
from planner.core.fitting.efficiency import fit_curve
from planner.core.fitting.forms import FORMS
from planner.core.fitting.measurement import (
    KernelTable,
    folds,
    gate_bytes_not_read,
    gate_faster_than_roofline,
    gate_fits_in_l2,
    gate_flat_floor,
    gate_not_monotone,
    without,
)

PLANTED = {
    "launch": 3e-6, "serial": 0.5e-6, "memory": 0.85, "compute": 0.7, "quantise": 2.5, "per_token": 5e-9, "store": 1.0,
}  # fmt: skip


def gemm_table(noise: float = 0.0) -> KernelTable:
    m = np.repeat([1.0, 16.0, 128.0, 1024.0, 8192.0], 16)
    n = np.tile(np.repeat([1024.0, 4096.0, 8192.0, 28672.0], 4), 5)
    k = np.tile([1024.0, 4096.0, 8192.0, 16384.0], 20)
    table = KernelTable(
        operator="gemm",
        key="fp8",
        chip="h100-sxm-80gb",
        engine="vllm",
        kernel="",
        peak=2e15,
        bandwidth=3.35e12,
        time=np.ones_like(m),
        shapes=tuple(f"{a}x{b}" for a, b in zip(n, k, strict=True)),
        features={"work": 2 * m * n * k, "traffic": n * k + m * k + 2 * m * n, "tokens": m, "inputs": k},
    )
    time = FORMS["gemm"].predict(PLANTED, table) * np.exp(noise * np.random.default_rng(1).standard_normal(m.size))
    return KernelTable(**{**{f: getattr(table, f) for f in table.__dataclass_fields__}, "time": time})


def test_a_noiseless_table_gives_its_parameters_back() -> None:
    fit = fit_curve(gemm_table())
    for name, value in PLANTED.items():
        assert fit.values[name] == pytest.approx(value, rel=0.05)
    assert fit.error < 0.01
    assert fit.at_bounds == ()


def test_noise_is_what_remains() -> None:
    fit = fit_curve(gemm_table(noise=0.05))
    assert 0.02 < fit.error < 0.07
    assert fit.spread == pytest.approx(0.05, rel=0.5)
    assert abs(fit.bias) < 0.03
    assert fit.rows == 80


def test_outliers_bend_nothing() -> None:
    table = gemm_table()
    time = table.time.copy()
    time[::20] *= 5
    fit = fit_curve(KernelTable(**{**{f: getattr(table, f) for f in table.__dataclass_fields__}, "time": time}))
    assert fit.values["memory"] == pytest.approx(0.85, rel=0.1)


def test_a_table_too_small_is_refused() -> None:
    table = without(gemm_table(), np.arange(80) > 3, "test")
    with pytest.raises(InvalidQuantity, match="cannot carry"):
        fit_curve(table)


def test_bounds_are_reported() -> None:
    table = gemm_table()
    fast = KernelTable(**{**{f: getattr(table, f) for f in table.__dataclass_fields__}, "time": table.time * 0.6})
    assert "memory" in fit_curve(fast).at_bounds


def test_one_shape_is_scored_in_sample() -> None:
    table = gemm_table()
    same = KernelTable(**{**{f: getattr(table, f) for f in table.__dataclass_fields__}, "shapes": ("x",) * 80})
    assert fit_curve(same).error < 0.01


def test_roofline_gate_counts_impossible_rows() -> None:
    table = gemm_table()
    time = table.time.copy()
    time[:7] *= 0.01
    gated = gate_faster_than_roofline(
        KernelTable(**{**{f: getattr(table, f) for f in table.__dataclass_fields__}, "time": time})
    )
    assert gated.gated["faster_than_roofline"] == 80 - gated.time.size
    assert gated.time.size < 80
    assert len(gated.shapes) == gated.time.size == gated.features["work"].size


def test_cache_gate_needs_evidence() -> None:
    table = gemm_table()
    assert gate_fits_in_l2(table, 1e9).time.size == 80
    assert gate_fits_in_l2(table, None).time.size == 80
    evidence = KernelTable(
        **{**{f: getattr(table, f) for f in table.__dataclass_fields__}, "gated": {"faster_than_roofline": 20}}
    )
    kept = gate_fits_in_l2(evidence, 5e7)
    assert kept.gated["fits_in_l2"] == 80 - kept.time.size > 0


def test_a_table_that_reads_large_sets_too_fast_reads_less_than_it_says() -> None:
    table = gemm_table()
    beyond = table.features["traffic"] > 8 * 1e7  # [byte] a last-level cache of 10 MB
    assert 0.1 < beyond.mean() < 0.5
    least = table.features["traffic"] / table.bandwidth

    def timed(time: np.ndarray) -> KernelTable:
        return KernelTable(**{**{f: getattr(table, f) for f in table.__dataclass_fields__}, "time": time})

    half_read = timed(np.where(beyond, 0.6 * least, table.time))
    gated = gate_bytes_not_read(half_read, 1e7)
    assert (gated.time.size, gated.gated) == (0, {"bytes_not_read": 80})
    with pytest.raises(InvalidQuantity, match="0 rows"):
        fit_curve(gated)
    from_cache = timed(np.where(beyond, table.time, 0.3 * least))
    assert gate_bytes_not_read(from_cache, 1e7).time.size == 80
    assert gate_bytes_not_read(half_read, None).time.size == 80
    assert gate_bytes_not_read(half_read, 1e9).time.size == 80


def test_a_message_slower_than_a_larger_one_is_no_property_of_the_link() -> None:
    table = KernelTable(
        operator="all_reduce", key="all_reduce", chip="c", engine="e", kernel="k", peak=1.0, bandwidth=1.0,
        time=np.array([5.0, 30.0, 10.0, 8.5, 40.0]), shapes=("1", "2", "4", "8", "2"),
        features={"message": np.array([1.0, 2.0, 4.0, 8.0, 2.0]), "ranks": np.array([2.0, 2.0, 2.0, 2.0, 8.0])},
    )  # fmt: skip
    kept = gate_not_monotone(table)
    assert kept.gated == {"not_monotone": 1}
    assert kept.time.tolist() == [5.0, 10.0, 8.5, 40.0]
    assert gate_not_monotone(gemm_table()).time.size == 80


def test_flat_floors_are_the_hosts() -> None:
    table = gemm_table()
    flat = KernelTable(
        **{**{f: getattr(table, f) for f in table.__dataclass_fields__}, "time": np.maximum(table.time, 40e-6)}
    )
    assert gate_flat_floor(flat).gated["host_floor"] > 20
    assert gate_flat_floor(table).time.size == 80


def test_gates_leave_other_classes_alone() -> None:
    table = KernelTable(
        operator="all_reduce",
        key="all_reduce",
        chip="c",
        engine="e",
        kernel="k",
        peak=1.0,
        bandwidth=1.0,
        time=np.ones(3),
        shapes=("a", "b", "c"),
        features={"message": np.ones(3), "ranks": np.full(3, 2.0)},
    )
    for gate in (gate_faster_than_roofline, gate_flat_floor, lambda t: gate_fits_in_l2(t, 1e9),
                 lambda t: gate_bytes_not_read(t, 1e9)):  # fmt: skip
        assert gate(table) is table
    assert table.name == "all_reduce all_reduce c e k"
    with pytest.raises(InvalidQuantity):
        without(table, [True], "test")


def test_folds_keep_shapes_together() -> None:
    shapes = ["a"] * 5 + ["b"] * 3 + ["c"] * 2 + ["d"]
    number = folds(shapes, 3)
    assert len(set(number.tolist())) == 3
    for shape in set(shapes):
        assert len({number[i] for i, s in enumerate(shapes) if s == shape}) == 1


@pytest.mark.parametrize("operator", sorted(FORMS))
def test_every_form_is_finite_within_its_bounds(operator: str) -> None:
    form = FORMS[operator]
    size = 4
    names = (
        "work",
        "traffic",
        "tokens",
        "inputs",
        "weight_traffic",
        "stream_traffic",
        "distinct",
        "local_experts",
        "gathered_traffic",
        "row_work",
        "masked_work",
        "cache_traffic",
        "io_traffic",
        "context",
        "batch",
        "block_work",
        "block_peak",
        "message",
        "ranks",
        "volume",
        "longest",
    )
    features = {name: np.full(size, 1e4) for name in names} | {"ranks": np.full(size, 4.0)}
    table = KernelTable(
        operator=operator,
        key="",
        chip="",
        engine="",
        kernel="",
        peak=1e15,
        bandwidth=3e12,
        link_rate=4e11,
        time=np.ones(size),
        shapes=("x",) * size,
        features=features,
    )
    for side in ("low", "usual", "high"):
        time = form.predict({p.name: getattr(p, side) for p in form.parameters}, table)
        assert np.isfinite(time).all()
        assert (time > 0).all()
