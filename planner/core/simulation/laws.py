"""Laws of request lengths and of gaps between arrivals, drawn in blocks from one seed each."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.quantities.arrays import Array

BLOCK = 4096
"""Numbers drawn at once [1]."""
LONGEST = 10_000_000
"""No request is longer [token]."""


class LengthLaw(ABC):
    """How many tokens a prompt or an answer has."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, count: int) -> Array:
        """Lengths before rounding, shape (count,) [token]."""

    def stream(self, rng: np.random.Generator) -> Iterator[int]:
        """Whole lengths of at least one token, without end."""
        while True:
            yield from np.clip(np.rint(self.draw(rng, BLOCK)), 1, LONGEST).astype(np.int64).tolist()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed(LengthLaw):
    """Every length the same."""

    tokens: float

    def draw(self, rng: np.random.Generator, count: int) -> Array:  # noqa: ARG002 - nothing is random here
        """The one length, shape (count,) [token]."""
        return np.full(count, float(self.tokens))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform(LengthLaw):
    """Any whole length between two."""

    low: float
    high: float

    def draw(self, rng: np.random.Generator, count: int) -> Array:
        """Uniform lengths, shape (count,) [token]."""
        return rng.uniform(self.low, self.high, count)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LogNormal(LengthLaw):
    """A log-normal law by its mean and coefficient of variation."""

    mean: float
    cv: float

    def draw(self, rng: np.random.Generator, count: int) -> Array:
        """Log-normal lengths, shape (count,) [token]."""
        sigma2 = math.log1p(self.cv**2)
        return rng.lognormal(math.log(self.mean) - sigma2 / 2.0, math.sqrt(sigma2), count)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Empirical(LengthLaw):
    """A recorded distribution: lengths and the share of requests up to each."""

    tokens: tuple[float, ...]
    cumulative: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse what is no distribution."""
        sizes = len(self.tokens), len(self.cumulative)
        if not all(sizes) or sizes[0] != sizes[1]:
            raise InvalidQuantity(f"An empirical law needs a share for each of its lengths, got {sizes[0]} lengths and "
                                  f"{sizes[1]} shares.", pointer="cumulative")
        for place in range(1, sizes[0]):
            if self.tokens[place] <= self.tokens[place - 1]:
                raise InvalidQuantity("The lengths of an empirical law must ascend.", pointer=f"tokens/{place}")
            if self.cumulative[place] < self.cumulative[place - 1]:
                raise InvalidQuantity("The shares of an empirical law must not fall.", pointer=f"cumulative/{place}")
        if abs(self.cumulative[-1] - 1.0) > 1e-6:
            raise InvalidQuantity("The shares of an empirical law must rise to 1.",
                                  pointer=f"cumulative/{sizes[0] - 1}")

    def draw(self, rng: np.random.Generator, count: int) -> Array:
        """Lengths by inversion, linear between the recorded ones, shape (count,) [token]."""
        return np.interp(rng.random(count), self.cumulative, self.tokens)


def law_of(mean: float, cv: float) -> LengthLaw:
    """The law used when only two moments are known.

    Parameters
    ----------
    mean : float
        [token].
    cv : float
        Coefficient of variation [1].

    Returns
    -------
    LengthLaw
        Fixed for cv 0, uniform while a uniform law can have that cv, log-normal beyond.
    """
    if cv == 0.0:
        return Fixed(tokens=mean)
    if cv <= 0.5:
        half = mean * cv * math.sqrt(3.0)
        return Uniform(low=mean - half, high=mean + half)
    return LogNormal(mean=mean, cv=cv)


def unit_gaps(rng: np.random.Generator, cv: float) -> Iterator[float]:
    """Gaps between arrivals with mean one: equal for cv 0, exponential for 1, Gamma otherwise.

    Parameters
    ----------
    rng : Generator
        Its own stream, so that two runs at different rates meet the same pattern.
    cv : float
        Coefficient of variation of the gaps [1].

    Yields
    ------
    float
        [1].
    """
    shape = 0.0 if cv == 0.0 else 1.0 / cv**2
    while True:
        if not shape:
            yield from [1.0] * BLOCK
        elif shape == 1.0:
            yield from rng.exponential(1.0, BLOCK).tolist()
        else:
            yield from rng.gamma(shape, 1.0 / shape, BLOCK).tolist()
