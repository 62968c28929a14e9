"""So many GPUs judged as they are: which replicas they make, and how much of a load those carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.core.fleet.scenario import Candidate
from planner.core.quantities.arrays import require_positive


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The best replicas of one candidate that a number of GPUs holds."""

    candidate: Candidate
    replicas: int
    idle_gpus: int
    carries: float
    """Load of all replicas together [load]."""
    share: float
    """Of the required load [1]; at least 1 holds."""


def judge(candidates: Sequence[Candidate], gpus: int, load: float) -> tuple[Judged, ...]:
    """Every candidate on so many GPUs, the one that carries most first.

    Parameters
    ----------
    candidates : sequence of Candidate
        Replicas of one SKU.
    gpus : int
        GPUs there are [1].
    load : float
        Load to carry, total [load].

    Returns
    -------
    tuple of Judged
        Candidates that need more GPUs than there are, left out.
    """
    require_positive("gpus", gpus)
    need = float(require_positive("load", load))
    found = []
    for candidate in candidates:
        count = gpus // candidate.gpus
        if count:
            carries = count * candidate.capacity
            found.append(Judged(candidate=candidate, replicas=count, idle_gpus=gpus - count * candidate.gpus,
                                carries=carries, share=carries / need))
    return tuple(sorted(found, key=lambda j: (-j.carries, j.candidate.gpus, j.candidate.id)))
