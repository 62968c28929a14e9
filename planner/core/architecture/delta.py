"""Linear attention with a matrix state: gated DeltaNet, Kimi delta attention and lightning attention.

References
----------
Yang et al., Gated Delta Networks, arXiv 2412.06464, eq. 10 and §3.3 (chunked form); Kimi Linear, arXiv 2510.26692, §3;
Qin et al., Lightning Attention-2, arXiv 2401.04658; MiniMax-01, arXiv 2501.08313, §2.2.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.architecture.parts import Core, KvCache, Matrix, Module, Shard, State

_DELTA_CHUNK = 64  # tokens a delta-rule prefill kernel solves at once (arXiv 2412.06464 §3.3, reference kernels)
_LIGHTNING_BLOCK = 256  # tokens a lightning-attention prefill kernel takes at once (arXiv 2401.04658, MiniMax-01)


def _matrix(name: str, inputs: int, outputs: int, shard: Shard, units: int, kernel: str) -> Matrix:
    return Matrix(name=name, module=Module.ATTENTION, inputs=inputs, outputs=outputs, shard=shard, units=units,
                  kernel=kernel)


def _delta_core(heads: int, key_dim: int, value_dim: int, state: State, io_elements: float) -> Core:
    """The delta rule: decay (1), kᵀS (2), rank-1 update (2), qᵀS (2) per element; prefill by chunks."""
    elements = float(key_dim * value_dim)
    chunked = 2.0 * _DELTA_CHUNK * (3 * key_dim + 2 * value_dim) + 6.0 * elements
    return Core(name="linear_attention", kind="linear", heads=heads, decode_flop=0.0, prefill_flop=0.0,
                io_elements=io_elements, state=state, token_flop=7.0 * elements, prefill_token_flop=chunked)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedDelta:
    """Gated DeltaNet: scalar decay per value head, keys shared by groups of value heads."""

    hidden: int
    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    kernel: int
    """Taps of the short convolution over q, k and v."""
    fp32_state: bool = True

    @property
    def conv_channels(self) -> int:
        """Channels of the short convolution [1]."""
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim

    def matrices(self) -> tuple[Matrix, ...]:
        """One kernel for q, k, v and gate, one for the two scalars per head, and the output."""
        key, value = self.key_heads * self.key_dim, self.value_heads * self.value_dim
        return (
            _matrix("qk", self.hidden, 2 * key, Shard.COLUMN, self.key_heads, "in_proj"),
            _matrix("vz", self.hidden, 2 * value, Shard.COLUMN, self.value_heads, "in_proj"),
            _matrix("ba", self.hidden, 2 * self.value_heads, Shard.COLUMN, self.value_heads, "in_proj_ba"),
            _matrix("o", value, self.hidden, Shard.ROW, self.value_heads, "o"),
        )

    def vectors(self) -> int:
        """Convolution, decay and dt bias per head, and the gated norm [1]."""
        return self.conv_channels * self.kernel + 2 * self.value_heads + self.value_dim

    def caches(self) -> tuple[KvCache, ...]:
        """None: nothing grows with context."""
        return ()

    def state(self) -> State:
        """One matrix per value head and the convolution's tail."""
        recurrent = self.value_heads * self.key_dim * self.value_dim
        tail = self.conv_channels * (self.kernel - 1)
        return State(fp32_elements=recurrent if self.fp32_state else 0,
                     model_elements=tail if self.fp32_state else tail + recurrent, units=self.value_heads)

    def cores(self) -> tuple[Core, ...]:
        """The gated delta rule."""
        keys = 2.0 * self.key_heads * self.key_dim / self.value_heads
        return (_delta_core(self.value_heads, self.key_dim, self.value_dim, self.state(),
                            keys + 3.0 * self.value_dim),)

    @property
    def label(self) -> str:
        """The kind as people call it."""
        return "gated DeltaNet"


