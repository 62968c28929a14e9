"""Time of recurrent mixers: gated delta rules, KDA, Mamba; a state per sequence instead of a cache per token.

References
----------
Yang et al., Gated Delta Networks, arXiv 2412.06464; Dao and Gu, Mamba-2, arXiv 2405.21060; forms fitted on the kernel
tables of AIConfigurator 0.12 / aisimulate 0.13 (Apache-2.0), see docs/adr/.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.core.quantities.arrays import Array, Numeric

CHUNK = 64.0
"""Tokens a chunked scan advances at once [token]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrentCurve:
    """Parameters of one recurrent mixer; each may be a column over operators."""

    launch: Numeric
    """Floor of the decode kernels, convolution update included [s]."""
    memory: Numeric
    """Share of the bandwidth that states move with, 0–1."""
    prompt_launch: Numeric
    """Floor of the prompt kernels [s]."""
    scan: Numeric
    """Serial cost of one chunk of the longest prompt [s]."""
    prompt_memory: Numeric
    """Share of the bandwidth that prompt activations move with, 0–1."""
    compute: Numeric
    """Share of the 16-bit dense peak reached on prompts, 0–1."""


def recurrent_decode_time(curve: RecurrentCurve, *, traffic: Numeric, bandwidth: Numeric,
                          floor_scale: Numeric = 1.0) -> Array:
    r"""Time to update every sequence's state by one token.

    .. math:: t = s_0 t_0 + Q/\eta\beta

    Parameters
    ----------
    curve : RecurrentCurve
        Fitted parameters.
    traffic : float or ndarray
        Q, states read and written [byte], shape (op, *grid).
    bandwidth : float or ndarray
        Datasheet β [byte/s].
    floor_scale : float or ndarray
        Share of the floor left in a graph, 0–1.

    Returns
    -------
    ndarray
        t [s], shape (op, *grid).
    """
    return np.asarray(np.multiply(floor_scale, curve.launch)
                      + np.divide(traffic, np.multiply(curve.memory, bandwidth)))


def recurrent_prompt_time(curve: RecurrentCurve, *, work: Numeric, traffic: Numeric, longest: Numeric, peak: Numeric,
                          bandwidth: Numeric, floor_scale: Numeric = 1.0) -> Array:
    r"""Time of the chunked scan over prompts.

    .. math:: t = s_0 t_p + c_h l/64 + Q/b\beta + W/\mu\pi

    Parameters
    ----------
    curve : RecurrentCurve
        Fitted parameters.
    work : float or ndarray
        W [FLOP], shape (op, *grid).
    traffic : float or ndarray
        Q, activations in and out [byte], shape (op, *grid).
    longest : float or ndarray
        l, tokens of the longest prompt piece in the step [token], shape (op, *grid).
    peak : float or ndarray
        Dense 16-bit π [FLOP/s].
    bandwidth : float or ndarray
        Datasheet β [byte/s].
    floor_scale : float or ndarray
        Share of the floor left in a graph, 0–1.

    Returns
    -------
    ndarray
        t [s], shape (op, *grid).
    """
    moved = np.divide(traffic, np.multiply(curve.prompt_memory, bandwidth))
    computed = np.divide(work, np.multiply(curve.compute, peak))
    scanned = np.multiply(curve.scan, longest) / CHUNK
    return np.asarray(np.multiply(floor_scale, curve.prompt_launch) + scanned + moved + computed)
