"""Compiled configurations: everything about a model on a SKU that no load changes, made once and kept.

A plan, a sweep, a sizing and a simulation all start from a :class:`Configuration`; only the load differs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from math import gcd
from typing import Any, TypeVar

import numpy as np

from planner.core.architecture.model import Model, ModelCard, WeightScheme
from planner.core.architecture.parameters import count_parameters
from planner.core.errors import InvalidLayout
from planner.core.execution.bound import BoundTable, bind
from planner.core.execution.crossover import Crossings, batch_critical, batch_critical_effective, crossings
from planner.core.execution.step_table import PlainStepTable, StepTable
from planner.core.execution.tabulate import AttentionFloors, attention_floors, floor_growth, step_table
from planner.core.hardware.chip import Chip
from planner.core.hardware.efficiency.profile import EfficiencyProfile
from planner.core.memory.allocator import BLOCK_TOKENS, PagedPool, paged_pool
from planner.core.memory.budget import Reservation, reservation
from planner.core.memory.cache import CacheFootprint, cache_footprint
from planner.core.memory.era import era_of
from planner.core.memory.fit import CacheRoom, MemoryFit, cache_room
from planner.core.memory.needs import layer_needs
from planner.core.memory.weights import weight_bytes_on_rank
from planner.core.operators.card import lower_card
from planner.core.operators.lower import lower, scheme_for
from planner.core.operators.table import OperatorTable
from planner.core.parallelism import Layout
from planner.core.precision import CacheFormat, cache_format, weight_format
from planner.core.quantities import numeric as num
from planner.core.quantities.arrays import Array, Numeric
from planner.core.serving.policy import POLICIES, SchedulerPolicy, ServingLimits
from planner.services.plan.question import AUTO, Deployment

T = TypeVar("T")
HYBRID_ENGINES = frozenset({"vllm", "generic"})
"""Engines that share one pool of blocks between kinds of layers and count a prompt chunk beside a window; others keep a
pool for each kind, with windows as they decode."""
REFERENCE_CONTEXT = 1024.0
"""Context the kept step tables are built at; a question adds the growth of the attention floor [token]."""


class Memo:
    """A bounded memory of compiled values, least recently used first out."""

    def __init__(self, entries: int) -> None:
        self._entries = entries
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()

    def __contains__(self, key: Hashable) -> bool:
        """Whether a value is kept."""
        return key in self._kept

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The kept value, or a new one."""
        if key in self._kept:
            self._kept.move_to_end(key)
            kept: T = self._kept[key]
            return kept
        value = self._kept[key] = make()
        if len(self._kept) > self._entries:
            self._kept.popitem(last=False)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Who and what a question is about, after names."""

    model_key: Hashable
    """Identity of the model's content, for the memory of compiled configurations."""
    model_id: str
    model: Model | ModelCard
    chip_key: Hashable
    chip: Chip
    profile: EfficiencyProfile | None
    """None under datasheet ceilings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A model lowered for a layout and formats, bound to a chip, with its memory."""

    key: Hashable
    resolved: Resolved
    engine: str
    layout: Layout
    weights: str
    """Name of the block weights' format."""
    kv_cache: str
    scheme: WeightScheme
    table: OperatorTable
    ideal: BoundTable
    bound: BoundTable
    """Under efficiency curves, or the ideal one itself."""
    footprint: CacheFootprint
    paged: PagedPool | None
    """None without any cache."""
    weights_bytes: float
    policy: SchedulerPolicy
    crossings: Crossings
    """Where the batch changes what limits a step, at datasheet ceilings."""
    batch_critical: float
    batch_critical_effective: float
    memo: Memo = field(default_factory=lambda: Memo(64), compare=False)
    """What only some questions need, worked out when first asked for: step tables, reservations, block cuts."""

    @property
    def steps(self) -> StepTable:
        """The step table at the reference context."""
        return self.memo.get("steps", lambda: step_table(self.bound, np.asarray(REFERENCE_CONTEXT)))

    @property
    def plain(self) -> PlainStepTable:
        """The same in plain numbers."""
        return self.memo.get("plain", lambda: self.steps.plain())  # noqa: PLW0108 - steps is made only when needed

    @property
    def floors(self) -> AttentionFloors:
        """Attention floors beside those of the reference context."""
        return self.memo.get("floors", lambda: attention_floors(self.bound, REFERENCE_CONTEXT))

    @property
    def nominal_bytes(self) -> float:
        """s·P, all parameters of the language model at the block weights' size [byte]."""
        return self.memo.get("nominal", lambda: _nominal_bytes(self.resolved.model, self.table.block_format))

    def step_table(self, context: Array) -> StepTable:
        """The step table with attention floors at these contexts, for a grid."""
        grown = floor_growth(self.bound, context, REFERENCE_CONTEXT)
        base = self.steps.base.reshape(-1, *(1,) * grown.ndim)
        return replace(self.steps, base=base + grown)

    def plain_table(self, context: float) -> PlainStepTable:
        """The same in plain numbers, for one point."""
        return self.plain.raised(self.floors.growth(context))

    def fit(self, deployment: Deployment, request_tokens: Numeric) -> MemoryFit:
        """The memory of one replica under a deployment's limits."""
        return self.room(deployment).fit(request_tokens)

    def room(self, deployment: Deployment) -> CacheRoom:
        """What a deployment's limits leave for the cache."""
        return self._kept("room", deployment, self._room)

    def cut(self, deployment: Deployment) -> PagedPool | None:
        """How the engine cuts the KV pool into blocks; None where it keeps a pool for each kind of layer."""
        return self._kept("cut", deployment, self._cut)

    def reserved(self, deployment: Deployment) -> Reservation:
        """What the engine keeps beside weights and cache."""
        return self._kept("reserved", deployment, self._reserved)

    def _kept(self, what: str, deployment: Deployment, make: Callable[[Deployment], T]) -> T:
        """Remembered by what a deployment changes of it; arrays of a sweep are not remembered."""
        sizes = (deployment.max_num_seqs, deployment.max_num_batched_tokens, deployment.max_model_len,
                 deployment.memory_utilization)
        if any(isinstance(size, np.ndarray) for size in sizes):
            return make(deployment)
        key = (what, deployment.engine, deployment.engine_version, *sizes)
        return self.memo.get(key, lambda: make(deployment))

    def _room(self, deployment: Deployment) -> CacheRoom:
        return cache_room(
            self.footprint, self.layout, capacity=self.resolved.chip.memory_bytes,
            utilization=deployment.memory_utilization, weights=self.weights_bytes, reserved=self.reserved(deployment),
            longest=deployment.max_model_len, paged=self.cut(deployment))

    def _cut(self, deployment: Deployment) -> PagedPool | None:
        if self.paged is None or (deployment.engine not in HYBRID_ENGINES and len(self.paged.groups) > 1):
            return None
        if deployment.engine not in HYBRID_ENGINES:
            return self.paged.decoding()
        era = era_of(deployment.engine, deployment.engine_version)
        return replace(self.paged, batched_tokens=deployment.max_num_batched_tokens, state_blocks=era.state_blocks)

    def _reserved(self, deployment: Deployment) -> Reservation:
        kept = reservation(
            era_of(self.engine, deployment.engine_version), self.layout, model=self.resolved.model,
            family=self.resolved.chip.architecture, max_num_seqs=deployment.max_num_seqs,
            batched_tokens=deployment.max_num_batched_tokens, longest=deployment.max_model_len)
        learned = 0.0 if self.resolved.profile is None else self.resolved.profile.extra_reserve
        return replace(kept, other_bytes=kept.other_bytes + learned) if learned else kept

    def limits(self, deployment: Deployment, fit: MemoryFit) -> ServingLimits:
        """Sizes that bound the replica under load; the KV pool is cut as its fit cuts it."""
        kept = self._kept("held", deployment, lambda _: fit.cut.footprint(self.policy.block_tokens))
        unit = kept.bytes_per_token or kept.state_bytes or 1.0
        shares = [c.bytes_per_token / unit for c in kept.classes] or [0.0]
        return ServingLimits(
            kv_capacity_tokens=num.maximum(fit.kv_pool_bytes / unit, 1.0) * self.layout.data,
            max_num_seqs=deployment.max_num_seqs,
            token_budget=deployment.max_num_batched_tokens, data_parallel=float(self.layout.data),
            pipeline_parallel=float(self.layout.pipeline),
            cache_windows=[c.window for c in kept.classes] or [np.inf], cache_shares=shares,
            cache_fixed_tokens=kept.state_bytes / unit, state_places=fit.states * self.layout.data)


