"""The four things every layer part describes itself with: matrices, caches, states and cores.

Everything downstream reads only these: parameters are the sum of matrices and vectors, GEMM operators are the matrices
times tokens, memory is caches and states, attention operators are the cores. A new mixer is one file that lists them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Module(StrEnum):
    """The kind of module a tensor belongs to; quantisation schemes choose a format per kind."""

    ATTENTION = "attention"
    MLP = "mlp"
    EXPERTS = "experts"
    SHARED_EXPERTS = "shared_experts"
    ROUTER = "router"
    EMBEDDING = "embedding"
    HEAD = "head"
    OTHER = "other"


class Shard(StrEnum):
    """How tensor parallelism cuts a matrix."""

    COLUMN = "column"
    ROW = "row"
    REPLICATED = "replicated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """One weight matrix of ``inputs × outputs`` elements, applied to every token that reaches it."""

    name: str
    module: Module
    inputs: int
    outputs: int
    shard: Shard
    units: int = 1
    """Indivisible pieces along the cut dimension (heads); a rank holds ceil(units / tp) of them, at least one."""
    kernel: str = ""
    """Matrices of a layer with the same kernel name and inputs run as one GEMM (q, k, v → qkv)."""
    biases: int = 0
    """Bias elements kept beside it."""
    always_16bit: bool = False
    """Engines keep it in 16 bit whatever the checkpoint's format (absorbed MLA products, heads)."""

    @property
    def elements(self) -> int:
        """Elements of the whole matrix, without its bias [1]."""
        return self.inputs * self.outputs


@dataclass(frozen=True, slots=True, kw_only=True)
class KvCache:
    """What one layer keeps per token of context."""

    heads: int
    """Pieces that tensor parallelism can spread; 1 for a latent, which every rank then repeats."""
    elements_per_head: float
    """K and V elements per head and stored token, in the cache format [1]."""
    window: int | None = None
    """Tokens kept at most; None keeps all."""
    stride: float = 1.0
    """Context tokens per stored entry (compressed caches)."""
    fixed_bytes_per_token: float = 0.0
    """Bytes per stored entry whatever the cache format (fp8 index keys with scales) [byte]."""
    stored: bool = True
    """False where the layer reads the cache of another layer."""
    fp8_bytes_per_entry: float | None = None
    """Per head and stored entry of an 8-bit cache that engines pack (rotary part in 16 bit, scales) [byte]."""

    def entry_bytes(self, bytes_per_element: float) -> float:
        """Bytes of one head's stored entry in a cache format.

        Parameters
        ----------
        bytes_per_element : float
            Of the cache format, scales included [byte].

        Returns
        -------
        float
            Bytes per head and stored entry, format-independent bytes included [byte].

        Notes
        -----
        A packed 8-bit entry replaces elements times one byte.
        """
        packed = self.fp8_bytes_per_entry is not None and bytes_per_element == 1.0
        elements = self.fp8_bytes_per_entry if packed else self.elements_per_head * bytes_per_element
        return float(elements or 0.0) + self.fixed_bytes_per_token


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What one recurrent layer keeps per sequence, whatever the context; a decode step reads and writes it."""

    fp32_elements: int
    """Elements kept in fp32 [1]."""
    model_elements: int
    """Elements kept in the activation dtype, such as convolution tails [1]."""
    units: int = 1
    """Pieces tensor parallelism can spread (value heads)."""
    touched: float = 1.0
    """Share of it that a decode step reads and writes; less than 1 for buffers filled token by token [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """What a mixer does with cached tokens besides its matrices, per query token."""

    name: str
    kind: str
    """Efficiency class: gqa | mla | sparse | index | linear | ssm."""
    heads: int
    """Query heads spread by tensor parallelism."""
    decode_flop: float
    """FLOP per head and attended context entry, one query token."""
    prefill_flop: float
    """FLOP per head and (query, key) pair of a prompt."""
    io_elements: float
    """Query and output elements per head and token [1]."""
    cache: KvCache | None = None
    """The cache it reads."""
    attends: int | None = None
    """Entries it reads at most per query (window, top-k); None reads all stored."""
    state: State | None = None
    """The recurrent state it reads and writes."""
    token_flop: float = 0.0
    """FLOP per head and token that do not depend on context (recurrences)."""
    block: int | None = None
    """Chunk length of chunked-local attention: a query sees on average half a block less than ``attends``."""
    prefill_token_flop: float | None = None
    """FLOP per head and prompt token where the chunked form of a recurrence differs; None is ``token_flop``."""
