"""Tables of one kernel inform each other; operands that stay in a cache are told from a fast memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.core.fitting.efficiency import fit_curve, solve_curve
from planner.core.fitting.forms import FORMS, WALKING, form_of
from planner.core.fitting.measurement import KernelTable
from planner.core.fitting.siblings import Siblings, informed, siblings

ARCHITECTURE = {"left": "family", "right": "family", "stranger": "other"}
PLANTED = {"launch": 12e-6, "growth": 0.8e-6, "memory": 0.75, "compute": 0.6, "serial": 5e-11, "passes": 4.0,
           "reuse": 0.6, "partial_tile": 1.5}
BLOCK = {"block_memory": 0.7, "block_compute": 0.4}
HEADS = (8.0, 16.0, 32.0, 64.0, 128.0)


def latent(chip: str = "left", heads: tuple[float, ...] = HEADS, *, operator: str = "mla_decode", key: str = "mla:bf16",
           values: dict[str, float] | None = None, seed: int = 1) -> KernelTable:
    batch, context, h = (c.ravel() for c in np.meshgrid([1.0, 16.0, 128.0], [64.0, 1024.0, 8192.0, 65536.0],
                                                        np.array(heads)))
    cache = batch * context * 576 * 2
    features = {"work": 2 * batch * h * context * 1088, "cache_traffic": cache, "traffic": cache,
                "io_traffic": 2 * batch * h * 1088, "context": context, "batch": batch, "heads": h}
    if operator == "mla_block":
        features |= {"weight_traffic": 3e7 + 4e5 * h, "block_work": 2 * batch * (3e7 + 4e5 * h),
                     "block_peak": np.full_like(h, 1e15)}
    table = KernelTable(operator=operator, key=key, chip=chip, engine="e", kernel="", features=features,
                        time=np.ones_like(h), shapes=tuple(f"{x:.0f}" for x in h), peak=1e15, bandwidth=4e12,
                        cache_bytes=5e7)
    planted = values or {**PLANTED, **(BLOCK if operator == "mla_block" else {})}
    noise = np.exp(0.02 * np.random.default_rng(seed).standard_normal(h.size))
    return replace(table, time=FORMS[operator].predict(planted, table) * noise)


def test_the_same_kernel_on_a_sister_chip_is_the_nearest_kin() -> None:
    mine, sister = latent("left"), latent("right")
    tables = [mine, sister, latent("stranger"), latent("right", key="mla:fp8"), latent("left", key="mla:fp8")]
    assert siblings(mine, tables, ARCHITECTURE).tables == (sister,)
    assert siblings(mine, tables, ARCHITECTURE).shared is None


def test_failing_sisters_blocks_share_the_attention_of_other_weight_formats() -> None:
    mine, other = (latent(operator="mla_block", key=f"mla:bf16+{fmt}") for fmt in ("bf16", "nvfp4"))
    found = siblings(mine, [mine, other, latent(operator="mla_block", key="mla:fp8+bf16")], ARCHITECTURE)
    assert found.tables == (other,)
    assert "memory" in found.shared
    assert not {"launch", "block_memory", "block_compute"} & found.shared
    gemm = replace(mine, operator="gemm", key="bf16")
    assert siblings(gemm, [gemm, replace(gemm, key="fp8")], ARCHITECTURE) == Siblings()


def test_a_head_count_that_only_a_sister_was_timed_at_is_predicted() -> None:
    mine, sister = latent("left", (8.0, 16.0, 64.0, 128.0)), latent("right", seed=2)
    unseen = latent("left", (32.0,), seed=3)
    like = siblings(mine, [mine, sister], ARCHITECTURE)
    form = FORMS["mla_decode"]
    alone = form.predict(solve_curve(mine), unseen)
    known = form.predict(fit_curve(mine, like, [solve_curve(sister)]).values, unseen)
    assert np.median(np.abs(alone / unseen.time - 1)) > 0.15
    assert np.median(np.abs(known / unseen.time - 1)) < 0.05


def test_what_a_tables_own_rows_decide_stays_decided() -> None:
    mine = latent("left")
    wrong = {**PLANTED, "memory": 0.4, "launch": 40e-6}
    fit = fit_curve(mine, Siblings(tables=(mine,), width=0.05), [wrong])
    assert fit.values["memory"] == pytest.approx(0.75, rel=0.1)
    assert fit.values["launch"] == pytest.approx(12e-6, rel=0.15)


def test_usual_values_are_the_siblings_median_within_bounds() -> None:
    form = FORMS["mla_decode"]
    known = [{**PLANTED, "memory": m} for m in (0.3, 0.5, 2.0)]
    found = {p.name: p for p in informed(form, known, Siblings(width=0.05)).parameters}
    assert found["memory"].usual == pytest.approx(0.5)
    assert found["memory"].prior == 0.05
    high = {p.name: p for p in informed(form, [{**PLANTED, "memory": 2.0}], Siblings(width=0.05)).parameters}
    assert high["memory"].usual == pytest.approx(0.95)
    only = informed(form, known, Siblings(width=0.1, shared=frozenset({"memory"})))
    assert [p.name for p in only.parameters if p.prior == 0.1] == ["memory"]
    assert informed(form, [], Siblings()) is form


def test_operands_in_the_cache_are_told_from_a_fast_memory() -> None:
    fit = fit_curve(latent())
    assert fit.values["reuse"] == pytest.approx(0.6, abs=0.1)
    assert fit.values["memory"] == pytest.approx(0.75, rel=0.05)
    table = latent()
    cold, warm = (FORMS["mla_decode"].predict({**PLANTED, "reuse": r}, table) for r in (1e-9, 0.9))
    beyond = table.features["traffic"] >= table.cache_bytes
    assert cold[beyond] == pytest.approx(warm[beyond])  # nothing stays of a set larger than the cache
    assert (cold[~beyond] > warm[~beyond]).all()
    unknown = replace(table, cache_bytes=0.0)
    assert FORMS["mla_decode"].predict({**PLANTED, "reuse": 0.9}, unknown) == pytest.approx(cold)


def test_kernels_that_walk_are_fitted_as_walkers() -> None:
    table = latent(values={**PLANTED, "serial": 8e-8, "partial_tile": 1.0})
    walked = FORMS["mla_decode"].fallback.predict({**PLANTED, "serial": 8e-8, "partial_tile": 1.0}, table)
    fit = fit_curve(replace(table, time=walked))
    assert fit.values["serial"] > WALKING
    assert fit.error < 0.03


def test_an_eight_bit_cache_may_beat_the_sixteen_bit_peak() -> None:
    highest = {key: next(p.high for p in form_of(latent(key=key)).parameters if p.name == "compute")
               for key in ("mla:bf16", "mla:fp8")}
    assert highest == {"mla:bf16": 0.95, "mla:fp8": 1.9}
