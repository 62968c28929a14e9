"""Cache footprints: windows cap, latents repeat, the longest context is the inverse of the footprint."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.memory.cache import CacheClass, CacheFootprint

classes = st.lists(st.tuples(st.one_of(st.just(inf), st.floats(1, 1e5)), st.floats(1, 1e4)), min_size=1, max_size=4)


def footprint(rows: list[tuple[float, float]], state: float) -> CacheFootprint:
    return CacheFootprint(state_bytes=state, classes=tuple(
        CacheClass(window=w, stride=1.0, entry_bytes=b, layers=1.0) for w, b in rows))


@given(rows=classes, state=st.floats(0, 1e6), pool=st.floats(0, 1e10))
def test_longest_is_the_last_length_that_fits(rows, state, pool) -> None:
    kept = footprint(rows, state)
    longest = kept.longest(pool)
    if longest == inf:
        assert kept.bytes_per_sequence(1e12) <= pool * (1 + 1e-9)
        return
    if longest > 0:
        assert kept.bytes_per_sequence(longest) <= pool * (1 + 1e-9)
    assert kept.bytes_per_sequence(longest + 1) > pool * (1 - 1e-9)


@given(rows=classes, state=st.floats(0, 1e6), pools=st.lists(st.floats(0, 1e10), min_size=1, max_size=6))
def test_longest_of_arrays(rows, state, pools) -> None:
    kept = footprint(rows, state)
    assert kept.longest(np.array(pools)).tolist() == [kept.longest(p) for p in pools]


@given(rows=classes, state=st.floats(0, 1e6), tokens=st.lists(st.floats(0, 1e6), min_size=1, max_size=5))
def test_arrays_equal_numbers(rows, state, tokens) -> None:
    kept = footprint(rows, state)
    alone = [kept.bytes_per_sequence(t) for t in tokens]
    assert np.allclose(kept.bytes_per_sequence(np.array(tokens)), alone, rtol=1e-12)


def test_a_window_caps_what_is_kept() -> None:
    kept = footprint([(inf, 10.0), (100.0, 5.0)], 7.0)
    assert kept.bytes_per_sequence(1000) == pytest.approx(7 + 10_000 + 500)
    assert kept.bytes_per_token == 15
