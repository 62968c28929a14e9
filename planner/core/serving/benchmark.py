r"""A steady state as a closed-loop benchmark sees it: users come back in cohorts, so prompts queue behind prompts.

.. math:: f(N) = f_\infty + g/(N+3), \quad TPOT = t_d + (1 - \psi)(\bar t - t_d), \quad
          TTFT = t_b + T_{first} + f(N)\,(\bar t - t_d)(O - 1)

f is the share of the other users' prompt time that a request spends waiting for its first token, ψ the share that it
does not feel while decoding: what it waits for, and what overlaps. Requests of equal length finish together and stay
together, so both are larger for them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.core.hardware.efficiency.overhead import ServingTerms
from planner.core.quantities.arrays import Array

_SPREAD_USERS = 3.0  # users beyond which a cohort's share falls off; fitted together with the cohort terms


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkView:
    """What a benchmark's mean columns show, on the grid."""

    tpot: Array
    """[s]."""
    ttft: Array
    """[s]."""


def as_benchmarked(terms: ServingTerms, *, pure_step: Array, mean_step: Array, first_token: Array, users: Array,
                   output_tokens: Array, fixed_lengths: npt.NDArray[np.bool_]) -> BenchmarkView:
    """Mean TPOT and TTFT of a closed-loop benchmark.

    Parameters
    ----------
    terms : ServingTerms
        The engine's waves and ingest.
    pure_step : ndarray
        t_d, decode step without prompts [s], shape (*grid).
    mean_step : ndarray
        Mean time between tokens with prompts spread evenly [s].
    first_token : ndarray
        Mean time to the first token without waves, ingest excluded [s].
    users : ndarray
        N, requests in flight in one attention group [1].
    output_tokens : ndarray
        O [token].
    fixed_lengths : ndarray
        True where all requests have the same lengths.

    Returns
    -------
    BenchmarkView
        Never below the pure step.
    """
    share = np.where(fixed_lengths, terms.wave_fixed, terms.wave)
    hidden = np.where(fixed_lengths, terms.hidden_fixed, terms.hidden)
    cohort = np.where(fixed_lengths, terms.cohort_fixed, terms.cohort)
    ingest = np.where(fixed_lengths, terms.ingest_fixed, terms.ingest)
    felt = np.maximum(mean_step - pure_step, 0.0)
    others = np.where(users > 1.0, felt * np.maximum(output_tokens - 1.0, 0.0), 0.0)
    return BenchmarkView(tpot=pure_step + (1.0 - hidden) * felt,
                         ttft=ingest + first_token + (share + cohort / (users + _SPREAD_USERS)) * others)