@dataclass(frozen=True, slots=True, kw_only=True)
class KimiDelta:
    """Kimi delta attention: a decay per key channel, from a low-rank projection."""

    hidden: int
    heads: int
    head_dim: int
    kernel: int
    full_rank_gate: bool = False
    """The output gate is one matrix instead of a low-rank pair."""
    fp32_state: bool = True

    def matrices(self) -> tuple[Matrix, ...]:
        """q, k, v; the low-rank decay; beta; the output gate; the output."""
        width = self.heads * self.head_dim
        rows = [_matrix(name, self.hidden, width, Shard.COLUMN, self.heads, "qkv") for name in ("q", "k", "v")]
        rows += [_matrix("decay_a", self.hidden, self.head_dim, Shard.REPLICATED, 1, "gates_a"),
                 _matrix("decay_b", self.head_dim, width, Shard.COLUMN, self.heads, "decay_b"),
                 _matrix("beta", self.hidden, self.heads, Shard.COLUMN, self.heads, "beta")]
        if self.full_rank_gate:
            rows.append(_matrix("gate", self.hidden, width, Shard.COLUMN, self.heads, "gate"))
        else:
            rows += [_matrix("gate_a", self.hidden, self.head_dim, Shard.REPLICATED, 1, "gates_a"),
                     _matrix("gate_b", self.head_dim, width, Shard.COLUMN, self.heads, "gate_b")]
        return (*rows, _matrix("o", width, self.hidden, Shard.ROW, self.heads, "o"))

    def vectors(self) -> int:
        """Convolutions, dt bias per channel, decay per head and the gated norm [1]."""
        width = self.heads * self.head_dim
        return 3 * width * self.kernel + width + self.heads + self.head_dim

    def caches(self) -> tuple[KvCache, ...]:
        """None: nothing grows with context."""
        return ()

    def state(self) -> State:
        """One square matrix per head and the convolutions' tails."""
        recurrent = self.heads * self.head_dim**2
        tail = 3 * self.heads * self.head_dim * (self.kernel - 1)
        return State(fp32_elements=recurrent if self.fp32_state else 0,
                     model_elements=tail if self.fp32_state else tail + recurrent, units=self.heads)

    def cores(self) -> tuple[Core, ...]:
        """The delta rule with a decay per channel."""
        return (_delta_core(self.heads, self.head_dim, self.head_dim, self.state(), 6.0 * self.head_dim),)

    @property
    def label(self) -> str:
        """The kind as people call it."""
        return "Kimi delta attention"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lightning:
    """Lightning attention: linear attention with a fixed decay per head, a norm and an output gate."""

    hidden: int
    heads: int
    head_dim: int
    fp32_state: bool = True

    def matrices(self) -> tuple[Matrix, ...]:
        """q, k, v; the output gate; the output."""
        width = self.heads * self.head_dim
        return (_matrix("qkv", self.hidden, 3 * width, Shard.COLUMN, self.heads, "qkv"),
                _matrix("gate", self.hidden, width, Shard.COLUMN, self.heads, "gate"),
                _matrix("o", width, self.hidden, Shard.ROW, self.heads, "o"))

    def vectors(self) -> int:
        """The norm over all heads [1]."""
        return self.heads * self.head_dim

    def caches(self) -> tuple[KvCache, ...]:
        """None: nothing grows with context."""
        return ()

    def state(self) -> State:
        """One square matrix per head."""
        recurrent = self.heads * self.head_dim**2
        return State(fp32_elements=recurrent if self.fp32_state else 0,
                     model_elements=0 if self.fp32_state else recurrent, units=self.heads)

    def cores(self) -> tuple[Core, ...]:
        """Decay (1), kᵀv (2) and qᵀS (2) per state element; prefill by blocks."""
        elements = float(self.head_dim**2)
        return (Core(name="linear_attention", kind="linear", heads=self.heads, decode_flop=0.0, prefill_flop=0.0,
                     io_elements=4.0 * self.head_dim, state=self.state(), token_flop=5.0 * elements,
                     prefill_token_flop=4.0 * _LIGHTNING_BLOCK * self.head_dim + 4.0 * elements),)

    @property
    def label(self) -> str:
        """The kind as people call it."""
        return "lightning attention"
