"""What a simulated replica is: step times as plain lists, scheduler, sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.execution.step_table import PlainStepTable, StepTable
from planner.core.serving.policy import Admission, Chunking, PrefillOrder, SchedulerPolicy, ServingLimits

LISTED = 2**17
"""Step times listed by token count; longer steps are rare and interpolated one by one [token]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSettings:
    """One attention group: numbers and lists only, because the simulator's loop indexes no array."""

    base: list[float]
    """Time of a step of n tokens with empty contexts, n = 0, 1, 2 … up to `LISTED` [s]."""
    beyond: PlainStepTable
    """The same for more tokens."""
    slope_full: float
    """Per context token of full attention [s/token]."""
    windows: tuple[tuple[float, float], ...]
    """(span, slope) of sliding-window classes [token, s/token]."""
    per_pair: float
    per_request: float
    prefill_extra: float
    draft_time: float
    gain: float
    """Tokens a sequence gains in a decode step [token]."""
    query: float
    """Tokens a sequence computes in a decode step [token]."""
    budget: int
    max_seqs: int
    blocks: int
    """Cache blocks of the group [1]."""
    block_steps: int
    """Decode steps a sequence takes through one block [1]."""
    fixed_classes: tuple[tuple[float, float], ...]
    """(span, share) of cache classes held from admission [token, 1]."""
    fixed_tokens: float
    growing_share: float
    """Share of a token's cache bytes that keeps growing with the context [1]."""
    mixed: bool
    chunked: bool
    reserve: bool
    poll_steps: int

    def blocks_for(self, tokens: float, final: float) -> int:
        """Blocks of a sequence with ``tokens`` in the cache that will end at ``final`` tokens.

        Parameters
        ----------
        tokens : float
            Tokens stored [token].
        final : float
            Tokens at the end of its life, to which window classes are held [token].

        Returns
        -------
        int
            [1].
        """
        growing = math.ceil(math.ceil(tokens / self.gain) / self.block_steps) if self.growing_share else 0
        if not (self.fixed_classes or self.fixed_tokens):
            return growing
        held = self.fixed_tokens + sum(share * min(final, span) for span, share in self.fixed_classes)
        unit = self.block_steps * self.gain * (self.growing_share or 1.0)
        return growing + math.ceil(held / unit)


def rank_settings(table: StepTable, policy: SchedulerPolicy, limits: ServingLimits) -> RankSettings:
    """Settings of one attention group from the tables that the closed forms use.

    Parameters
    ----------
    table : StepTable
        Without a grid.
    policy : SchedulerPolicy
        The engine.
    limits : ServingLimits
        Sizes of the replica, numbers only.

    Returns
    -------
    RankSettings
        The cache and the sequence limit are divided over data ranks and micro-batches.

    Raises
    ------
    InvalidQuantity
        A cache that cannot hold one block, or a budget or sequence limit below one.
    """
    groups = int(limits.data_parallel) * int(limits.pipeline_parallel)
    gain, query = float(limits.tokens_per_step), float(limits.query_tokens)
    places = min(float(limits.max_num_seqs), float(limits.state_places) / int(limits.data_parallel))
    budget, seqs = int(limits.token_budget), max(int(places) // int(limits.pipeline_parallel), 1)
    steps = max(1, round(policy.block_tokens / gain))
    shares = _shares(limits)
    growing = sum(share for span, share in shares if math.isinf(span))
    unit = steps * gain * (growing or 1.0)
    blocks = int(float(limits.kv_capacity_tokens) / groups / unit)
    if blocks < 1 or budget < 1:
        raise InvalidQuantity(f"A replica needs room for one cache block and one token a step, got {blocks} blocks "
                              f"and {budget} tokens.", pointer="kv_capacity_tokens")
    longest = budget if policy.chunking is Chunking.CHUNKED else max(budget, int(table.nodes[-1]))
    tokens = np.arange(min(int(query * seqs) + longest + 2, LISTED), dtype=np.float64)
    base, _ = table.base_on_grid(tokens)
    spans = list(zip(table.windows.tolist(), table.per_context_token.reshape(table.windows.size).tolist(),
                     strict=True))
    return RankSettings(
        base=base.tolist(), beyond=table.plain(), slope_full=sum(slope for span, slope in spans if math.isinf(span)),
        windows=tuple((span, slope) for span, slope in spans if not math.isinf(span)),
        per_pair=float(table.per_pair), per_request=float(table.per_request),
        prefill_extra=float(table.prefill_extra), draft_time=float(limits.draft_time_s), gain=gain, query=query,
        budget=budget, max_seqs=seqs, blocks=blocks, block_steps=steps,
        fixed_classes=tuple((span, share) for span, share in shares if not math.isinf(span)),
        fixed_tokens=float(limits.cache_fixed_tokens), growing_share=growing,
        mixed=policy.order is PrefillOrder.MIXED, chunked=policy.chunking is Chunking.CHUNKED,
        reserve=policy.admission is Admission.RESERVE or growing == 0.0, poll_steps=policy.poll_steps)


def _shares(limits: ServingLimits) -> list[tuple[float, float]]:
    if limits.cache_windows is None or limits.cache_shares is None:
        return [(math.inf, 1.0)]
    return [(float(span), float(share)) for span, share in zip(limits.cache_windows, limits.cache_shares, strict=True)]
