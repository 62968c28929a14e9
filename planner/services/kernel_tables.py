"""Rows of kernel-latency files turned into tables that :mod:`planner.core.fitting` fits, one per kernel class."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from planner.core.errors import InvalidQuantity, MissingFact
from planner.core.fitting.measurement import (
    KernelTable,
    gate_bytes_not_read,
    gate_faster_than_roofline,
    gate_fits_in_l2,
    gate_flat_floor,
    gate_not_monotone,
)
from planner.core.hardware.chip import Chip
from planner.services.kernel_features import FEATURES, Kernel

Row = Mapping[str, str]
# Gathers pool two operations and several library versions, so that their rows are no series in the message.
_OWN_GATES: Mapping[str, Callable[[KernelTable], KernelTable]] = {
    "gemm": gate_flat_floor, "all_reduce": gate_not_monotone,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Rows of a file that became no table, and why."""

    reason: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTables:
    """Every table of a file before its gates, with the rows that belong to none."""

    tables: tuple[KernelTable, ...]
    refused: tuple[Refused, ...]


def kernel_tables(rows: Iterable[Row], chip: Callable[[str], Chip]) -> KernelTables:
    """The tables of one file's rows; the file is recognised by its columns."""
    grouped: dict[tuple[str, ...], list[Kernel]] = defaultdict(list)
    refused: dict[str, int] = defaultdict(int)
    gates: dict[tuple[str, ...], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    features = None
    for row in rows:
        features = features or features_of(row)
        try:
            kernel = features(row, chip(row["gpu"]))
        except MissingFact as error:
            refused[f"missing {error.fact}"] += 1
            continue
        if kernel is None:
            refused["another kernel class or graph mode"] += 1
        elif row.get("gate"):
            gates[kernel.group][row["gate"]] += 1
        else:
            grouped[kernel.group].append(kernel)
    for group, kernels in grouped.items():
        newest = max(kernel.version for kernel in kernels)
        grouped[group] = [kernel for kernel in kernels if kernel.version == newest]
        if len(grouped[group]) < len(kernels):
            gates[group]["superseded_version"] += len(kernels) - len(grouped[group])
    tables = tuple(_table(kernels, gates[group]) for group, kernels in sorted(grouped.items()))
    return KernelTables(tables=tables, refused=tuple(Refused(reason=r, count=n) for r, n in sorted(refused.items())))


def features_of(row: Row) -> Callable[[Row, Chip], Kernel | None]:
    """How rows with these columns are read."""
    for columns, reader in FEATURES:
        if columns <= set(row):
            return reader
    raise InvalidQuantity("The file's columns are those of no kernel table: " + ", ".join(row),
                          hint="Known: gemm, attention, MLA, MoE, linear, all-reduce, all-to-all and collectives.")


def _table(kernels: list[Kernel], gates: Mapping[str, int]) -> KernelTable:
    first = kernels[0]
    names = first.features.keys()
    return KernelTable(
        operator=first.operator, key=first.key, chip=first.chip, engine=first.engine, kernel=first.kernel,
        features={n: np.array([k.features[n] for k in kernels], dtype=np.float64) for n in names},
        time=np.array([k.time for k in kernels], dtype=np.float64), shapes=tuple(k.shape for k in kernels),
        peak=first.peak, bandwidth=first.bandwidth, link_rate=first.link_rate, gated=dict(gates))


def merged(tables: Iterable[KernelTable], chip: Callable[[str], Chip]) -> tuple[KernelTable, ...]:
    """Tables of the same kernel from several files as one, gated on what all its rows show together."""
    grouped: dict[str, list[KernelTable]] = defaultdict(list)
    for table in tables:
        grouped[table.name].append(table)
    return tuple(_gated(_joined(parts), chip(parts[0].chip)) for parts in grouped.values())


def _gated(table: KernelTable, chip: Chip) -> KernelTable:
    table = replace(table, cache_bytes=chip.l2_bytes or 0.0)
    table = gate_bytes_not_read(table, chip.l2_bytes)
    table = gate_fits_in_l2(gate_faster_than_roofline(table), chip.l2_bytes)
    own = _OWN_GATES.get(table.operator)
    return table if own is None else own(table)


def _joined(parts: list[KernelTable]) -> KernelTable:
    first = parts[0]
    gated: dict[str, int] = defaultdict(int)
    for part in parts:
        for reason, count in part.gated.items():
            gated[reason] += count
    return replace(first, features={n: np.concatenate([p.features[n] for p in parts]) for n in first.features},
                   time=np.concatenate([p.time for p in parts]), shapes=tuple(s for p in parts for s in p.shapes),
                   gated=dict(gated))
