r"""The big-vocabulary head and its cross-entropy: a product that is fine and a tensor that is not.

.. math:: W = 2 N_t d V,\qquad Q = s(N_t d + d V) + s_l N_t V

References
----------
Wijmans et al., Cut Your Losses in Large-Vocabulary Language Models, arXiv 2411.09009 (chunked cross-entropy).
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.execution.roofline import time_overlapped
from planner.core.hardware.chip import Chip
from planner.core.labs.gemm import gemm_work
from planner.core.labs.inputs import ElementType, positive, whole

FP32_BYTES = 4.0
"""Loss arithmetic is in fp32 [byte]."""
LOSS_PASSES = 4.0
"""Read logits, write probabilities, read them back, write the gradient [1]."""
LOSS_FLOP = 6.0
"""Per logit: maximum, subtract, exponential, sum, divide, subtract the label [FLOP]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadReport:
    """The LM head over a batch of tokens, and the loss over its logits."""

    work: float
    traffic: float
    time: float
    logits_bytes: float
    """One copy of the logits at the width they are written in [byte]."""
    loss_logits_bytes: float
    """fp32 logits alive at once: all tokens, or one chunk [byte]."""
    loss_work: float
    loss_traffic: float
    """Zero when chunks are fused with the product [byte]."""
    loss_time: float

    @property
    def intensity(self) -> float:
        """W/Q of the product [FLOP/byte]."""
        return self.work / self.traffic

    @property
    def loss_intensity(self) -> float | None:
        """W/Q of the loss [FLOP/byte]; None when it moves nothing."""
        return self.loss_work / self.loss_traffic if self.loss_traffic else None


def head_report(chip: Chip, dtype: ElementType, tokens: int, d_model: int, vocabulary: int, *,
                logit_bytes: float | None = None, chunk: int | None = None) -> HeadReport:
    """The head product and its cross-entropy.

    Parameters
    ----------
    chip : Chip
        The SKU.
    dtype : ElementType
        Of hidden states and head weights.
    tokens : int
        N_t [token].
    d_model : int
        d [1].
    vocabulary : int
        V [1].
    logit_bytes : float or None
        Bytes per logit as written; None writes them in ``dtype`` [byte].
    chunk : int or None
        Tokens whose logits exist at once in a fused loss; None materialises all.

    Returns
    -------
    HeadReport
        Bounds from below on time. A chunked loss writes no logits.
    """
    whole(tokens=tokens, d_model=d_model, vocabulary=vocabulary, chunk=chunk)
    positive(logit_bytes=logit_bytes)
    s, width = dtype.bytes, dtype.bytes if logit_bytes is None else logit_bytes
    W = float(gemm_work(tokens, vocabulary, d_model))
    logits = float(tokens) * vocabulary
    Q = s * (float(tokens) * d_model + float(d_model) * vocabulary) + (width * logits if chunk is None else 0.0)
    loss_q = LOSS_PASSES * FP32_BYTES * logits if chunk is None else 0.0
    loss_w = LOSS_FLOP * logits
    alive = float(tokens if chunk is None else min(chunk, tokens)) * vocabulary
    slow = chip.peak("fp32" if chip.peaks.get("fp32") else dtype.pipe)
    return HeadReport(
        work=W, traffic=Q, time=float(time_overlapped(W, Q, chip.peak(dtype.pipe), chip.bandwidth)),
        logits_bytes=width * logits, loss_logits_bytes=FP32_BYTES * alive, loss_work=loss_w, loss_traffic=loss_q,
        loss_time=float(time_overlapped(loss_w, loss_q, slow, chip.bandwidth)))
