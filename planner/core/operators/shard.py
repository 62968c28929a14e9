"""How a matrix or a cache divides over tensor-parallel ranks, replication counted.

References
----------
Shoeybi et al., Megatron-LM, arXiv 1909.08053, §3 (column- and row-parallel layers); vLLM QKVParallelLinear
(key-value heads repeat when there are more ranks than heads).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

from planner.core.architecture.parts import Core, KvCache, Matrix, Shard
from planner.core.errors import InvalidLayout


def pieces_on_rank(units: int, ranks: int) -> int:
    """Pieces of a dimension that one rank holds: at least one, rounded up.

    Parameters
    ----------
    units : int
        Indivisible pieces in all [1].
    ranks : int
        Tensor-parallel size [1].

    Returns
    -------
    int
        ceil(units / ranks), at least 1; with more ranks than pieces every piece is repeated.
    """
    return max(1, ceil(units / ranks))


def inputs_on_rank(matrix: Matrix, ranks: int) -> float:
    """Input width of a matrix on one rank.

    Parameters
    ----------
    matrix : Matrix
        The whole matrix.
    ranks : int
        Tensor-parallel size [1].

    Returns
    -------
    float
        Elements [1].
    """
    if matrix.shard is Shard.ROW:
        return matrix.inputs / matrix.units * pieces_on_rank(matrix.units, ranks)
    return float(matrix.inputs)


def outputs_on_rank(matrix: Matrix, ranks: int) -> float:
    """Output width of a matrix on one rank.

    Parameters
    ----------
    matrix : Matrix
        The whole matrix.
    ranks : int
        Tensor-parallel size [1].

    Returns
    -------
    float
        Elements [1].
    """
    if matrix.shard is Shard.COLUMN:
        return matrix.outputs / matrix.units * pieces_on_rank(matrix.units, ranks)
    return float(matrix.outputs)


def cache_heads_on_rank(cache: KvCache, ranks: int) -> int:
    """Cache heads one rank stores; a single latent repeats on every rank.

    Parameters
    ----------
    cache : KvCache
        The layer's cache.
    ranks : int
        Tensor-parallel size [1].

    Returns
    -------
    int
        Heads [1].
    """
    return pieces_on_rank(cache.heads, ranks)


def require_divisible(cores: Iterable[Core], ranks: int) -> None:
    """Refuse a tensor-parallel size that cuts a head.

    Parameters
    ----------
    cores : iterable of Core
        Every attention core of the model.
    ranks : int
        Tensor-parallel size [1].

    Raises
    ------
    InvalidLayout
        Query heads do not divide, or key-value heads neither divide nor repeat evenly.
    """
    for core in cores:
        if core.kind == "index":
            continue  # indexers run replicated
        if core.heads % ranks:
            good = [str(n) for n in range(1, core.heads + 1) if core.heads % n == 0 and n <= 64]
            raise InvalidLayout(f"tensor_parallel={ranks} does not divide the {core.heads} attention heads.",
                                hint="It could be " + ", ".join(good) + ".", pointer="/deployment/tensor_parallel")
        kv = 1 if core.cache is None else core.cache.heads
        if kv % ranks and ranks % kv:
            raise InvalidLayout(f"tensor_parallel={ranks} neither divides nor is a multiple of the {kv} key-value "
                                "heads.", hint=f"Use a divisor or a multiple of {kv}.",
                                pointer="/deployment/tensor_parallel")
