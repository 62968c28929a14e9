r"""The fusion bench: a chain of element-wise operations, cut where intermediates go through memory.

.. math:: I = \frac{f}{s(r+w)},\qquad t = \max\!\left(\frac{f n}{\pi}, \frac{s n (r_{ext} + w_{ext})}{\beta}\right)

Fusing changes traffic and kernels, never work.

References
----------
Williams, Waterman, Patterson, CACM 52(4) 2009; He, Making Deep Learning Go Brrrr From First Principles, 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.execution.roofline import time_overlapped
from planner.core.hardware.chip import Chip
from planner.core.labs.inputs import ElementType, non_negative, whole
from planner.core.quantities.units import KIB

THREADS_PER_BLOCK = 256
VECTOR_BYTES = 16.0
"""Widest load a GPU thread issues (CUDA LDG.128) [byte]."""
REGISTER_BYTES = 4.0
"""Live values are held in fp32 [byte]."""
SPILL_BYTES = 64.0 * KIB
"""Live state of a 256-thread block past which fused kernels start to spill [byte]: a quarter of the 256 KiB register
file of a multiprocessor, the share of one of four resident blocks (NVIDIA tuning guides, Volta to Hopper)."""
LARGEST_CHAIN = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One element-wise operation: work per element, and the tensors it reads and writes."""

    name: str
    work: float
    """f [FLOP] per element."""
    reads: tuple[str, ...]
    writes: tuple[str, ...]


def chained(specs: Sequence[tuple[str, float, int | Sequence[str], int | Sequence[str]]]) -> tuple[Operation, ...]:
    """Operations from counts or names of the tensors they touch.

    Parameters
    ----------
    specs : sequence
        (name, f [FLOP] per element, reads, writes) each; reads and writes are tensor names or how many there are [1].

    Returns
    -------
    tuple of Operation
        With counts, an operation's first read is the previous one's first result and its further reads are the
        chain's side inputs, shared in order by all operations: the least traffic those counts allow. Names say
        exactly which tensors are the same.

    Raises
    ------
    InvalidQuantity
        The chain is empty or too long, or an operation has no name, touches nothing or counts below zero.
    """
    if not 1 <= len(specs) <= LARGEST_CHAIN:
        raise InvalidQuantity(f"operations must list 1 to {LARGEST_CHAIN} operations.", pointer="/operations")
    found: list[Operation] = []
    previous = "input"
    for index, (name, work, reads, writes) in enumerate(specs):
        where = f"operations/{index}"
        non_negative(**{f"{where}/flop": work})
        read = _tensors(reads, [previous, *(f"side{j}" for j in range(LARGEST_CHAIN))], f"{where}/reads")
        written = _tensors(writes, [f"{index}.out{j}" for j in range(LARGEST_CHAIN)], f"{where}/writes")
        if not read and not written:
            raise InvalidQuantity(f"{where} reads and writes nothing.", pointer=f"/{where}")
        found.append(Operation(name=name, work=float(work), reads=read, writes=written))
        previous = written[0] if written else previous
    return tuple(found)


def _tensors(given: int | Sequence[str], names: Sequence[str], where: str) -> tuple[str, ...]:
    if isinstance(given, int):
        if not 0 <= given <= LARGEST_CHAIN:
            raise InvalidQuantity(f"{where} must be 0 to {LARGEST_CHAIN} tensors, got {given}.", pointer=f"/{where}")
        return tuple(names[:given])
    return tuple(given)


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedGroup:
    """One kernel of the cut chain."""

    operations: tuple[str, ...]
    reads: tuple[str, ...]
    """Tensors read from memory."""
    writes: tuple[str, ...]
    """Tensors written to memory."""
    work: float
    traffic: float
    """Q [byte]."""
    time: float
    """[s], a bound from below."""
    live_bytes: float
    """Most live state of one 256-thread block [byte]."""

    @property
    def spills(self) -> bool:
        """Whether a real kernel would start to spill registers."""
        return self.live_bytes > SPILL_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionReport:
    """A chain cut into kernels, against the same chain with every operation its own kernel."""

    groups: tuple[FusedGroup, ...]
    split_traffic: float
    """Q of the fully split chain [byte]."""
    split_time: float
    """[s] of the fully split chain."""

    @property
    def kernels(self) -> int:
        """Kernels launched [1]."""
        return len(self.groups)

    @property
    def work(self) -> float:
        """W, whatever the cuts [FLOP]."""
        return sum(group.work for group in self.groups)

    @property
    def traffic(self) -> float:
        """Q [byte]."""
        return sum(group.traffic for group in self.groups)

    @property
    def time(self) -> float:
        """[s], a bound from below."""
        return sum(group.time for group in self.groups)


