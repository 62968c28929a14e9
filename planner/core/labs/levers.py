"""What can make a kernel faster, by what stops it; what belongs to another row is listed as useless.

References
----------
He, Making Deep Learning Go Brrrr From First Principles, 2022 (three regimes, three sets of fixes); Williams et al.,
CACM 52(4) 2009, §6 (optimisations as ceilings).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever:
    """One possible change and whether it helps here."""

    change: str
    helps: bool
    why: str


# What each change acts on. A cause outside the list makes the change useless for it.
_CHANGES: tuple[tuple[str, frozenset[str], str], ...] = (
    ("run the product on the intended pipe (tensor cores, the right dtype, aligned shapes)",
     frozenset({"wrong_pipe"}), "the arithmetic runs under a lower ceiling than the one assumed"),
    ("launch fewer kernels: CUDA graphs, torch.compile, fusion",
     frozenset({"launch"}), "time goes to launches, not to the GPU"),
    ("raise bytes in flight: more blocks, more independent loads per thread, split the reduction",
     frozenset({"in_flight"}), "the memory system waits for requests"),
    ("coalesce and align accesses: contiguous, vectorised loads",
     frozenset({"access_pattern", "over_fetch"}), "fetched sectors are only partly used"),
    ("restore reuse: larger tiles, a better block order, blocking for L2",
     frozenset({"re_reads"}), "the same data crosses memory several times"),
    ("move fewer bytes: fuse neighbours, narrow the stored types, batch over the same weights",
     frozenset({"slope", "re_reads", "over_fetch"}), "the time is the traffic over the bandwidth"),
    ("fill the last wave: another tile size, stream-K or split-K, a batch that divides",
     frozenset({"waves"}), "the last wave leaves multiprocessors idle"),
    ("cheaper arithmetic: a narrower dtype, less work, sparsity the hardware runs",
     frozenset({"roof"}), "the time is the work over the peak"),
    ("deepen the pipeline: asynchronous copies, more stages, better occupancy",
     frozenset({"unexplained"}), "neither roof, launches, waves nor re-reads explain the time"),
)
_USELESS: Mapping[str, str] = {
    "slope": "a kernel on the bandwidth slope gains nothing from it",
    "roof": "a kernel on the compute roof gains nothing from it",
    "launch": "the GPU is idle between launches; nothing inside a kernel shortens that",
    "wrong_pipe": "first leave the wrong pipe",
    "in_flight": "the memory system is not even asked for its bandwidth",
    "waves": "whole waves would be lost all the same",
    "re_reads": "the extra traffic remains",
    "over_fetch": "the extra traffic remains",
    "access_pattern": "the bandwidth stays below what the pattern permits",
    "unexplained": "nothing measured points to it",
}


def levers_for(causes: tuple[str, ...]) -> tuple[Lever, ...]:
    """Every change, those that help first.

    Parameters
    ----------
    causes : tuple of str
        What stops the kernel, most important first.

    Returns
    -------
    tuple of Lever
        A change helps when it acts on one of the causes; the others say why they do not.
    """
    found = []
    for change, acts_on, reason in _CHANGES:
        hit = [cause for cause in causes if cause in acts_on]
        rank = min((causes.index(cause) for cause in hit), default=len(causes))
        why = reason if hit else _USELESS[causes[0]]
        found.append((rank, Lever(change=change, helps=bool(hit), why=why)))
    return tuple(lever for _, lever in sorted(found, key=lambda pair: pair[0]))
