"""Measured kernel latencies as tables of one operator class, format, chip and engine, and what was set aside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from planner.core.errors import InvalidQuantity
from planner.core.fitting.plausibility import MONOTONE_SLACK
from planner.core.quantities.arrays import Array

_NOISE = 0.98  # timers repeat to about 2 %


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTable:
    """Latencies of one kernel class over shapes; features carry the names the class's form reads."""

    operator: str
    """gemm | moe | decode | prompt | mla_decode | mla_block | mla_prompt | all_reduce | gather | …"""
    key: str
    """Curve key in the profile: a format, a kind or ``kind:cache``."""
    chip: str
    engine: str
    kernel: str
    features: Mapping[str, Array]
    """Feature name → values, shape (row,), SI units."""
    time: Array
    """[s], shape (row,)."""
    shapes: tuple[str, ...]
    """What is left out together when scoring: a weight shape, a model, a head count, a message size."""
    peak: float
    """Dense datasheet π of the pipe [FLOP/s]."""
    bandwidth: float
    """Datasheet β [byte/s]."""
    link_rate: float = 1.0
    """One-way scale-up rate [byte/s]; 1 where the class does not use it."""
    cache_bytes: float = 0.0
    """Last-level cache, which may hold part of an isolated kernel's operands from run to run; 0 is unknown [byte]."""
    gated: Mapping[str, int] = field(default_factory=dict)
    """Reason → rows set aside before this table was made."""

    @property
    def name(self) -> str:
        """Operator, key, chip, engine and kernel in one line."""
        return " ".join(part for part in (self.operator, self.key, self.chip, self.engine, self.kernel) if part)


def without(table: KernelTable, drop: npt.ArrayLike, reason: str) -> KernelTable:
    """The table without some rows, which are counted under a reason.

    Parameters
    ----------
    table : KernelTable
        Rows.
    drop : ndarray
        True where the row is set aside, shape (row,).
    reason : str
        Why.

    Returns
    -------
    KernelTable
        The kept rows.

    Raises
    ------
    InvalidQuantity
        The mask has another length than the table.
    """
    mask = np.asarray(drop, dtype=bool)
    if mask.shape != table.time.shape:
        raise InvalidQuantity(f"The mask has {mask.size} entries for {table.time.size} rows.")
    if not mask.any():
        return table
    keep = ~mask
    counts = Counter(table.gated)
    counts[reason] += int(mask.sum())
    return replace(table, features={k: v[keep] for k, v in table.features.items()}, time=table.time[keep],
                   shapes=tuple(s for s, k in zip(table.shapes, keep, strict=True) if k), gated=dict(counts))


def gate_bytes_not_read(table: KernelTable, l2_bytes: float | None, *, beyond: float = 8.0,
                        evidence: float = 0.25) -> KernelTable:
    """No rows of a table whose large working sets come faster than memory delivers: it read less than its rows say.

    Parameters
    ----------
    table : KernelTable
        Rows with a ``traffic`` feature, ungated; others pass unchanged.
    l2_bytes : float or None
        Last-level cache [byte].
    beyond : float
        Caches a working set must exceed before the cache explains no excess of rate [1].
    evidence : float
        Share of those large rows that must be impossible.

    Returns
    -------
    KernelTable
        The table as it is, or without any row: what was read instead is unknown for its small rows too.
    """
    if l2_bytes is None or "traffic" not in table.features:
        return table
    traffic = table.features["traffic"]
    large = traffic > beyond * l2_bytes
    if not large.any() or np.mean(table.time[large] < _NOISE * traffic[large] / table.bandwidth) < evidence:
        return table
    return without(table, np.ones_like(large), "bytes_not_read")


def gate_not_monotone(table: KernelTable) -> KernelTable:
    """The table without rows slower than a larger message among as many ranks, beyond what a kernel switch gives.

    Parameters
    ----------
    table : KernelTable
        Rows with ``message`` and ``ranks`` features; others pass unchanged.

    Returns
    -------
    KernelTable
        Rows at most a quarter slower than every larger message.
    """
    if "message" not in table.features:
        return table
    message, ranks = table.features["message"], table.features["ranks"]
    larger = (message[None, :] >= message[:, None]) & (ranks[None, :] == ranks[:, None])
    least = np.where(larger, table.time[None, :], np.inf).min(axis=1, initial=np.inf)
    return without(table, table.time > MONOTONE_SLACK * least, "not_monotone")


def gate_faster_than_roofline(table: KernelTable, *, tolerance: float = _NOISE) -> KernelTable:
    r"""The table without rows faster than the chip: :math:`t < 0.98 \max(Q/\beta, W/\pi)`.

    Parameters
    ----------
    table : KernelTable
        Rows with ``traffic`` and ``work`` features; other tables pass unchanged.
    tolerance : float
        Timer noise allowed below the roofline, 0–1.

    Returns
    -------
    KernelTable
        Physically possible rows.
    """
    if "traffic" not in table.features:
        return table
    bound = np.maximum(table.features["traffic"] / table.bandwidth, table.features["work"] / table.peak)
    return without(table, table.time < tolerance * bound, "faster_than_roofline")


def gate_fits_in_l2(table: KernelTable, l2_bytes: float | None, *, evidence: float = 0.03) -> KernelTable:
    """The table without rows whose working set stayed in the last-level cache between repetitions.

    Parameters
    ----------
    table : KernelTable
        Rows with a ``traffic`` feature that passed :func:`gate_faster_than_roofline`; others pass unchanged.
    l2_bytes : float or None
        Last-level cache [byte].
    evidence : float
        Share of impossible rows above which the cache demonstrably served the table.

    Returns
    -------
    KernelTable
        Rows that read memory.
    """
    if l2_bytes is None or "traffic" not in table.features:
        return table
    impossible = table.gated.get("faster_than_roofline", 0)
    if impossible < evidence * (table.time.size + impossible):
        return table
    return without(table, table.features["traffic"] < l2_bytes, "fits_in_l2")


def gate_flat_floor(table: KernelTable, *, share: float = 0.25) -> KernelTable:
    """The table without a flat floor: the host's launch rate, not the chip, sets the times near the minimum.

    Parameters
    ----------
    table : KernelTable
        GEMM rows.
    share : float
        A floor is flat when the fastest rows within 12 % of the minimum span more than four-fold in traffic and make
        up this share of the table.

    Returns
    -------
    KernelTable
        Rows above a flat floor, or the table unchanged.
    """
    if "traffic" not in table.features or not table.time.size:
        return table
    near = table.time < 1.12 * table.time.min()
    traffic = table.features["traffic"][near]
    flat = near.mean() >= share and traffic.max() > 4 * max(float(traffic.min()), 1.0)
    slow = table.time.min() > 10e-6  # [s] graph-launched kernels finish sooner; slower floors are the host's
    return without(table, near, "host_floor") if flat and slow else table


def folds(shapes: Sequence[str], count: int = 5) -> Array:
    """Fold number of every row, so that rows of one shape share a fold and folds have similar sizes.

    Parameters
    ----------
    shapes : sequence of str
        Shape label per row.
    count : int
        Folds at most; fewer where there are fewer shapes.

    Returns
    -------
    ndarray
        Fold number, shape (row,).
    """
    sizes = Counter(shapes)
    loads = [0] * min(count, len(sizes))
    chosen: dict[str, int] = {}
    for shape, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        fold = loads.index(min(loads))
        chosen[shape] = fold
        loads[fold] += size
    return np.array([chosen[s] for s in shapes], dtype=np.float64)
