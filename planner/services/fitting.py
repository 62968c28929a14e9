"""From kernel files to efficiency curves: fit every table, summarise errors, lay the curves out as profile files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.fitting.efficiency import CurveFit, fit_curve, solve_curve
from planner.core.fitting.forms import FORMS, WALKING, Values
from planner.core.fitting.measurement import KernelTable
from planner.core.fitting.siblings import siblings
from planner.core.hardware.chip import Chip
from planner.services.kernel_tables import KernelTables, Refused, Row, kernel_tables, merged

# Profile table each operator class belongs to, and the end of its key that names a variant inside the table. Blocks of
# latent attention over prompts have none: arithmetic binds their projections and their attention alike, so that their
# time does not tell one share from the other; they are scored only.
_TABLES: Mapping[str, str] = {
    "gemm": "gemm", "moe": "moe", "decode": "decode", "mla_decode": "decode", "mla_block": "decode",
    "prompt": "prompt", "mla_prompt": "prompt", "all_reduce": "all_reduce", "gather": "gather",
    "all_to_all": "all_to_all", "recurrent_decode": "recurrent", "recurrent_prompt": "recurrent",
}
_SINGLE = frozenset({"all_reduce", "gather"})
_TIMES = frozenset(p.name for form in FORMS.values() for p in form.parameters if p.high < 1e-2)  # [s] all floors are
# A curve whose shapes it was not fitted on come out this wrong describes its rows, not the chip: it is reported only.
_USABLE = 0.35
# Latent attention that reaches less of a ceiling than this is a fallback path which served runs do not take: they keep
# 16-bit caches instead, or another backend.
_UNTUNED: Mapping[str, tuple[str, float]] = {"mla_decode": ("memory", 0.15), "mla_prompt": ("compute", 0.25)}
# Isolated kernels repeat on the same operands, part of which stays in the last-level cache; serving reads them cold.
_COLD = 0.95
_FAMILIES = 2  # families a default curve must have been seen on
# Ranks on one shared bus get 1/p of it each; a table that loses more was taken across sockets, which is that host's.
_SHARED_BUS: Mapping[str, float] = {"four": 2.0, "eight": 4.0}

# How an engine hands a gathered batch to its kernels is no property of the chip: other engines do not inherit it.
_ENGINES_OWN = frozenset({"masked"})

# What engines run when nobody picks a kernel: SGLang's runner is Triton for 16-bit experts (its server arguments).
_DEFAULT_KERNELS: Mapping[tuple[str, str], str] = {("sglang", "bf16"): "triton"}

ProfileTable = dict[str, dict[str, float]]
Profiles = dict[tuple[str, str], ProfileTable]
"""(level, engine) → table.key → parameter → value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFits:
    """Fitted curves of a set of files, with what was set aside."""

    fits: tuple[CurveFit, ...]
    too_small: tuple[KernelTable, ...]
    refused: tuple[Refused, ...]


def fit_kernels(files: Iterable[Iterable[Row]], chip: Callable[[str], Chip]) -> KernelFits:
    """The curves of kernel files; tables of one kernel in several files are one, and siblings inform each other."""
    read: list[KernelTables] = [kernel_tables(rows, chip) for rows in files]
    tables = merged((t for part in read for t in part.tables), chip)
    solved: dict[str, Values] = {}
    small = []
    for table in tables:
        try:
            solved[table.name] = solve_curve(table)
        except InvalidQuantity:
            small.append(table)
    able = [t for t in tables if t.name in solved]
    families = {t.chip: chip(t.chip).architecture for t in able}
    kin = {t.name: siblings(t, able, families) for t in able}
    fits = [fit_curve(t, kin[t.name], [solved[s.name] for s in kin[t.name].tables]) for t in able]
    return KernelFits(fits=tuple(fits), too_small=tuple(small), refused=tuple(r for part in read for r in part.refused))


