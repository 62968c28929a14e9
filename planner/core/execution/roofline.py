r"""The roofline: what a machine with peaks π and bandwidths β can at best do with work W and traffic Q.

Every function broadcasts; inputs are finite and positive (callers check), so that grids cost one pass.

References
----------
Williams, Waterman, Patterson, Roofline, CACM 52(4) 2009, doi 10.1145/1498765.1498785; Ilic, Pratas, Sousa,
Cache-aware Roofline Model, IEEE CAL 13(1) 2014, doi 10.1109/L-CA.2013.6 (one roof per boundary); Little, A Proof for
the Queuing Formula L = λW, Operations Research 9(3) 1961.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.core.quantities.arrays import Array, Numeric


def attainable(intensity: Numeric, peak: Numeric, bandwidth: Numeric) -> Array:
    r"""Attainable rate when memory traffic and arithmetic overlap fully.

    .. math:: P = \min(\pi, \beta I)

    Parameters
    ----------
    intensity : float or ndarray
        I [FLOP/byte].
    peak : float or ndarray
        π [FLOP/s].
    bandwidth : float or ndarray
        β of the boundary that I counts [byte/s].

    Returns
    -------
    ndarray
        P [FLOP/s], the broadcast shape; a bound from above.
    """
    return np.asarray(np.minimum(peak, bandwidth * np.asarray(intensity)))


def attainable_serial(intensity: Numeric, peak: Numeric, bandwidth: Numeric) -> Array:
    r"""Attainable rate when loading and computing take turns.

    .. math:: P = \left(\frac{1}{\pi} + \frac{1}{\beta I}\right)^{-1}

    Parameters
    ----------
    intensity : float or ndarray
        I [FLOP/byte].
    peak : float or ndarray
        π [FLOP/s].
    bandwidth : float or ndarray
        β [byte/s].

    Returns
    -------
    ndarray
        P [FLOP/s]; half the overlapped rate at the ridge, equal to it far from the ridge.
    """
    slope = bandwidth * np.asarray(intensity)
    return np.asarray(peak * slope / (peak + slope))


def time_overlapped(work: Numeric, traffic: Numeric, peak: Numeric, bandwidth: Numeric) -> Array:
    r"""Time under full overlap.

    .. math:: T = \max(W/\pi, Q/\beta)

    Parameters
    ----------
    work : float or ndarray
        W [FLOP].
    traffic : float or ndarray
        Q across the boundary whose bandwidth is given [byte].
    peak : float or ndarray
        π [FLOP/s].
    bandwidth : float or ndarray
        β [byte/s].

    Returns
    -------
    ndarray
        T [s]; a bound from below.
    """
    return np.asarray(np.maximum(np.asarray(work) / peak, np.asarray(traffic) / bandwidth))


def time_serial(work: Numeric, traffic: Numeric, peak: Numeric, bandwidth: Numeric) -> Array:
    r"""Time without any overlap.

    .. math:: T = W/\pi + Q/\beta

    Parameters
    ----------
    work : float or ndarray
        W [FLOP].
    traffic : float or ndarray
        Q [byte].
    peak : float or ndarray
        π [FLOP/s].
    bandwidth : float or ndarray
        β [byte/s].

    Returns
    -------
    ndarray
        T [s], at most twice the overlapped time.
    """
    return np.asarray(np.asarray(work) / peak + np.asarray(traffic) / bandwidth)


def bandwidth_in_flight(bandwidth: Numeric, bytes_in_flight: Numeric, latency: Numeric) -> Array:
    r"""Bandwidth that a limited number of outstanding bytes can draw.

    .. math:: \beta_{eff} = \min(\beta, C / t_{lat})

    Parameters
    ----------
    bandwidth : float or ndarray
        β [byte/s].
    bytes_in_flight : float or ndarray
        C, bytes requested and not yet arrived [byte].
    latency : float or ndarray
        Load-to-use latency [s].

    Returns
    -------
    ndarray
        [byte/s] (Little's law).
    """
    return np.asarray(np.minimum(bandwidth, np.asarray(bytes_in_flight) / latency))


def bytes_to_saturate(bandwidth: Numeric, latency: Numeric) -> Array:
    """Bytes that must be in flight for full bandwidth.

    Parameters
    ----------
    bandwidth : float or ndarray
        β [byte/s].
    latency : float or ndarray
        Load-to-use latency [s].

    Returns
    -------
    ndarray
        β·t [byte].
    """
    return np.asarray(bandwidth * np.asarray(latency))


def hierarchical(peak: Numeric, bandwidths: Sequence[Numeric], intensities: Sequence[Numeric]) -> tuple[Array, Array]:
    r"""Attainable rate under every boundary at once, and the one that binds.

    .. math:: P = \min(\pi, \beta_1 I_1, \beta_2 I_2, \dots)

    Parameters
    ----------
    peak : float or ndarray
        π [FLOP/s].
    bandwidths : sequence
        β of each boundary [byte/s].
    intensities : sequence
        I of the kernel at each boundary, in the same order [FLOP/byte].

    Returns
    -------
    tuple of ndarray
        P [FLOP/s] and the index of the binding boundary, -1 where the peak binds; the broadcast shape.
    """
    slopes = [np.asarray(beta) * np.asarray(i) for beta, i in zip(bandwidths, intensities, strict=True)]
    roofs = np.stack(np.broadcast_arrays(np.asarray(peak, dtype=np.float64), *slopes))
    return np.asarray(roofs.min(axis=0)), np.asarray(roofs.argmin(axis=0) - 1)
