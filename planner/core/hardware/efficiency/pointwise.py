"""Time of everything that only moves elements: norms, rotary embedding, activations, logits and sampling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.core.quantities.arrays import Array, Numeric


@dataclass(frozen=True, slots=True, kw_only=True)
class PointwiseCurve:
    """How fast element-wise kernels move bytes, and how often a layer moves its hidden stream."""

    memory: Numeric
    """Share of the datasheet bandwidth reached, 0–1."""
    layer_passes: Numeric
    """One-way passes of the 16-bit hidden stream per layer: norms, residual, rotary, activation [1]."""
    logit_passes: Numeric
    """One-way passes over fp32 logits per step: softmax, top-k, top-p, sampling [1]."""


def pointwise_time(curve: PointwiseCurve, *, traffic: Numeric, bandwidth: Numeric) -> Array:
    r"""Time to move the bytes of element-wise kernels; their launches are the layer's overhead.

    .. math:: t = Q/\eta\beta

    Parameters
    ----------
    curve : PointwiseCurve
        Fitted parameters.
    traffic : float or ndarray
        Q, bytes read and written [byte], shape (op, *grid).
    bandwidth : float or ndarray
        Datasheet β [byte/s].

    Returns
    -------
    ndarray
        t [s], shape (op, *grid).
    """
    return np.asarray(np.divide(traffic, np.multiply(curve.memory, bandwidth)))
