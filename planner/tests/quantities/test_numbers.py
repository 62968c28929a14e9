"""Checks, parsing, formatting and the number-or-array functions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.errors import InvalidQuantity
from planner.core.quantities import numeric as num
from planner.core.quantities.arrays import require_fraction, require_non_negative, require_positive
from planner.core.quantities.format import amount, binary_bytes, counted, prefixed, seconds, significant
from planner.core.quantities.parse import context_length, count

CHECKS = {require_positive: (1.0, [0.0, -1.0, math.nan, math.inf, 1e31]),
          require_non_negative: (0.0, [-1e-9, math.nan, math.inf, 1e31]),
          require_fraction: (0.5, [-0.1, 1.1, math.nan])}


@pytest.mark.parametrize("check", CHECKS)
def test_checks_pass_good_numbers_through(check) -> None:
    good, _ = CHECKS[check]
    assert check("x", good) == good
    assert isinstance(check("x", good), float)
    assert np.array_equal(check("x", np.array([good, good])), [good, good])


@pytest.mark.parametrize("check", CHECKS)
def test_checks_refuse_bad_numbers_by_name(check) -> None:
    for bad in CHECKS[check][1]:
        with pytest.raises(InvalidQuantity, match="the thing"):
            check("the thing", bad)
        with pytest.raises(InvalidQuantity, match="one outside"):
            check("the thing", np.array([0.5, bad]))


@pytest.mark.parametrize(("text", "value"), [("64", 64), ("8k", 8000), ("1.5M", 1.5e6), (" 2K ", 2000), (".5k", 500),
                                             ("3b", 3e9)])
def test_counts_are_decimal(text: str, value: float) -> None:
    assert count(text, "in") == value


def test_context_lengths_are_binary() -> None:
    assert context_length("8k", "context") == 8192
    assert context_length("1M", "context") == 1048576


@pytest.mark.parametrize("text", ["", "k", "-1", "1e9", "ten", "8kk", "nan"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuantity, match="in must be a number"):
        count(text, "in")


@pytest.mark.parametrize(("value", "text"), [(64.0, "64"), (1, "1"), (2.375, "2.38"), (1048576.0, "1,048,576"),
                                             (math.inf, "inf"), (math.nan, "nan"), (0.5, "0.500"), (-3.0, "-3")])
def test_whole_numbers_keep_their_digits_and_others_three(value: float, text: str) -> None:
    assert amount(value) == text


@pytest.mark.parametrize(("value", "text"), [(1, "1 request"), (1.0, "1 request"), (1.0004, "1 request"),
                                             (0, "0 requests"), (2.375, "2.38 requests"), (64.0, "64 requests")])
def test_one_thing_is_not_things(value: float, text: str) -> None:
    assert counted(value, "request") == text


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (1234.5, "1,230"), (0.001234, "0.00123"), (12.34, "12.3"),
                                             (math.inf, "inf"), (-5.678, "-5.68"), (999.9, "1,000")])
def test_three_significant_digits(value: float, text: str) -> None:
    assert significant(value) == text


def test_units_are_written_with_prefixes() -> None:
    assert prefixed(3.35e12, "B/s") == "3.35 TB/s"
    assert prefixed(1e-12, "s") == "0.00000000000100 s"
    assert binary_bytes(85e9) == "79.2 GiB"
    assert binary_bytes(320 * 1024) == "320 KiB"
    assert binary_bytes(3e6) == "2.86 MiB"
    assert binary_bytes(12) == "12.0 B"
    assert seconds(0.0214) == "21.4 ms"
    assert seconds(0.9999) == "1.00 s"
    assert seconds(4321.0) == "4,321 s"


PAIRS = {num.maximum: np.maximum, num.minimum: np.minimum}
ONES = {num.sqrt: np.sqrt, num.exp: np.exp, num.expm1: np.expm1, num.log: np.log, num.log1p: np.log1p,
        num.log2: np.log2, num.floor: np.floor, num.ceil: np.ceil, num.isfinite: np.isfinite}


@pytest.mark.parametrize("function", PAIRS)
@given(a=st.floats(-1e6, 1e6), b=st.floats(-1e6, 1e6))
def test_pairs_agree_with_numpy(function, a, b) -> None:
    assert function(a, b) == PAIRS[function](a, b)
    assert function(np.array([a]), b)[0] == function(a, b)


@pytest.mark.parametrize("function", ONES)
@given(a=st.floats(1e-6, 300))
def test_functions_agree_with_numpy(function, a) -> None:
    assert function(a) == pytest.approx(float(ONES[function](a)), rel=1e-15)
    assert float(function(np.array([a]))[0]) == pytest.approx(float(function(a)), rel=1e-15)


def test_infinities_pass_rounding() -> None:
    assert num.floor(math.inf) == math.inf
    assert num.ceil(math.inf) == math.inf


def test_choices_and_grids() -> None:
    assert num.where(True, 1.0, 2.0) == 1.0
    assert num.where(np.array([True, False]), 1.0, 2.0).tolist() == [1.0, 2.0]
    assert num.clip(5.0, 0.0, 2.0) == 2.0
    assert num.together(1.0, 2.0) == (1.0, 2.0)
    assert [a.shape for a in num.together(np.zeros(3), 1.0)] == [(3,), (3,)]
    assert num.spread(1.0, 2.0) == 1.0
    assert num.spread(1.0, np.zeros(2)).tolist() == [1.0, 1.0]
