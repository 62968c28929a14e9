"""Speculative decoding: tokens a verified draft gains, what it costs, and the batch at which it stops paying."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.execution.step_table import StepTable
from planner.core.quantities.arrays import Array, Numeric, require_fraction
from planner.core.serving.lengths import RequestLengths
from planner.core.serving.policy import SchedulerPolicy, ServingLimits
from planner.core.serving.step_law import bind


def accepted_tokens(acceptance: Numeric, draft_tokens: Numeric) -> Array:
    r"""Tokens a sequence gains in a verified step when each drafted token is accepted independently.

    .. math:: AL = (1 - \alpha^{\gamma + 1}) / (1 - \alpha)

    Parameters
    ----------
    acceptance : float or ndarray
        α, chance that one drafted token is accepted [1].
    draft_tokens : float or ndarray
        γ, tokens drafted per step [token].

    Returns
    -------
    ndarray
        γ + 1 when everything is accepted [token].

    Raises
    ------
    InvalidQuantity
        An acceptance outside [0, 1].

    References
    ----------
    Leviathan, Kalman, Matias, Fast inference from transformers via speculative decoding, 2023, eq. 1, arXiv 2211.17192.
    """
    alpha = require_fraction("acceptance", acceptance)
    gamma = np.asarray(draft_tokens, dtype=np.float64)
    below = np.minimum(alpha, 1.0 - 1e-9)
    return np.where(alpha >= 1.0 - 1e-9, gamma + 1.0, (1.0 - below ** (gamma + 1.0)) / (1.0 - below))


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculation:
    """A draft: how much it proposes, how much is kept, what proposing costs."""

    draft_tokens: int
    """γ, proposed per step [token]."""
    accepted: float
    """Tokens gained per step, the verified one included, within [1, γ + 1] [token]."""
    draft_time_s: float
    """Time to draft γ tokens for the whole batch [s]."""

    def __post_init__(self) -> None:
        """Refuse gains that no draft of this length can have."""
        if self.draft_tokens < 1 or not 1.0 <= self.accepted <= self.draft_tokens + 1.0 or self.draft_time_s < 0.0:
            raise InvalidQuantity(f"A draft of {self.draft_tokens} tokens gains between 1 and "
                                  f"{self.draft_tokens + 1} a step and takes time, got {self.accepted:g} and "
                                  f"{self.draft_time_s:g} s.", pointer="accepted")

    def limits(self, limits: ServingLimits) -> ServingLimits:
        """The replica's sizes with this draft."""
        return replace(limits, tokens_per_step=self.accepted, query_tokens=self.draft_tokens + 1.0,
                       draft_time_s=self.draft_time_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeculationCurve:
    """Speed-up of decoding over batch."""

    batch: Array
    plain_time: Array
    """Time per token of a sequence without a draft, shape (batch,) [s]."""
    drafted_time: Array
    """The same with it [s]."""
    speed_up: Array
    """plain_time / drafted_time [1]."""
    break_even_batch: float | None
    """Largest batch of the curve up to which drafting pays; None when it never does, inf when it always does [1]."""


def speculation_curve(table: StepTable, lengths: RequestLengths, policy: SchedulerPolicy, limits: ServingLimits,
                      draft: Speculation, batch: Array) -> SpeculationCurve:
    """Decode speed with and without a draft over batches of one attention group.

    Parameters
    ----------
    table : StepTable
        Without a grid.
    lengths : RequestLengths
        The workload, for its mean context.
    policy : SchedulerPolicy
        The engine.
    limits : ServingLimits
        Sizes of the replica.
    draft : Speculation
        The draft.
    batch : ndarray
        Decoding sequences, ascending, shape (batch,) [1].

    Returns
    -------
    SpeculationCurve
        The break-even batch is interpolated.
    """
    plain, _, _ = bind(table, lengths, policy, limits).decode(batch)
    step, _, _ = bind(table, lengths, policy, draft.limits(limits)).decode(batch)
    drafted = step / draft.accepted
    gain = plain / drafted - 1.0
    losing = np.flatnonzero(gain <= 0.0)
    if not losing.size:
        even: float | None = np.inf
    elif losing[0] == 0:
        even = None
    else:
        i = int(losing[0])
        even = float(np.interp(0.0, [gain[i], gain[i - 1]], [batch[i], batch[i - 1]]))
    return SpeculationCurve(batch=batch, plain_time=plain, drafted_time=drafted, speed_up=plain / drafted,
                            break_even_batch=even)
