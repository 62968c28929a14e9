"""Which assumption matters: tornado, two-way tables, and the exact price at which one choice overtakes another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.core.fleet.scenario import Scenario
from planner.core.quantities.arrays import Array

Measure = Callable[[Scenario], float]
Change = Callable[[Scenario, float], Scenario]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """A number that could be otherwise, with its range."""

    name: str
    unit: str
    base: float
    low: float
    high: float
    change: Change
    """The scenario with this number moved."""
    source: str = ""
    """Where the range comes from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """What one assumption does to the measure."""

    assumption: Assumption
    at_low: float
    at_high: float

    @property
    def swing(self) -> float:
        """Range of the measure; infinite when an end cannot be served."""
        return 0.0 if self.at_high == self.at_low else abs(self.at_high - self.at_low)


def tornado(scenario: Scenario, assumptions: Sequence[Assumption], measure: Measure) -> tuple[Bar, ...]:
    """The measure at both ends of every assumption, alone, the one that matters most first.

    Parameters
    ----------
    scenario : Scenario
        The base.
    assumptions : sequence of Assumption
        What could be otherwise.
    measure : callable
        What is watched.

    Returns
    -------
    tuple of Bar
        By falling swing.
    """
    bars = [Bar(assumption=a, at_low=measure(a.change(scenario, a.low)), at_high=measure(a.change(scenario, a.high)))
            for a in assumptions]
    return tuple(sorted(bars, key=lambda b: (-b.swing, b.assumption.name)))


def two_way(scenario: Scenario, first: tuple[Assumption, Sequence[float]], second: tuple[Assumption, Sequence[float]],
            measure: Measure) -> Array:
    """The measure over a grid of two assumptions.

    Parameters
    ----------
    scenario : Scenario
        The base.
    first : tuple
        An assumption and its values, down the rows.
    second : tuple
        An assumption and its values, along the columns.
    measure : callable
        What is watched.

    Returns
    -------
    ndarray
        (first, second).
    """
    (a, down), (b, along) = first, second
    return np.array([[measure(b.change(a.change(scenario, x), y)) for y in along] for x in down])


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A cost that is linear in a price while the fleet behind it stays the same: constant + slope · price."""

    constant: float
    slope: float


def price_crossover(piece_at: Callable[[float], Piece], rival: float, start: float) -> float | None:
    """The price at which the cheapest fleet that pays it costs as much as a rival that does not, exactly.

    Parameters
    ----------
    piece_at : callable
        The linear piece of the cheapest fleet at a price.
    rival : float
        What the rival costs [USD].
    start : float
        A price to start from.

    Returns
    -------
    float or None
        The price; None when no price above zero makes them equal.

    Notes
    -----
    The cost is the least of linear functions of the price, hence concave and piecewise linear: Newton's method on it
    ends on the exact piece after finitely many steps, whatever the start; a price seen before is the answer.
    """
    price, seen = start, set[float]()
    while True:
        piece = piece_at(price)
        if piece.slope <= 0 and piece.constant < rival:
            return None
        # A tangent of a concave function meets the rival at or before the crossing, so zero is a safe restart.
        following = max((rival - piece.constant) / piece.slope, 0.0) if piece.slope > 0 else 0.0
        if following in {price, *seen}:
            return following or None
        seen.add(following)
        price = following
