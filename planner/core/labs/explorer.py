"""The roofline explorer: one point under one roof, every boundary's ridge, and the boundary that binds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.core.errors import InvalidQuantity
from planner.core.execution.roofline import attainable, attainable_serial, hierarchical, time_overlapped, time_serial
from planner.core.hardware.chip import Chip
from planner.core.labs.inputs import Boundary, ElementType, boundaries, boundary, non_negative, positive


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflinePoint:
    """A kernel under a roof."""

    peak: float
    """π [FLOP/s]."""
    boundary: Boundary
    intensity: float
    """I at that boundary [FLOP/byte]."""
    attainable: float
    """P [FLOP/s]."""
    time: float | None
    """T [s]; None when only an intensity was asked."""
    overlap: str
    """full | none."""

    @property
    def ridge(self) -> float:
        """π/β [FLOP/byte]."""
        return self.peak / self.boundary.bandwidth

    @property
    def fraction_of_peak(self) -> float:
        """P/π [1]."""
        return self.attainable / self.peak

    @property
    def bound(self) -> str:
        """Compute, or the name of the boundary."""
        return "compute" if self.intensity >= self.ridge else self.boundary.name


def explore_intensity(chip: Chip, dtype: ElementType, intensity: float, *, at: str = "memory") -> RooflinePoint:
    """The point of an intensity under the roof of one boundary.

    Parameters
    ----------
    chip : Chip
        The SKU.
    dtype : ElementType
        Chooses the pipe, hence π.
    intensity : float
        I at the boundary [FLOP/byte].
    at : str
        The boundary's name.

    Returns
    -------
    RooflinePoint
        Attainable rate under full overlap; no time.
    """
    positive(intensity_flop_per_byte=intensity)
    edge, peak = boundary(chip, at), chip.peak(dtype.pipe)
    return RooflinePoint(peak=peak, boundary=edge, intensity=intensity, overlap="full", time=None,
                         attainable=float(attainable(intensity, peak, edge.bandwidth)))


def explore_kernel(chip: Chip, dtype: ElementType, work: float, traffic: float, *, at: str = "memory",
                   overlap: str = "full") -> RooflinePoint:
    """The point of a kernel with known work and traffic.

    Parameters
    ----------
    chip : Chip
        The SKU.
    dtype : ElementType
        Chooses the pipe, hence π.
    work : float
        W [FLOP].
    traffic : float
        Q across the boundary [byte].
    at : str
        The boundary's name.
    overlap : str
        ``full`` takes the slower of memory and arithmetic, ``none`` their sum.

    Returns
    -------
    RooflinePoint
        Attainable rate and least time.

    Raises
    ------
    InvalidQuantity
        W or Q is not above zero, or the overlap is neither full nor none.
    """
    positive(bytes=traffic)
    non_negative(flop=work)
    if overlap not in _OVERLAPS:
        raise InvalidQuantity(f"overlap must be full or none, got {overlap!r}.", pointer="/overlap")
    edge, peak = boundary(chip, at), chip.peak(dtype.pipe)
    rate, duration = _OVERLAPS[overlap]
    intensity = work / traffic
    return RooflinePoint(
        peak=peak, boundary=edge, intensity=intensity, overlap=overlap,
        attainable=float(rate(intensity, peak, edge.bandwidth)),
        time=float(duration(work, traffic, peak, edge.bandwidth)))


_OVERLAPS = {"full": (attainable, time_overlapped), "none": (attainable_serial, time_serial)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """One boundary of a chip under one pipe."""

    boundary: Boundary
    ridge: float
    """π/β [FLOP/byte]."""


def roofs(chip: Chip, dtype: ElementType) -> tuple[Roof, ...]:
    """The ridge at every boundary, from registers to the network.

    Parameters
    ----------
    chip : Chip
        The SKU.
    dtype : ElementType
        Chooses the pipe, hence π.

    Returns
    -------
    tuple of Roof
        Boundaries with a known rate; on-chip rates are estimates and marked so.

    Notes
    -----
    A link's ridge is what parallel training and serving must exceed to hide communication behind arithmetic.
    """
    peak = chip.peak(dtype.pipe)
    return tuple(Roof(boundary=edge, ridge=peak / edge.bandwidth) for edge in boundaries(chip))


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """The attainable rate of a kernel under several boundaries at once."""

    attainable: float
    """P [FLOP/s]."""
    fraction_of_peak: float
    bound: str
    """compute, or the boundary that binds."""


def binding(chip: Chip, dtype: ElementType, intensities: Mapping[str, float]) -> Binding:
    """The boundary that binds a kernel with these intensities.

    Parameters
    ----------
    chip : Chip
        The SKU.
    dtype : ElementType
        Chooses the pipe, hence π.
    intensities : mapping
        I [FLOP/byte] by boundary name; boundaries a kernel does not cross are left out.

    Returns
    -------
    Binding
        The tightest of π and all β·I.
    """
    positive(**{f"intensities.{name}": value for name, value in intensities.items()})
    edges = [boundary(chip, name) for name in intensities]
    peak = chip.peak(dtype.pipe)
    rate, index = hierarchical(peak, [edge.bandwidth for edge in edges], list(intensities.values()))
    tightest = int(index)
    return Binding(attainable=float(rate), fraction_of_peak=float(rate) / peak,
                   bound="compute" if tightest < 0 else edges[tightest].name)
