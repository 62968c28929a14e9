r"""The GEMM workbench: three accountings of traffic, what L2 absorbs, waves, and every boundary's verdict.

.. math:: W = 2MNK,\quad Q_c = s(MK + KN + MN),\quad
          Q_t = s(\lceil M/T_m\rceil KN + \lceil N/T_n\rceil MK + MN),\quad Q = Q_c + (1-a)(Q_t - Q_c)

References
----------
Hong, Kung, I/O complexity: the red-blue pebble game, STOC 1981 (traffic of blocked products); Williams et al., CACM
52(4) 2009. L2 absorption between 0.80 and 0.95 is what counters show for well-tiled large products.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.execution.roofline import attainable, time_overlapped
from planner.core.hardware.chip import Chip
from planner.core.labs.explorer import Binding, binding
from planner.core.labs.inputs import ElementType, boundaries, fraction, whole
from planner.core.quantities.arrays import Array, Numeric

ACCUMULATOR_BYTES = 4.0
"""Products accumulate in fp32 whatever the inputs [byte]."""
WARP_TILE = 64
"""Edge of the tile a warp group computes from shared memory, as CUTLASS's large-tile defaults have it [1]."""


def gemm_work(m: Numeric, n: Numeric, k: Numeric) -> Array:
    """Work of a matrix product.

    Parameters
    ----------
    m : float or ndarray
        Rows of the result [1].
    n : float or ndarray
        Columns of the result [1].
    k : float or ndarray
        Summed dimension [1].

    Returns
    -------
    ndarray
        W = 2·M·N·K [FLOP], a multiply-add counted as two.
    """
    return np.asarray(2.0 * np.asarray(m, dtype=np.float64) * n * k)


def gemm_traffic_compulsory(m: Numeric, n: Numeric, k: Numeric, element_bytes: Numeric) -> Array:
    """Traffic of a matrix product whose operands cross memory once.

    Parameters
    ----------
    m : float or ndarray
        Rows of the result [1].
    n : float or ndarray
        Columns of the result [1].
    k : float or ndarray
        Summed dimension [1].
    element_bytes : float or ndarray
        s [byte].

    Returns
    -------
    ndarray
        Q_c [byte]; a bound from below.
    """
    m, n, k = (np.asarray(x, dtype=np.float64) for x in (m, n, k))
    return np.asarray(element_bytes * (m * k + k * n + m * n))


def gemm_traffic_operands(m: Numeric, n: Numeric, k: Numeric, tile_m: Numeric, tile_n: Numeric,
                          element_bytes: Numeric) -> Array:
    """Operand bytes that tiles read when nothing between them and the boundary is reused.

    Parameters
    ----------
    m : float or ndarray
        Rows of the result [1].
    n : float or ndarray
        Columns of the result [1].
    k : float or ndarray
        Summed dimension [1].
    tile_m : float or ndarray
        Rows of a tile [1].
    tile_n : float or ndarray
        Columns of a tile [1].
    element_bytes : float or ndarray
        s [byte].

    Returns
    -------
    ndarray
        s·(⌈M/T_m⌉·K·N + ⌈N/T_n⌉·M·K) [byte], without the result's write.
    """
    m, n, k = (np.asarray(x, dtype=np.float64) for x in (m, n, k))
    return np.asarray(element_bytes * k * (np.ceil(m / tile_m) * n + np.ceil(n / tile_n) * m))


def gemm_traffic_tiled(m: Numeric, n: Numeric, k: Numeric, tile_m: Numeric, tile_n: Numeric,
                       element_bytes: Numeric) -> Array:
    """Traffic of a tiled matrix product that keeps nothing between tiles.

    Parameters
    ----------
    m : float or ndarray
        Rows of the result [1].
    n : float or ndarray
        Columns of the result [1].
    k : float or ndarray
        Summed dimension [1].
    tile_m : float or ndarray
        Rows of a tile [1].
    tile_n : float or ndarray
        Columns of a tile [1].
    element_bytes : float or ndarray
        s [byte].

    Returns
    -------
    ndarray
        Q_t [byte], never below the compulsory traffic; a bound from above for that tiling.
    """
    result = element_bytes * np.asarray(m, dtype=np.float64) * n
    return np.asarray(np.maximum(gemm_traffic_operands(m, n, k, tile_m, tile_n, element_bytes) + result,
                                 gemm_traffic_compulsory(m, n, k, element_bytes)))


def gemm_traffic_modelled(compulsory: Numeric, tiled: Numeric, absorption: Numeric) -> Array:
    """Traffic when a cache absorbs part of the re-reads.

    Parameters
    ----------
    compulsory : float or ndarray
        Q_c [byte].
    tiled : float or ndarray
        Q_t [byte].
    absorption : float or ndarray
        a, share of the re-reads that never reaches memory [1].

    Returns
    -------
    ndarray
        Q [byte], between the two.
    """
    compulsory = np.asarray(compulsory)
    return np.asarray(compulsory + (1.0 - np.asarray(absorption)) * (tiled - compulsory))


@dataclass(frozen=True, slots=True, kw_only=True)
class Waves:
    """How the tiles fill the multiprocessors."""

    tiles: int
    multiprocessors: int
    waves: int
    last_wave_fraction: float
    """Share of multiprocessors busy in the last wave [1]."""
    efficiency: float
    """Tiles over the slots of all waves [1]."""