def fusion_report(chip: Chip, dtype: ElementType, elements: float, operations: Sequence[Operation],
                  cuts: Sequence[bool] | None = None) -> FusionReport:
    """A chain of element-wise operations with some of its boundaries in memory.

    Parameters
    ----------
    chip : Chip
        The SKU; arithmetic runs on its fp32 units whatever the storage type, on the type's own where the chip
        publishes no fp32 peak.
    dtype : ElementType
        Storage type of every tensor.
    elements : float
        n, elements of each tensor [1].
    operations : sequence of Operation
        The chain in order.
    cuts : sequence of bool or None
        One per boundary between neighbours: true writes the intermediate to memory; None cuts everywhere.

    Returns
    -------
    FusionReport
        Kernels, traffic and time.

    Raises
    ------
    InvalidQuantity
        The number of boundaries does not match, or n is not a positive whole number.
    """
    whole(elements=elements)
    every = [True] * (len(operations) - 1)
    cuts = every if cuts is None else list(cuts)
    if len(cuts) != len(every):
        raise InvalidQuantity(f"boundaries must have one entry between neighbours, {len(every)} here, got {len(cuts)}.",
                              pointer="/boundaries")
    split = _groups(chip, dtype, elements, operations, every)
    return FusionReport(groups=_groups(chip, dtype, elements, operations, cuts),
                        split_traffic=sum(g.traffic for g in split), split_time=sum(g.time for g in split))


def _groups(chip: Chip, dtype: ElementType, elements: float, operations: Sequence[Operation], cuts: Sequence[bool]
            ) -> tuple[FusedGroup, ...]:
    starts = [0, *(index + 1 for index, cut in enumerate(cuts) if cut), len(operations)]
    parts = [tuple(operations[a:b]) for a, b in pairwise(starts)]
    peak = chip.peak("fp32" if chip.peaks.get("fp32") else dtype.pipe)
    edges = [_external(part, parts[index + 1:]) for index, part in enumerate(parts)]
    work = [elements * sum(op.work for op in part) for part in parts]
    traffic = [elements * dtype.bytes * (len(reads) + len(writes)) for reads, writes in edges]
    times = time_overlapped(np.array(work), np.array(traffic), peak, chip.bandwidth).tolist()
    return tuple(
        FusedGroup(operations=tuple(op.name for op in part), reads=edge[0], writes=edge[1], work=W, traffic=Q, time=t,
                   live_bytes=_live(part, dtype))
        for part, edge, W, Q, t in zip(parts, edges, work, traffic, times, strict=True))


def _external(part: Sequence[Operation], after: Sequence[Sequence[Operation]]
              ) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Tensors a fused group must read, and those it must write: wanted later, or read by nobody here."""
    later = {name for other in after for op in other for name in op.reads}
    made: dict[str, None] = {}
    reads: dict[str, None] = {}
    for op in part:
        reads.update(dict.fromkeys(name for name in op.reads if name not in made))
        made.update(dict.fromkeys(op.writes))
    used = {name for op in part for name in op.reads}
    return tuple(reads), tuple(name for name in made if name in later or name not in used)


def _live(part: Sequence[Operation], dtype: ElementType) -> float:
    """Most live state of one block: values loaded or made, and still needed, between two operations [byte]."""
    per_tensor = THREADS_PER_BLOCK * (VECTOR_BYTES / dtype.bytes) * REGISTER_BYTES
    most, live = 0, set[str]()
    for index, op in enumerate(part):
        live |= {*op.reads, *op.writes}
        most = max(most, len(live))
        needed = {name for other in part[index + 1:] for name in other.reads}
        live &= needed
    return most * per_tensor
