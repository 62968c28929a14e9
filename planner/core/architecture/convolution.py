"""Gated short convolution: a few taps over the sequence between two gates, as in LFM2.

References
----------
Liquid AI, LFM2 technical report, arXiv 2511.23404, §2 (gated short convolution blocks).
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.architecture.parts import Core, KvCache, Matrix, Module, Shard, State


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortConvolution:
    """Two gates and a depthwise convolution of ``kernel`` taps."""

    hidden: int
    kernel: int
    bias: bool = False

    def matrices(self) -> tuple[Matrix, ...]:
        """Both gates and the input as one kernel, then the output."""
        width = self.hidden
        return (Matrix(name="in", module=Module.ATTENTION, inputs=width, outputs=3 * width, shard=Shard.COLUMN,
                       units=width, kernel="in_proj", biases=3 * width if self.bias else 0),
                Matrix(name="o", module=Module.ATTENTION, inputs=width, outputs=width, shard=Shard.ROW, units=width,
                       kernel="o", biases=width if self.bias else 0))

    def vectors(self) -> int:
        """Taps and their bias [1]."""
        return self.hidden * (self.kernel + (1 if self.bias else 0))

    def caches(self) -> tuple[KvCache, ...]:
        """None: nothing grows with context."""
        return ()

    def state(self) -> State:
        """The convolution's tail."""
        return State(fp32_elements=0, model_elements=self.hidden * (self.kernel - 1), units=self.hidden)

    def cores(self) -> tuple[Core, ...]:
        """Per channel: two gates and a multiply-add per tap."""
        return (Core(name="convolution", kind="ssm", heads=self.hidden, decode_flop=0.0, prefill_flop=0.0,
                     io_elements=4.0, state=self.state(), token_flop=2.0 + 2.0 * self.kernel),)

    @property
    def label(self) -> str:
        """The kind as people call it."""
        return f"short convolution {self.kernel}"