def tile_waves(tiles: int, multiprocessors: int) -> Waves:
    """Waves of equal tiles over the multiprocessors, one tile on each at a time.

    Parameters
    ----------
    tiles : int
        Tiles or thread blocks [1].
    multiprocessors : int
        Multiprocessors of the chip [1].

    Returns
    -------
    Waves
        Whole waves and how full the last one is.
    """
    waves = ceil(tiles / multiprocessors)
    last = tiles - (waves - 1) * multiprocessors
    return Waves(tiles=tiles, multiprocessors=multiprocessors, waves=waves,
                 last_wave_fraction=last / multiprocessors, efficiency=tiles / (waves * multiprocessors))


@dataclass(frozen=True, slots=True, kw_only=True)
class TileLimits:
    """What a tile needs on chip, and the tile that memory alone would ask for."""

    accumulator_bytes: float
    """fp32 accumulators of one tile [byte]."""
    shared_memory_bytes: float | None
    """Of one multiprocessor [byte]."""
    fits: bool | None
    """Accumulators within shared memory; None when the chip's is unknown."""
    square_tile_for_ridge: float
    """T at which tiled intensity T/s meets the ridge [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmReport:
    """One product on one chip under all three accountings."""

    work: float
    compulsory: float
    """Q_c [byte]."""
    tiled: float
    """Q_t [byte]."""
    modelled: float
    """Q [byte]."""
    ridge: float
    fraction_of_peak: float
    """min(1, I/I*) at the modelled traffic."""
    time: float
    """Least time at the modelled traffic [s]."""
    corridor_time: tuple[float, float]
    """Least time with no and with full absorption [s]."""
    corridor_fraction: tuple[float, float]
    """Fraction of peak with no and with full absorption [1]."""
    bound: str
    """memory | compute at the memory boundary."""
    waves: Waves | None
    """None when the number of multiprocessors is unknown."""
    limits: TileLimits
    levels: Mapping[str, float]
    """Intensity [FLOP/byte] at every on-chip boundary with a rate, and at memory (compulsory)."""
    binding: Binding
    """The tightest of those boundaries."""


def gemm_report(chip: Chip, dtype: ElementType, m: int, n: int, k: int, *, tile: tuple[int, int] = (128, 128),
                absorption: float = 0.85) -> GemmReport:
    """A matrix product under the roofs of a chip.

    Parameters
    ----------
    chip : Chip
        The SKU.
    dtype : ElementType
        Of both operands and the result.
    m : int
        Rows of the result [1].
    n : int
        Columns of the result [1].
    k : int
        Summed dimension [1].
    tile : tuple of int
        Rows and columns of the tile one multiprocessor computes [1].
    absorption : float
        a, share of tile re-reads that L2 absorbs [1].

    Returns
    -------
    GemmReport
        Bounds from below on time: launches, clocks and wave quantisation are not in them.

    Raises
    ------
    InvalidQuantity
        A dimension is no positive whole number, or the absorption is outside [0, 1].
    """
    if len(tile) != 2:
        raise InvalidQuantity("tile must be two whole numbers, rows and columns.", pointer="/tile")
    tm, tn = tile
    whole(m=m, n=n, k=k, **{"tile/0": tm, "tile/1": tn})
    fraction(l2_absorption=absorption)
    pi, beta, s = chip.peak(dtype.pipe), chip.bandwidth, dtype.bytes
    W = float(gemm_work(m, n, k))
    q_c = float(gemm_traffic_compulsory(m, n, k, s))
    q_t = float(gemm_traffic_tiled(m, n, k, tm, tn, s))
    Q = float(gemm_traffic_modelled(q_c, q_t, absorption))
    times = time_overlapped(W, np.array([Q, q_t, q_c]), pi, beta)
    rates = attainable(W / np.array([Q, q_t, q_c]), pi, beta) / pi
    levels = _levels(chip, dtype, m, n, k, tile)
    accumulators = ACCUMULATOR_BYTES * tm * tn
    room = chip.shared_memory_bytes
    return GemmReport(
        work=W, compulsory=q_c, tiled=q_t, modelled=Q, ridge=pi / beta, fraction_of_peak=float(rates[0]),
        time=float(times[0]), corridor_time=(float(times[1]), float(times[2])),
        corridor_fraction=(float(rates[1]), float(rates[2])), bound="compute" if W / pi >= Q / beta else "memory",
        waves=tile_waves(ceil(m / tm) * ceil(n / tn), chip.multiprocessors) if chip.multiprocessors else None,
        limits=TileLimits(accumulator_bytes=accumulators, shared_memory_bytes=room,
                          fits=None if room is None else accumulators <= room, square_tile_for_ridge=s * pi / beta),
        levels=levels, binding=binding(chip, dtype, levels))


def _levels(chip: Chip, dtype: ElementType, m: int, n: int, k: int, tile: tuple[int, int]) -> dict[str, float]:
    """Intensity at L2 (tile operands), shared memory (warp-tile operands) and memory (compulsory)."""
    W, s = float(gemm_work(m, n, k)), dtype.bytes
    tm, tn = tile
    traffic = {
        "shared_memory": gemm_traffic_operands(m, n, k, min(WARP_TILE, tm), min(WARP_TILE, tn), s),
        "l2": gemm_traffic_operands(m, n, k, tm, tn, s),
        "memory": gemm_traffic_compulsory(m, n, k, s)}
    known = {edge.name for edge in boundaries(chip)}
    return {name: W / float(q) for name, q in traffic.items() if name in known}
