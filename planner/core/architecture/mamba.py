"""Selective state-space layers: Mamba (a diagonal state per channel) and Mamba-2 (a scalar decay per head).

References
----------
Gu & Dao, Mamba, arXiv 2312.00752, §3 and algorithm 2; Dao & Gu, Transformers are SSMs, arXiv 2405.21060, §6 (chunked
form, whose work per token is linear in the chunk length) and listing 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.architecture.parts import Core, KvCache, Matrix, Module, Shard, State

_SSD_CHUNK = 256  # tokens a Mamba-2 prefill kernel scans at once (reference kernels, arXiv 2405.21060 §6)


def _matrix(name: str, inputs: int, outputs: int, shard: Shard, units: int, kernel: str, biases: int = 0) -> Matrix:
    return Matrix(name=name, module=Module.ATTENTION, inputs=inputs, outputs=outputs, shard=shard, units=units,
                  kernel=kernel, biases=biases)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba:
    """Mamba: ``inner`` channels, each with ``state`` elements."""

    hidden: int
    inner: int
    state_size: int
    kernel: int
    """Taps of the short convolution; a sequence keeps one fewer."""
    time_rank: int
    conv_bias: bool = True
    projection_bias: bool = False
    norm_parameters: int = 0
    """Weights of norms on dt, B and C."""
    fp32_state: bool = False

    def matrices(self) -> tuple[Matrix, ...]:
        """Input (x and gate), the selection projections and the output."""
        bias = self.inner if self.projection_bias else 0
        return (
            _matrix("x", self.hidden, self.inner, Shard.COLUMN, self.inner, "in_proj", bias),
            _matrix("z", self.hidden, self.inner, Shard.COLUMN, self.inner, "in_proj", bias),
            _matrix("select", self.inner, self.time_rank + 2 * self.state_size, Shard.ROW, self.inner, "x_proj"),
            _matrix("dt", self.time_rank, self.inner, Shard.COLUMN, self.inner, "dt_proj", self.inner),
            _matrix("o", self.inner, self.hidden, Shard.ROW, self.inner, "o",
                    self.hidden if self.projection_bias else 0),
        )

    def vectors(self) -> int:
        """Convolution, A, D and norms [1]."""
        conv = self.inner * self.kernel + (self.inner if self.conv_bias else 0)
        return conv + self.inner * self.state_size + self.inner + self.norm_parameters

    def caches(self) -> tuple[KvCache, ...]:
        """None: nothing grows with context."""
        return ()

    def state(self) -> State | None:
        """The recurrent state and the convolution's tail."""
        recurrent = self.inner * self.state_size
        tail = self.inner * (self.kernel - 1)
        return State(fp32_elements=recurrent if self.fp32_state else 0,
                     model_elements=tail if self.fp32_state else tail + recurrent, units=self.inner)

    def cores(self) -> tuple[Core, ...]:
        """Per state element: discretise (2), input (1), decay and add (2), read out (2) FLOP."""
        return (Core(name="scan", kind="ssm", heads=self.inner, decode_flop=0.0, prefill_flop=0.0, io_elements=3.0,
                     state=self.state(), token_flop=7.0 * self.state_size),)

    @property
    def label(self) -> str:
        """The kind as people call it."""
        return "Mamba"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba2:
    """Mamba-2: heads with a ``head_dim × state`` matrix each, B and C shared by groups of heads."""

    hidden: int
    heads: int
    head_dim: int
    state_size: int
    groups: int
    kernel: int
    inputs: int | None = None
    """Width of the input where it is not ``hidden``."""
    conv_bias: bool = True
    projection_bias: bool = False
    """Biases on the input projection."""
    out_bias: bool = False
    norm: bool = True
    """A gated norm as wide as the heads before the output."""
    fp32_state: bool = False

    @property
    def inner(self) -> int:
        """Width of all heads [1]."""
        return self.heads * self.head_dim

    @property
    def conv_channels(self) -> int:
        """Channels of the short convolution: x, B and C [1]."""
        return self.inner + 2 * self.groups * self.state_size

    def matrices(self) -> tuple[Matrix, ...]:
        """One input kernel (gate, x, B and C, dt) and the output."""
        width = self.hidden if self.inputs is None else self.inputs
        parts = (("z", self.inner, self.heads), ("x", self.inner, self.heads),
                 ("bc", 2 * self.groups * self.state_size, self.groups), ("dt", self.heads, self.heads))
        rows = [_matrix(name, width, outputs, Shard.COLUMN, units, "in_proj", outputs if self.projection_bias else 0)
                for name, outputs, units in parts]
        return (*rows, _matrix("o", self.inner, self.hidden, Shard.ROW, self.heads, "o",
                               self.hidden if self.out_bias else 0))

    def vectors(self) -> int:
        """Convolution; A, D and dt bias per head; the gated norm [1]."""
        conv = self.conv_channels * (self.kernel + (1 if self.conv_bias else 0))
        return conv + 3 * self.heads + (self.inner if self.norm else 0)

    def caches(self) -> tuple[KvCache, ...]:
        """None: nothing grows with context."""
        return ()

    def state(self) -> State | None:
        """The recurrent state and the convolution's tail."""
        recurrent = self.inner * self.state_size
        tail = self.conv_channels * (self.kernel - 1)
        return State(fp32_elements=recurrent if self.fp32_state else 0,
                     model_elements=tail if self.fp32_state else tail + recurrent, units=self.heads)

    def cores(self) -> tuple[Core, ...]:
        """Decode: decay (1), outer product (2), read out (2) per state element; prefill in chunks."""
        elements = float(self.head_dim * self.state_size)
        chunked = 2.0 * _SSD_CHUNK * self.head_dim + 4.0 * elements
        shared = 2.0 * _SSD_CHUNK * self.state_size * self.groups / self.heads
        return (Core(name="scan", kind="ssm", heads=self.heads, decode_flop=0.0, prefill_flop=0.0,
                     io_elements=3.0 * self.head_dim, state=self.state(), token_flop=5.0 * elements,
                     prefill_token_flop=chunked + shared),)

    @property
    def label(self) -> str:
        """The kind as people call it."""
        return "Mamba-2"