class Compiler:
    """Makes configurations and keeps them."""

    def __init__(self, entries: int = 4096) -> None:
        self._configurations = Memo(entries)

    def configuration(self, resolved: Resolved, deployment: Deployment) -> Configuration:
        """The configuration of a deployment whose tensor parallelism is given."""
        profile = None if resolved.profile is None else (resolved.profile.id, resolved.profile.source)
        key = (resolved.model_key, resolved.chip_key, profile, deployment.tensor_parallel or 1,
               deployment.pipeline_parallel, deployment.data_parallel, deployment.expert_parallel, deployment.engine,
               deployment.weights, deployment.kv_cache)
        return self._configurations.get(key, lambda: _compile(key, resolved, deployment))

    def smallest(self, resolved: Resolved, deployment: Deployment, request_tokens: float) -> Configuration:
        """The configuration with the least tensor parallelism that fits, else the widest inside one domain."""
        if deployment.tensor_parallel is not None:
            return self.configuration(resolved, deployment)
        last: Configuration | None = None
        refusal: InvalidLayout | None = None
        for tensor in widths(resolved):
            expert = gcd(deployment.expert_parallel, tensor * deployment.data_parallel)
            if expert != deployment.expert_parallel:
                continue
            try:
                candidate = self.configuration(resolved, replace(deployment, tensor_parallel=tensor))
            except InvalidLayout as error:
                refusal = error
                continue
            last = candidate
            if candidate.fit(deployment, request_tokens).fits:
                break
        if last is None:
            raise refusal or InvalidLayout(
                f"No tensor_parallel carries expert_parallel={deployment.expert_parallel}.",
                pointer="/deployment/expert_parallel")
        return last


