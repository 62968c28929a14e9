"""Time of a dense matrix product of a few to many tokens with a weight matrix.

The serial loop over the inner dimension is an arm beside memory and compute: no tile of a product finishes before it
has walked its whole inner dimension, however few tiles there are. Run-time scaling of activations costs passes over the
input in fp8 and fp4 and, where a quantiser works row by row, a time per row that a narrow input does not shorten. What
of a tile's output is stored after its arithmetic hides behind none.

References
----------
Williams et al., Roofline, CACM 52(4) 2009, doi 10.1145/1498765.1498785 (ceilings); kernel tables of AIConfigurator 0.12
and aisimulate 0.13 (Apache-2.0) for the form, refitted by ``planner fit``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.core.hardware.efficiency.knee import knee
from planner.core.quantities.arrays import Array, Numeric

_SERIAL_UNIT = 1024.0  # inner-dimension elements the serial term is quoted per
_SIXTEEN_BIT = 2.0  # [byte] the activations a run-time quantiser reads


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmCurve:
    """Parameters of one GEMM class on one chip and engine; each may be a column over operators."""

    launch: Numeric
    """Floor t0 [s]."""
    serial: Numeric
    """Time one output tile needs per 1024 inner elements [s]."""
    memory: Numeric
    """Share of the datasheet bandwidth reached, 0–1."""
    compute: Numeric
    """Share of the dense peak reached, 0–1."""
    quantise: Numeric = 0.0
    """Passes over the 16-bit input that run-time quantisation costs [1]."""
    per_token: Numeric = 0.0
    """Cost of a row of the input whatever its width: quantisers that work row by row [s]."""
    store: Numeric = 0.0
    """Passes over the 16-bit output that no arithmetic hides [1]."""


def gemm_time(curve: GemmCurve, *, work: Numeric, traffic: Numeric, tokens: Numeric, inputs: Numeric, peak: Numeric,
              bandwidth: Numeric, floor_scale: Numeric = 1.0) -> Array:
    r"""Time of one GEMM.

    .. math::
        t = s_0 t_0 + t_m m + 2 (a_q m k + a_o m n)/\beta
            + \sqrt{(Q/\eta\beta)^2 + (W/\mu\pi)^2 + (s_0 c_k k/1024)^2}

    Parameters
    ----------
    curve : GemmCurve
        Fitted parameters.
    work : float or ndarray
        W = 2·m·k·n [FLOP], shape (op, *grid).
    traffic : float or ndarray
        Q = weights, input and output once [byte], shape (op, *grid).
    tokens : float or ndarray
        m, rows of the input [1], shape (op, *grid).
    inputs : float or ndarray
        k, the inner dimension on this rank [1], shape (op, 1…).
    peak : float or ndarray
        Dense datasheet π of the pipe [FLOP/s], shape (op, 1…).
    bandwidth : float or ndarray
        Datasheet β [byte/s].
    floor_scale : float or ndarray
        Share left of the floor and of a lone tile's walk when kernels follow each other in a graph, where the next
        one's weights are on their way already, 0–1.

    Returns
    -------
    ndarray
        t [s], shape (op, *grid).
    """
    terms = gemm_terms(curve, inputs=inputs, peak=peak, bandwidth=bandwidth, floor_scale=floor_scale)
    return terms.time(work=work, traffic=traffic, tokens=tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmTerms:
    """What of :func:`gemm_time` depends on the matrix and the chip but not on the tokens."""

    launch: Array
    """[s]."""
    walk: Array
    """The serial loop over the inner dimension [s]."""
    per_token: Array
    """Quantisation [s/token]."""
    per_flop: Array
    """Output stores, which are W/2k elements [s/FLOP]."""
    memory_rate: Array
    """[byte/s]."""
    compute_rate: Array
    """[FLOP/s]."""

    def time(self, *, work: Numeric, traffic: Numeric, tokens: Numeric) -> Array:
        """Time of one GEMM.

        Parameters
        ----------
        work : float or ndarray
            W [FLOP], shape (op, *grid).
        traffic : float or ndarray
            Q [byte], shape (op, *grid).
        tokens : float or ndarray
            m [1], shape (op, *grid).

        Returns
        -------
        ndarray
            t [s], shape (op, *grid).
        """
        arms = knee(traffic / self.memory_rate, work / self.compute_rate, self.walk)
        return np.asarray(self.launch + self.per_token * tokens + self.per_flop * work + arms)


def gemm_terms(curve: GemmCurve, *, inputs: Numeric, peak: Numeric, bandwidth: Numeric, floor_scale: Numeric,
               ) -> GemmTerms:
    """A curve on a chip for given matrices.

    Parameters
    ----------
    curve : GemmCurve
        Fitted parameters.
    inputs : float or ndarray
        k [1].
    peak : float or ndarray
        π [FLOP/s].
    bandwidth : float or ndarray
        β [byte/s].
    floor_scale : float or ndarray
        Share of the floor left when kernels follow each other in a graph, 0–1.

    Returns
    -------
    GemmTerms
        Of the broadcast shape.
    """
    return GemmTerms(
        launch=np.multiply(floor_scale, curve.launch),
        walk=np.multiply(floor_scale, np.multiply(curve.serial, inputs)) / _SERIAL_UNIT,
        per_token=np.multiply(curve.quantise, inputs) * _SIXTEEN_BIT / bandwidth + curve.per_token,
        per_flop=np.multiply(curve.store, _SIXTEEN_BIT / 2) / (np.multiply(inputs, bandwidth)),
        memory_rate=np.multiply(curve.memory, bandwidth), compute_rate=np.multiply(curve.compute, peak))
