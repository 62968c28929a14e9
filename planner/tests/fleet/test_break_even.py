from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.errors import InvalidQuantity
from planner.core.fleet.break_even import HOURS_PER_MONTH, api_usd, break_even_share, monthly_usd

MONEY = st.floats(0.01, 1e5)


def test_golden_by_hand():
    """10 USD/h over 730 h; two billion tokens at 0.90 per million; 0.56 owned against 0.90."""
    assert HOURS_PER_MONTH == 730.0
    assert monthly_usd(10.0) == pytest.approx(7300.0, rel=1e-12)
    assert api_usd(2e9, 0.9) == pytest.approx(1800.0, rel=1e-12)
    assert break_even_share(0.56, 0.9) == pytest.approx(0.6222222222222222, rel=1e-12)


@given(MONEY, MONEY, st.floats(0.1, 10))
def test_homogeneous(owned, api, factor):
    assert break_even_share(owned * factor, api * factor) == pytest.approx(break_even_share(owned, api), rel=1e-9)
    assert monthly_usd(owned * factor) == pytest.approx(factor * monthly_usd(owned), rel=1e-9)
    assert api_usd(owned * factor, api) == pytest.approx(factor * api_usd(owned, api), rel=1e-9)


@pytest.mark.parametrize(
    "call",
    [
        lambda: monthly_usd(-1),
        lambda: api_usd(-1, 1),
        lambda: api_usd(1, -1),
        lambda: break_even_share(1, 0),
        lambda: break_even_share(-1, 1),
    ],
)
def test_nonsense_is_refused(call):
    with pytest.raises(InvalidQuantity):
        call()