def widths(resolved: Resolved) -> tuple[int, ...]:
    """Tensor-parallel sizes worth trying: powers of two inside the scale-up domain, one where there is no link."""
    chip = resolved.chip
    domain = max(chip.scale_up.domain if chip.scale_up else 1, chip.gpus_per_node if chip.host else 1)
    return tuple(2**n for n in range(7) if 2**n <= domain) or (1,)


def _compile(key: Hashable, resolved: Resolved, deployment: Deployment) -> Configuration:
    model, chip = resolved.model, resolved.chip
    layout = Layout(tensor=deployment.tensor_parallel or 1, pipeline=deployment.pipeline_parallel,
                    data=deployment.data_parallel, expert=deployment.expert_parallel)
    declared = None if isinstance(model, ModelCard) else model.cache_format
    cache = cache_format((declared or "bf16") if deployment.kv_cache == AUTO else deployment.kv_cache)
    if isinstance(model, ModelCard):
        fmt = weight_format("bf16" if deployment.weights == AUTO else deployment.weights)
        scheme = WeightScheme(default=fmt.name)
        table = lower_card(model, layout=layout, weights=fmt, cache=cache)
    else:
        scheme = scheme_for(model, deployment.weights)
        table = lower(model, layout=layout, scheme=scheme, cache=cache)
    ideal = bind(table, chip)
    bound = ideal if resolved.profile is None else bind(table, chip, resolved.profile)
    return Configuration(
        key=key, resolved=resolved, engine=deployment.engine, layout=layout, weights=table.block_format,
        kv_cache=cache.name, scheme=scheme, table=table, ideal=ideal, bound=bound,
        footprint=cache_footprint(model, layout, cache), paged=_paged(model, layout, cache, deployment.engine),
        weights_bytes=weight_bytes_on_rank(table, model, scheme),
        crossings=crossings(ideal), policy=_policy(deployment.engine, resolved.profile),
        batch_critical=batch_critical(ideal), batch_critical_effective=batch_critical_effective(bound))


def _nominal_bytes(model: Model | ModelCard, weights: str) -> float:
    parameters = model.params if isinstance(model, ModelCard) else float(count_parameters(model).total)
    return parameters * weight_format(weights).bytes_per_element


def _paged(model: Model | ModelCard, layout: Layout, cache: CacheFormat, engine: str) -> PagedPool | None:
    needs = layer_needs(model, layout, cache)
    return paged_pool(needs, block_tokens=BLOCK_TOKENS[engine], batched_tokens=0.0) if needs else None


def _policy(engine: str, profile: EfficiencyProfile | None) -> SchedulerPolicy:
    policy = POLICIES[engine]
    if profile is None:
        return replace(policy, request_latency_s=0.0)
    return replace(policy, request_latency_s=profile.serving.ingest, wave_coefficient=profile.serving.wave)
