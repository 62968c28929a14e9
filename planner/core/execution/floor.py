"""The least time of a step and the most requests of a replica, by FLOP and bytes at datasheet ceilings alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf, sqrt
from typing import TypeAlias

from planner.core.execution.bound import BoundTable

Row: TypeAlias = tuple[str, float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """The datasheet ceilings that a step's operators meet, by operator."""

    bandwidth: float
    """[byte/s]"""
    peaks: Mapping[str, float]
    """Of operators with a pipe of their own [FLOP/s]."""
    half_peak: float
    """Of all others: 16-bit arithmetic [FLOP/s]."""
    link_rates: Mapping[str, float]
    """One way, of operators that communicate [byte/s]."""

    @property
    def peak(self) -> float:
        """The highest peak any operator meets [FLOP/s]."""
        return max(self.half_peak, *self.peaks.values()) if self.peaks else self.half_peak

    def step(self, rows: Iterable[Row]) -> float:
        r"""The least time of a step.

        .. math:: \sum_{op} \max(W/\pi, Q/\beta) + Q_{link}/\beta_{link}

        Parameters
        ----------
        rows : iterable of tuple
            Name, FLOP, memory traffic and link traffic of each operator over all its executions [FLOP, byte, byte].

        Returns
        -------
        float
            [s]
        """
        total = 0.0
        for name, work, traffic, link in rows:
            total += max(work / self.peaks.get(name, self.half_peak), traffic / self.bandwidth)
            total += link / self.link_rates.get(name, inf)
        return total


def ceilings(bound: BoundTable) -> Ceilings:
    """The datasheet ceilings of a table's operators.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings, without variants.

    Returns
    -------
    Ceilings
        By name of operator.
    """
    table = bound.table
    names = (*table.matmuls.names, *table.mixtures.names)
    peaks = (*bound.matmul_peak.tolist(), *bound.mixture_peak.tolist())
    return Ceilings(bandwidth=float(bound.bandwidth), half_peak=float(bound.half_peak),
                    peaks=dict(zip(names, peaks, strict=True)),
                    link_rates=dict(zip(table.collectives.names, bound.link_rate.tolist(), strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A load whose times and rates are bounded; steps and prompts as the busiest GPU meets them."""

    step: float
    """Least time of a decode step of ``batch`` sequences [s]."""
    step_flop: float
    step_cache_bytes: float
    batch: float
    """Sequences that step advances [1]."""
    running: float
    """Mean decode batch of the replica under load [1]."""
    prompt: float
    """Least time of a mean prompt on an idle replica [s]."""
    prompt_flop: float
    prompt_cv: float
    """Coefficient of variation of prompt lengths [1]."""
    gaps: float
    """Tokens of an answer after its first [1]."""
    groups: float
    """Attention groups that take prompts beside one another [1]."""

    @property
    def between_tokens(self) -> float:
        """Least mean time between two tokens of a request [s].

        Time and FLOP of a step grow at most in proportion to its batch, so a smaller batch takes at least its share.
        """
        return self.step * min(1.0, self.running / self.batch)

    def first_token(self, *, median: bool) -> float:
        """Least time to the first token [s]; the median prompt of a log-normal law is shorter than the mean."""
        return self.prompt / sqrt(1.0 + self.prompt_cv**2) if median else self.prompt

    @property
    def whole(self) -> float:
        """Least mean time of a request from end to end [s]."""
        return self.prompt + self.gaps * self.between_tokens

    def request_rate(self, ceilings: Ceilings) -> float:
        """The most requests a second that arithmetic and cache traffic allow, at any batch [1/s].

        Weights are left out: they are read once for however many sequences.
        """
        sequences = max(self.batch, self.groups)  # a group left idle by a small batch has room for as much again
        flop = self.prompt_flop / self.groups + self.gaps * self.step_flop / sequences
        read = self.gaps * self.step_cache_bytes / sequences
        least = max(flop / ceilings.peak, read / ceilings.bandwidth)
        return 1.0 / least if least > 0.0 else inf

    def request_rate_at_batch(self, ceilings: Ceilings) -> float:
        """The same at the mean batch of the load, whose steps also read the weights [1/s]."""
        spent = self.gaps * self.between_tokens
        return min(self.request_rate(ceilings), self.running / spent if spent > 0.0 else inf)
