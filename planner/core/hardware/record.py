"""A chip from the plain mapping a caller sends (or a file holds): every wrong field is named at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from planner.core.errors import InvalidQuantity
from planner.core.hardware.chip import Chip, Link

_REQUIRED = ("memory_bytes", "bandwidth_bytes_per_s", "peak_flop_per_s")
_NUMBERS = ("memory_bytes", "bandwidth_bytes_per_s", "link_bytes_per_s", "power_w", "host_bytes_per_s",
            "network_bytes_per_s", "multiprocessors", "clock_hz", "l2_bytes", "shared_memory_bytes", "gpus_per_node")
_WHOLE = ("multiprocessors", "gpus_per_node")
_TEXTS = ("id", "name", "vendor", "architecture")
_PIPES = frozenset({"fp64", "fp64_tensor", "fp32", "fp32_no_fma", "special_function", "tf32", "bf16", "fp16", "fp8",
                    "fp6", "int8", "int4", "fp4"})
_LARGEST = 1e24
"""Above any capacity or rate a machine has; keeps later products finite [any unit]."""
_SMALLEST = 1e6
"""Below any capacity [byte] or rate [byte/s, FLOP/s] of an accelerator: a value in GB or TFLOP/s is refused."""
_COUNTS = frozenset({"power_w", "multiprocessors", "clock_hz", "l2_bytes", "shared_memory_bytes", "gpus_per_node"})
"""Numbers that may be small: at least one millionth of their unit."""
_DEFAULT_DOMAIN = 8
"""A server node: eight GPUs on one board (NVIDIA HGX, AMD Instinct platform, OCP OAM universal base board)."""


def _number_problem(value: object, smallest: float = _SMALLEST) -> str | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "must be a number"
    if not math.isfinite(value) or not 0 < value < _LARGEST:
        return "must be a finite number above zero"
    if value < smallest:
        return f"must be at least {smallest:g} in its SI unit, got {value:g}"
    return None


def _smallest(name: str) -> float:
    return 1e-6 if name in _COUNTS else _SMALLEST


def record_problems(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Everything wrong with a SKU record, as (pointer, message) pairs.

    Parameters
    ----------
    record : mapping
        The creation form: memory [byte], bandwidth [byte/s], dense peaks [FLOP/s] by pipe, link [byte/s], power [W].

    Returns
    -------
    list of tuple
        JSON pointers with one sentence each; empty when the record is sound.
    """
    problems = [(f"/{name}", f"{name} is required.") for name in _REQUIRED if record.get(name) is None]
    problems += [(f"/{name}", f"{name} {why}.") for name in _NUMBERS
                 if record.get(name) is not None and (why := _number_problem(record[name], _smallest(name)))]
    problems += [(f"/{name}", f"{name} must be a whole number.") for name in _WHOLE
                 if isinstance(record.get(name), float) and math.isfinite(record[name]) and record[name] % 1]
    problems += [(f"/{name}", f"{name} must be text.") for name in _TEXTS
                 if record.get(name) is not None and not isinstance(record[name], str)]
    peaks = record.get("peak_flop_per_s")
    if peaks is not None:
        problems += _peak_problems(peaks)
    problems += _rate_problems("boundaries_bytes_per_s", record.get("boundaries_bytes_per_s") or {})
    known = {*_NUMBERS, *_TEXTS, "peak_flop_per_s", "boundaries_bytes_per_s"}
    problems += [(f"/{name}", f"{name} is not a field of a SKU.") for name in record if name not in known]
    return problems


def _peak_problems(peaks: object) -> list[tuple[str, str]]:
    if not isinstance(peaks, Mapping) or not any(value is not None for value in peaks.values()):
        return [("/peak_flop_per_s", "peak_flop_per_s must give at least one dense peak, such as bf16.")]
    known = ", ".join(sorted(_PIPES))
    unknown = [(f"/peak_flop_per_s/{pipe}", f"peak_flop_per_s.{pipe} is not a pipe; known: {known}.")
               for pipe in peaks if pipe not in _PIPES]
    return unknown + _rate_problems("peak_flop_per_s", peaks)


def _rate_problems(field: str, rates: object) -> list[tuple[str, str]]:
    if not isinstance(rates, Mapping):
        return [(f"/{field}", f"{field} must map names to numbers.")]
    return [(f"/{field}/{key}", f"{field}.{key} {why}.") for key, value in rates.items()
            if value is not None and (why := _number_problem(value))]


def _link(record: Mapping[str, Any], field: str, kind: str, domain: int) -> Link | None:
    rate = record.get(field)
    if rate is None:
        return None
    return Link(kind=kind, bytes_per_s=float(rate), domain=domain, switched=kind == "scale-up")


def _optional(record: Mapping[str, Any], field: str) -> float | None:
    value = record.get(field)
    return None if value is None else float(value)


def chip_from_record(record: Mapping[str, Any]) -> Chip:
    """The chip a SKU record describes.

    Parameters
    ----------
    record : mapping
        The creation form: ``memory_bytes`` [byte] as the runtime reports it, ``bandwidth_bytes_per_s`` [byte/s],
        ``peak_flop_per_s`` dense [FLOP/s] by pipe, ``link_bytes_per_s`` [byte/s] one direction, ``power_w`` [W];
        ``id``, ``name`` and ``vendor`` may be left out of an inline SKU.

    Returns
    -------
    Chip
        A chip whose unknown facts are None; its link spans one node.

    Raises
    ------
    InvalidQuantity
        One or more fields are missing, unknown or out of range; the sentence names them all.
    """
    if problems := record_problems(record):
        detail = " ".join(message for _, message in problems)
        raise InvalidQuantity(detail, pointer=problems[0][0])
    return build_chip(record)


def build_chip(record: Mapping[str, Any]) -> Chip:
    """The chip of a record already checked by :func:`record_problems`.

    Parameters
    ----------
    record : mapping
        As for :func:`chip_from_record`.

    Returns
    -------
    Chip
        The same facts, typed.
    """
    gpus_per_node = int(record.get("gpus_per_node") or _DEFAULT_DOMAIN)
    name = str(record.get("name") or record.get("id") or "inline SKU")
    units = record.get("multiprocessors")
    peaks = record.get("peak_flop_per_s") or {}
    return Chip(
        id=str(record.get("id") or "inline"), name=name, vendor=str(record.get("vendor") or ""),
        architecture=str(record.get("architecture") or ""), memory_bytes=float(record["memory_bytes"]),
        bandwidth=float(record["bandwidth_bytes_per_s"]),
        peaks={pipe: float(value) for pipe, value in peaks.items() if value is not None},
        scale_up=_link(record, "link_bytes_per_s", "scale-up", gpus_per_node),
        host=_link(record, "host_bytes_per_s", "pcie", gpus_per_node),
        network=_link(record, "network_bytes_per_s", "network", 1024),
        power_w=_optional(record, "power_w"), multiprocessors=None if units is None else int(units),
        clock_hz=_optional(record, "clock_hz"), l2_bytes=_optional(record, "l2_bytes"),
        shared_memory_bytes=_optional(record, "shared_memory_bytes"),
        boundaries={k: float(v) for k, v in (record.get("boundaries_bytes_per_s") or {}).items()},
        gpus_per_node=gpus_per_node)
