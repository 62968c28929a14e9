"""The operator table behind the layer budget: a one-layer model lowered by the planner's own code.

Element-wise passes that engines fuse away are spelled out as further rows.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from planner.core.architecture.attention import Attention
from planner.core.architecture.feedforward import DenseFeedForward
from planner.core.architecture.layer import Layer
from planner.core.architecture.model import Model
from planner.core.execution.bound import BoundTable, bind
from planner.core.hardware.chip import Chip
from planner.core.hardware.efficiency.profile import EfficiencyProfile
from planner.core.operators.attention import ACTIVATION_BYTES
from planner.core.operators.elementwise import Passes
from planner.core.operators.lower import lower, scheme_for
from planner.core.operators.matmul import Matmuls
from planner.core.parallelism import Layout
from planner.core.precision import cache_format

HEAD_DIM = 128
"""Width of a head in the texts' layer [1]."""
WIDENING = 3.5
"""d_ff over d_model, as in Llama-3 (14336/4096) [1]."""
ROPE_FLOP, ACTIVATION_FLOP, RESIDUAL_FLOP = 3.0, 6.0, 1.0
"""Per element: two multiplies and an add; sigmoid, two multiplies; one add [FLOP]."""

Group = TypeVar("Group", Matmuls, Passes)


def layer_model(d_model: int, kv_heads: int) -> Model:
    """The one-layer model whose operator table the budget shows.

    Parameters
    ----------
    d_model : int
        Hidden width, a multiple of 128 [1].
    kv_heads : int
        Key-value heads [1].

    Returns
    -------
    Model
        d/128 heads of width 128, a gated MLP of 3.5·d, two norms.
    """
    attention = Attention(hidden=d_model, heads=d_model // HEAD_DIM, kv_heads=kv_heads, head_dim=HEAD_DIM)
    mlp = DenseFeedForward(hidden=d_model, intermediate=int(WIDENING * d_model))
    layer = Layer(mixer=attention, feedforwards=(mlp,), norm_parameters=2 * d_model)
    return Model(id="layer-lab", hidden=d_model, vocabulary=1, layers=((1, layer),), tied_embeddings=True)


def _kept(group: Group, keep: list[bool]) -> Group:
    values: dict[str, Any] = {}
    for field in (field for field in fields(group) if field.init):
        value = getattr(group, field.name)
        values[field.name] = (value[np.array(keep)] if isinstance(value, np.ndarray)
                              else tuple(v for v, k in zip(value, keep, strict=True) if k))
    return type(group)(**values)


def _spelled_out(d_model: int, kv_heads: int) -> tuple[tuple[str, float, float, float], ...]:
    """Passes that engines fuse: name, count, elements read and written per token, FLOP per token."""
    rotated = d_model + kv_heads * HEAD_DIM
    inner = WIDENING * d_model
    return (("rope", 1.0, 2.0 * rotated, ROPE_FLOP * rotated),
            ("activation", 1.0, 3.0 * inner, ACTIVATION_FLOP * inner),
            ("residual", 2.0, 3.0 * d_model, RESIDUAL_FLOP * d_model))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _ChipKey:
    """A chip and profile hashed by identity, so that a process lowers each shape once."""

    chip: Chip
    profile: EfficiencyProfile | None

    def __hash__(self) -> int:
        return hash((id(self.chip), id(self.profile)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ChipKey) and other.chip is self.chip and other.profile is self.profile


@lru_cache(maxsize=256)
def _bound(chip_key: _ChipKey, d_model: int, kv_heads: int, weights: str, cache: str) -> BoundTable:
    model = layer_model(d_model, kv_heads)
    table = lower(model, layout=Layout(), scheme=scheme_for(model, weights), cache=cache_format(cache))
    extra = _spelled_out(d_model, kv_heads)
    passes = _kept(table.passes, [name != "embedding" for name in table.passes.names])
    grown = Passes(
        names=(*passes.names, *(row[0] for row in extra)), count=np.append(passes.count, [row[1] for row in extra]),
        bytes_per_token=np.append(passes.bytes_per_token, [row[2] * ACTIVATION_BYTES for row in extra]),
        flop_per_token=np.append(passes.flop_per_token, [row[3] for row in extra]))
    own = replace(table, passes=grown,
                                 matmuls=_kept(table.matmuls, [not head for head in table.matmuls.is_head]))
    return bind(own, chip_key.chip, chip_key.profile)


def bound_layer(chip: Chip, profile: EfficiencyProfile | None, *, d_model: int, kv_heads: int, weights: str, cache: str
                ) -> BoundTable:
    """The layer's operators under a chip's ceilings, without embedding and head.

    Parameters
    ----------
    chip : Chip
        The SKU.
    profile : EfficiencyProfile or None
        Measured efficiencies; None means datasheet ceilings.
    d_model : int
        Hidden width, a multiple of 128 [1].
    kv_heads : int
        Key-value heads [1].
    weights : str
        Weight format.
    cache : str
        KV-cache format.

    Returns
    -------
    BoundTable
        Rows of one layer; built once per shape and chip in a process.
    """
    return _bound(_ChipKey(chip=chip, profile=profile), d_model, kv_heads, weights, cache)
