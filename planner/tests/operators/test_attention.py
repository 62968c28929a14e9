"""Attention pairs, spans and intensities (R4)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.operators.attention import causal_pairs
from planner.tests.build import LLAMA_70B, table


@given(tokens=st.integers(1, 300), cached=st.integers(0, 300), span=st.one_of(st.integers(1, 400), st.just(np.inf)))
def test_pairs_equal_the_sum(tokens, cached, span) -> None:
    found = causal_pairs(np.asarray(float(tokens)), np.asarray(float(cached)), np.asarray(float(span)))
    assert float(found) == pytest.approx(sum(min(cached + i, span) for i in range(1, tokens + 1)))


def test_grouped_query_decode_intensity_is_the_group_size() -> None:
    """I = 2g/s: eight queries share each key-value head of Llama-3-70B; independent of context and batch."""
    cores = table(LLAMA_70B).cores
    for context in (1e5, 1e6):
        flow = cores.decode(np.asarray(4.0), np.asarray(context))
        assert float(flow.work[0] / flow.cache[0]) == pytest.approx(8.0, rel=1e-4)


def test_prefill_work_counts_causal_pairs_only() -> None:
    cores = table(LLAMA_70B).cores
    flow = cores.prefill(np.asarray(4096.0), np.asarray(0.0))
    assert float(flow.work[0]) == pytest.approx(4 * 64 * 128 * 4096 * 4097 / 2)
