"""What every lab shares: checked numbers, element types and the boundaries of a chip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.core.errors import InvalidQuantity, MissingFact, UnsupportedFormat
from planner.core.hardware.chip import Chip
from planner.core.quantities.arrays import LARGEST


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementType:
    """A number format of a kernel: its bytes and the pipe its arithmetic runs on."""

    name: str
    pipe: str
    """Key of the chip's peaks."""
    bytes: float
    """[byte] per element."""


# Block-scaled 4-bit types carry their scales: MXFP4 8 bits per 32 elements, NVFP4 8 bits per 16 (OCP MX v1.0; NVIDIA).
_TYPES: Mapping[str, ElementType] = {t.name: t for t in (
    ElementType(name="fp64", pipe="fp64", bytes=8.0), ElementType(name="fp64_tensor", pipe="fp64_tensor", bytes=8.0),
    ElementType(name="fp32", pipe="fp32", bytes=4.0), ElementType(name="fp32_no_fma", pipe="fp32_no_fma", bytes=4.0),
    ElementType(name="special_function", pipe="special_function", bytes=4.0),
    ElementType(name="tf32", pipe="tf32", bytes=4.0), ElementType(name="bf16", pipe="bf16", bytes=2.0),
    ElementType(name="fp16", pipe="fp16", bytes=2.0), ElementType(name="fp8", pipe="fp8", bytes=1.0),
    ElementType(name="int8", pipe="int8", bytes=1.0), ElementType(name="fp4", pipe="fp4", bytes=0.5),
    ElementType(name="nvfp4", pipe="fp4", bytes=0.5 + 1 / 16),
    ElementType(name="mxfp4", pipe="fp4", bytes=0.5 + 1 / 32),
)}
_ALIASES = {"float32": "fp32", "f32": "fp32", "bfloat16": "bf16", "half": "fp16", "float16": "fp16", "f16": "fp16",
            "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "float8": "fp8", "sfu": "special_function"}


def element_type(text: str) -> ElementType:
    """The element type of that name.

    Parameters
    ----------
    text : str
        bf16, fp8, fp32, tf32, …; case does not matter.

    Returns
    -------
    ElementType
        Bytes per element and pipe.

    Raises
    ------
    UnsupportedFormat
        The text names no element type.
    """
    key = text.strip().lower()
    found = _TYPES.get(_ALIASES.get(key, key))
    if found is None:
        raise UnsupportedFormat(f"dtype {text!r} is not known.", hint="Known: " + ", ".join(_TYPES) + ".",
                                pointer="/dtype")
    return found


_PRINTABLE = 1e300
SMALLEST = 1 / LARGEST
"""Nothing measurable lies below this; quotients of two checked numbers stay finite [any unit]."""
_BOUNDARY_ALIASES = {"hbm": "memory", "dram": "memory", "smem": "shared_memory", "nvlink": "scale_up", "pcie": "host",
                     "nic": "network", "register": "registers"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """Where bytes cross: its rate, and whether the rate is published or only estimated."""

    name: str
    """registers | shared_memory | l2 | memory | scale_up | host | network."""
    bandwidth: float
    """β [byte/s], one direction for links."""
    estimate: bool
    """Derived from clock and issue width instead of published."""


def boundaries(chip: Chip) -> tuple[Boundary, ...]:
    """The boundaries of a chip that have a rate, from the arithmetic outward.

    Parameters
    ----------
    chip : Chip
        The SKU.

    Returns
    -------
    tuple of Boundary
        Registers to network, those that are known.
    """
    found = [Boundary(name=name, bandwidth=chip.boundaries[name], estimate=True)
             for name in ("registers", "shared_memory", "l2") if name in chip.boundaries]
    found.append(Boundary(name="memory", bandwidth=chip.bandwidth, estimate=False))
    found += [Boundary(name=name, bandwidth=link.bytes_per_s, estimate=False)
              for name, link in (("scale_up", chip.scale_up), ("host", chip.host), ("network", chip.network))
              if link is not None]
    return tuple(found)


def boundary(chip: Chip, text: str) -> Boundary:
    """One boundary of a chip by name.

    Parameters
    ----------
    chip : Chip
        The SKU.
    text : str
        memory (hbm), l2, shared_memory (smem), registers, scale_up (nvlink), host (pcie) or network.

    Returns
    -------
    Boundary
        The boundary with its rate.

    Raises
    ------
    MissingFact
        The chip has no rate for it.
    InvalidQuantity
        The text names no boundary.
    """
    key = text.strip().lower().replace("-", "_")
    key = _BOUNDARY_ALIASES.get(key, key)
    known = ("registers", "shared_memory", "l2", "memory", "scale_up", "host", "network")
    if key not in known:
        raise InvalidQuantity(f"boundary {text!r} is not known.", hint="Known: " + ", ".join(known) + ".",
                              pointer="/boundary")
    for found in boundaries(chip):
        if found.name == key:
            return found
    raise MissingFact(f"{chip.name} has no catalogued rate at the {key} boundary.", fact=f"boundaries.{key}",
                      hint="It has: " + ", ".join(b.name for b in boundaries(chip)) + ".", pointer="/boundary")


def _sentence(name: str, value: float, wanted: str) -> str:
    given = f"{value:g}" if not abs(value) > _PRINTABLE else "a number beyond 1e300"
    return f"{name} must be {wanted}, got {given}."


def positive(**fields: float | None) -> None:
    """Refuse numbers that are not finite and above zero.

    Parameters
    ----------
    **fields : float or None
        Values by the name the caller knows them under, any unit; None passes.

    Raises
    ------
    InvalidQuantity
        Names the first field at fault.
    """
    for name, value in fields.items():
        if value is not None and not SMALLEST <= value <= LARGEST:
            raise InvalidQuantity(_sentence(name, value, "a finite number above zero"), pointer=f"/{name}")


def non_negative(**fields: float | None) -> None:
    """Refuse numbers that are not finite or below zero.

    Parameters
    ----------
    **fields : float or None
        Values by the name the caller knows them under, any unit; None passes.

    Raises
    ------
    InvalidQuantity
        Names the first field at fault.
    """
    for name, value in fields.items():
        if value is not None and not 0 <= value <= LARGEST:
            raise InvalidQuantity(_sentence(name, value, "a finite number, zero or more"), pointer=f"/{name}")


def whole(**fields: float | None) -> None:
    """Refuse counts that are not whole numbers of at least one.

    Parameters
    ----------
    **fields : float or None
        Counts by name [1]; None passes.

    Raises
    ------
    InvalidQuantity
        Names the first field at fault.
    """
    for name, value in fields.items():
        if value is not None and not (1 <= value <= LARGEST and value % 1 == 0):
            raise InvalidQuantity(_sentence(name, value, "a whole number of at least 1"), pointer=f"/{name}")


def fraction(**fields: float) -> None:
    """Refuse numbers outside [0, 1].

    Parameters
    ----------
    **fields : float
        Fractions by name [1].

    Raises
    ------
    InvalidQuantity
        Names the first field at fault.
    """
    for name, value in fields.items():
        if not 0 <= value <= 1:
            raise InvalidQuantity(_sentence(name, value, "between 0 and 1"), pointer=f"/{name}")