def errors_by(fits: Sequence[CurveFit]) -> dict[tuple[str, str, str], tuple[float, int]]:
    """(operator, chip, engine) → leave-shapes-out error over its tables' rows, and those rows."""
    sums: dict[tuple[str, str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for fit in fits:
        entry = sums[fit.table.operator, fit.table.chip, fit.table.engine]
        entry[0] += fit.error * fit.rows
        entry[1] += fit.rows
    return {key: (total / rows, int(rows)) for key, (total, rows) in sorted(sums.items())}


def profiles_of(fits: Sequence[CurveFit], architecture: Mapping[str, str]) -> Profiles:
    """Profile tables per SKU and engine, then medians per architecture family and for everything else."""
    skus = _per_sku(fits)
    _without_host_floors(skus)
    levels: Profiles = dict(skus)
    for (sku, engine), tables in skus.items():
        for key in tables:
            for group in _wider(sku, engine, architecture[sku]):
                levels.setdefault(group, {})[key] = {}
    for (level, engine), tables in levels.items():
        for key in [k for k, values in tables.items() if not values]:
            members = {sku: t[key] for (sku, e), t in skus.items() if key in t and engine in {e, "generic"}
                       and level in {sku, architecture[sku], "default"}}
            if level == "default" and len({architecture[sku] for sku in members}) < _FAMILIES:
                del tables[key]  # one family's curve is no statement about the others
            else:
                tables[key] = _median([t[key] for (sku, e), t in skus.items() if sku in members and key in t
                                       and engine in {e, "generic"}])
                if engine == "generic":
                    tables[key] = {k: v for k, v in tables[key].items() if k not in _ENGINES_OWN}
    return {group: tables for group, tables in levels.items() if group[1] != "nccl" and tables}


def _per_sku(fits: Sequence[CurveFit]) -> Profiles:
    """The chosen curve of every profile table, by SKU and engine."""
    chosen: dict[tuple[str, str, str], CurveFit] = {}
    for fit in (f for f in fits if f.table.operator in _TABLES):
        parameter, least = _UNTUNED.get(fit.table.operator, ("", 0.0))
        walks = fit.table.operator.startswith("mla") and fit.values.get("serial", 0.0) > WALKING
        if walks or fit.values.get(parameter, 1.0) < least:
            continue
        if fit.error <= _USABLE and (fit.table.engine != "nccl" or fit.table.operator == "gather"):
            where = (fit.table.chip, fit.table.engine, f"{profile_key(fit.table)}|{_half(fit)}")
            if where not in chosen or _preferred(fit, chosen[where]):
                chosen[where] = fit
    _shared_kernels(chosen)
    skus: Profiles = {}
    for (sku, engine, key), fit in chosen.items():
        skus.setdefault((sku, engine), {}).setdefault(key.split("|")[0], {}).update(_values(fit))
    return skus


def _shared_kernels(chosen: dict[tuple[str, str, str], CurveFit]) -> None:
    """TensorRT-LLM serves Blackwell mixtures with its trtllm-gen kernels, which FlashInfer ships and others timed."""
    for sku, engine, key in list(chosen):
        peer = chosen.get((sku, "vllm", key))
        if engine == "trtllm" and peer is not None and peer.table.kernel.startswith("fi_trtllm"):
            chosen[sku, engine, key] = peer


def _half(fit: CurveFit) -> str:
    """Recurrent curves are fitted in two halves that share a profile table."""
    return fit.table.operator if fit.table.operator.startswith("recurrent") else ""


def _wider(sku: str, engine: str, family: str) -> list[tuple[str, str]]:
    """The levels that inherit from a SKU's curve; NCCL is every engine's, so it has no engine level."""
    general = [(sku, "generic"), (family, "generic"), ("default", "generic")]
    return general if engine == "nccl" else [*general, (family, engine)]


def _median(members: list[dict[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for member in members for name in member)
    return {name: median(m[name] for m in members if name in m) for name in names}


def profile_key(table: KernelTable) -> str:
    """Where a table's curve goes in a profile file."""
    name = _TABLES[table.operator]
    if table.operator in _SINGLE:
        return name
    key = {"gdn": "linear", "kda": "linear"}.get(table.key, table.key).split("+")[0]
    spread = table.operator == "moe" and (table.features.get("ranks", np.ones(1)) > 1).all()
    return f"{name}.{key}:ep" if spread else f"{name}.{key}"


def _preferred(new: CurveFit, old: CurveFit) -> bool:
    """Kernels before whole blocks, the engine's default kernel, then the table with more rows."""
    def rank(fit: CurveFit) -> tuple[bool, bool, int]:
        default = _DEFAULT_KERNELS.get((fit.table.engine, fit.table.key))
        return (fit.table.operator != "mla_block", fit.table.kernel == default, fit.rows)
    return rank(new) > rank(old)


def _values(fit: CurveFit) -> dict[str, float]:
    values = {k: v for k, v in fit.values.items() if not k.startswith("block_") and k != "reuse"}
    if fit.table.operator == "mla_block":
        values.pop("launch")  # the block's floor is that of its projections too
    if fit.table.operator not in {"prompt", "mla_prompt"} and "memory" in values:
        values["memory"] *= _COLD
    if "passes" in values:
        values["passes"] = max(values["passes"], 1.0)  # less is a table's cache: nothing is written without being moved
    for name, most in _SHARED_BUS.items():
        if name in values:
            values[name] = min(values[name], most)
    return {f"{k}_s" if k in _TIMES else k: v for k, v in values.items()}


def _without_host_floors(levels: Profiles) -> None:
    """Launch floors of GEMMs more than twice those of the same chip's other engines are the host's: use the peers'."""
    for (sku, engine), tables in levels.items():
        for key, values in tables.items():
            peers = [t[key]["launch_s"] for (s, e), t in levels.items() if s == sku and e != engine and key in t
                     and key.startswith("gemm.")]
            if peers and values["launch_s"] > 2 * min(peers):
                values["launch_s"] = min(peers)
