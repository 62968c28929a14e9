"""Lowering the five-field card: weights, KV and nothing that a card cannot know.

A card names no widths, so its weights are one square product per layer whose work and bytes are exact in sum; attention
FLOP and activation traffic count as zero and the table says it is coarse.
"""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from planner.core.architecture.model import ModelCard
from planner.core.architecture.parts import KvCache
from planner.core.operators.attention import Cores
from planner.core.operators.builder import Rows
from planner.core.operators.collective import Collectives
from planner.core.operators.elementwise import Passes
from planner.core.operators.matmul import Matmuls
from planner.core.operators.mixture import Mixtures
from planner.core.operators.recurrent import States
from planner.core.operators.shard import cache_heads_on_rank
from planner.core.operators.table import OperatorTable
from planner.core.parallelism import Layout
from planner.core.precision import CacheFormat, WeightFormat


def lower_card(card: ModelCard, *, layout: Layout, weights: WeightFormat, cache: CacheFormat) -> OperatorTable:
    """The operator table of one rank of a model known only by its card.

    Parameters
    ----------
    card : ModelCard
        Parameters, layers, KV heads, head width, vocabulary.
    layout : Layout
        The parallel layout of one replica.
    weights : WeightFormat
        Format of all weights.
    cache : CacheFormat
        KV-cache format.

    Returns
    -------
    OperatorTable
        Rows with arrays of shape (op,); ``coarse`` is set.

    Notes
    -----
    With ``active_params`` the weights are a mixture of params/active equal experts, one per token: a batch reads the
    expected union of its tokens' active sets, exact at one token and for large batches.
    """
    matmuls, mixtures, cores = Rows(), Rows(), Rows()
    ranks = layout.tensor
    active = card.active_params or card.params
    per_layer = active / card.layers
    width = sqrt(per_layer / ranks)
    if active < card.params:
        group = ranks * layout.data
        inner = per_layer / group / width
        mixtures.add(float(card.layers), name="weights", experts=card.params / active, experts_per_token=1.0,
                     groups=1.0, hidden=width, intermediate=inner, matrices=1.0, activation_bytes=0.0,
                     expert_bytes=per_layer / group * weights.bytes_per_element, format=weights.name)
    else:
        matmuls.add(float(card.layers), name="weights", inputs=width, outputs=width,
                    weight_bytes=per_layer / ranks * weights.bytes_per_element, activation_bytes=0.0, output_bytes=0.0,
                    is_head=0.0, format=weights.name)
    heads = cache_heads_on_rank(KvCache(heads=card.kv_heads, elements_per_head=2.0 * card.head_dim), ranks)
    cores.add(float(card.layers), name="attention", kind="gqa", heads=float(heads), decode_flop=0.0, prefill_flop=0.0,
              span=inf, stride=1.0, entry_bytes=heads * 2.0 * card.head_dim * cache.bytes_per_element, io_bytes=0.0)
    return OperatorTable(
        matmuls=matmuls.build(Matmuls), mixtures=mixtures.build(Mixtures), cores=cores.build(Cores),
        states=Rows().build(States), passes=Rows().build(Passes), collectives=Rows().build(Collectives),
        layers=float(card.layers), layout=layout, block_format=weights.name, cache_format=cache.name, hidden=width,
        vocabulary_on_rank=np.asarray(card.vocabulary / ranks), expert_ratio=card.params / active,
        kind_layers={"gqa": float(card.layers)}, coarse=True)
