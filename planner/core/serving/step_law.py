"""One engine step as the fixed points see it: decode time, lumps of prompt tokens, and what a prompt costs in them."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.core.execution.step_table import Steps
from planner.core.quantities import numeric as num
from planner.core.quantities.arrays import require_positive
from planner.core.quantities.numeric import Number
from planner.core.serving.lengths import Moments, RequestLengths, mean_clipped, moments
from planner.core.serving.policy import Chunking, PrefillOrder, SchedulerPolicy, ServingLimits

TINY = 1e-12
"""Keeps quotients of vanishing loads finite [any unit]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLaw:
    """A step table bound to a workload and a scheduler; one attention group (rank and micro-batch)."""

    table: Steps
    policy: SchedulerPolicy
    lengths: Moments
    per_sequence: Number
    """Time a decoding sequence adds beyond its tokens: Σ_w k_w·E[min(c, w)] + c_R [s]."""
    decode_steps: Number
    """Decode steps of a request, (O - 1)/tokens per step [1]."""
    query_tokens: Number
    draft_time: Number
    budget: Number
    """Tokens of a step [token]."""
    groups: Number
    """Attention groups the load spreads over, data ranks x micro-batches: they wait for one another at every step,
    data ranks in the expert exchange, micro-batches in the pipeline, which nothing overtakes [1]."""
    stages: Number
    """Pipeline stages, hence micro-batches that share one rank's sequence limit [1]."""
    mixed: bool = field(init=False)
    """Whether prompt tokens share a step with decodes."""
    whole: bool = field(init=False)
    """Whether prompts are never split."""
    pair_time: Number = field(init=False)
    """Attention of a prompt token to the keys before it [s/token]."""
    prompt_spread: Number = field(init=False)
    """E[u²]/E[u]² [1]."""
    answering: Number = field(init=False)
    """Decode steps of a request, at least one [1]."""

    def __post_init__(self) -> None:
        """Work out what no load changes."""
        object.__setattr__(self, "mixed", self.policy.order is PrefillOrder.MIXED)
        object.__setattr__(self, "whole", self.policy.chunking is Chunking.WHOLE)
        object.__setattr__(self, "pair_time", self.table.per_pair * self.lengths.pairs_per_token)
        object.__setattr__(self, "prompt_spread", self.lengths.prompt_square / self.lengths.prompt**2)
        object.__setattr__(self, "answering", num.maximum(self.decode_steps, 1.0))

    def decode(self, batch: Number) -> tuple[Number, Number, Number]:
        """Time of a pure decode step, its slope in the batch and its base part.

        Parameters
        ----------
        batch : ndarray
            Decoding sequences of the group [1].

        Returns
        -------
        tuple of ndarray
            t_d [s], dt_d/dB [s], base(q·B) [s].
        """
        base, slope = self.table.base_on_grid(self.query_tokens * batch)
        return (base + self.per_sequence * batch + self.draft_time, slope * self.query_tokens + self.per_sequence,
                base)

    def per_token(self, tokens: Number, batch: Number, base: Number) -> Number:
        """Time a prompt token adds when ``tokens`` of them share a step.

        Parameters
        ----------
        tokens : ndarray
            Prompt tokens in the step [token].
        batch : ndarray
            Decoding sequences of the group [1].
        base : ndarray
            base(q·B) [s].

        Returns
        -------
        ndarray
            Against the decode step it is mixed into, or in full for a scheduler that runs prompts alone [s/token].
        """
        if self.mixed:
            step, _ = self.table.base_on_grid(self.query_tokens * batch + tokens)
            return (step - base + self.table.prefill_extra) / tokens + self.pair_time
        step, _ = self.table.base_on_grid(tokens)
        return (step + self.table.prefill_extra) / tokens + self.pair_time

    def room(self, batch: Number) -> Number:
        """Prompt tokens a step can take beside the decodes.

        Parameters
        ----------
        batch : ndarray
            Decoding sequences of the group [1].

        Returns
        -------
        ndarray
            At least one; a scheduler that keeps prompts whole takes the longest of them [token].
        """
        free = num.maximum(self.budget - self.query_tokens * batch if self.mixed else self.budget, 1.0)
        return num.maximum(free, self.lengths.prompt) if self.whole else free


def bind(table: Steps, lengths: RequestLengths, policy: SchedulerPolicy, limits: ServingLimits) -> StepLaw:
    """A step law from a table, a workload and a scheduler.

    Parameters
    ----------
    table : StepTable
        Per attention group; its grid broadcasts against the workload's.
    lengths : RequestLengths
        The workload.
    policy : SchedulerPolicy
        The engine.
    limits : ServingLimits
        Sizes of the replica.

    Returns
    -------
    StepLaw
        Arrays of the common grid.

    Raises
    ------
    InvalidQuantity
        A size that is not above zero.
    """
    law = moments(lengths)
    per_sequence = table.per_request
    for window, slope in zip(table.windows, table.per_context_token, strict=True):
        per_sequence = per_sequence + slope * mean_clipped(law.context, law.half_span, float(window))
    stages = require_positive("pipeline_parallel", limits.pipeline_parallel)
    return StepLaw(
        table=table, policy=policy, lengths=law, per_sequence=per_sequence,
        decode_steps=(law.output - 1.0) / require_positive("tokens_per_step", limits.tokens_per_step),
        query_tokens=require_positive("query_tokens", limits.query_tokens),
        draft_time=limits.draft_time_s,
        budget=require_positive("token_budget", limits.token_budget),
        groups=require_positive("data_parallel", limits.data_parallel) * stages, stages=stages)


def sequence_tokens(law: StepLaw, limits: ServingLimits) -> Number:
    """KV tokens one running sequence holds: on the mean of its life, or reserved to its end.

    Parameters
    ----------
    law : StepLaw
        The bound step law.
    limits : ServingLimits
        Cache classes and fixed state.

    Returns
    -------
    ndarray
        With half a block of waste [token].
    """
    lengths = law.lengths
    reserve = law.policy.admission.value == "reserve"
    mean = num.maximum(lengths.full_prompt + lengths.output, lengths.context) if reserve else lengths.context
    spread = 0.0 * mean if reserve else lengths.half_span
    windows, shares = limits.cache_windows, limits.cache_shares
    if windows is None or shares is None:
        held = mean
    else:
        held = sum((share * mean_clipped(mean, spread, float(window))
                    for window, share in zip(windows, shares, strict=True)), start=0.0)
    return held + limits.cache_fixed_tokens + law.policy.block_tokens / 2.0


def running_limit(law: StepLaw, limits: ServingLimits) -> tuple[Number, Number]:
    """Sequences a group can run at once, by cache and by the sequence limit.

    Parameters
    ----------
    law : StepLaw
        The bound step law.
    limits : ServingLimits
        KV tokens of the replica and sequences per rank.

    Returns
    -------
    tuple of ndarray
        By KV capacity, by max_num_seqs [1]; at least one, since a plan refuses what cannot hold a request.
    """
    held = require_positive("kv_capacity_tokens", limits.kv_capacity_tokens) / sequence_tokens(law, limits)
    by_cache = num.minimum(held, limits.state_places) / law.groups
    by_limit = require_positive("max_num_seqs", limits.max_num_seqs) / law.stages
    return num.maximum(by_cache, 1.0), num.maximum(by_limit, 1.0)
