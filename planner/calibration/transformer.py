"""A small transformer with random weights, dense or mixture of experts, that runs real decode and prefill steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from planner.calibration.kernels import pointwise
from planner.calibration.kernels.attention import Attend, Heads, prompt
from planner.calibration.kernels.gemm import MULTIPLY

_SEED = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The sizes of a model; ``experts`` of 0 is a dense one."""

    name: str
    hidden: int
    intermediate: int
    layers: int
    vocabulary: int
    heads: Heads
    experts: int = 0
    experts_per_token: int = 0


class Transformer:
    """Weights on a device and the steps over them, made of the very kernels that were timed."""

    def __init__(self, sizes: Sizes, dtype: str, device: torch.device, attend: Attend) -> None:
        """Draw the weights."""
        self.sizes, self.dtype, self.attend = sizes, dtype, attend
        self._multiply = MULTIPLY[dtype]
        self._torch = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[dtype]
        self._device = device
        torch.manual_seed(_SEED)
        h, s = sizes.heads, sizes
        qkv = (h.query + 2 * h.cached) * h.key_dim
        self._qkv = [self._weight(qkv, s.hidden) for _ in range(s.layers)]
        self._o = [self._weight(s.hidden, h.query * h.value_dim) for _ in range(s.layers)]
        count = max(1, s.experts)
        self._up = [[self._weight(2 * s.intermediate, s.hidden) for _ in range(count)] for _ in range(s.layers)]
        self._down = [[self._weight(s.hidden, s.intermediate) for _ in range(count)] for _ in range(s.layers)]
        self._router = [self._weight(s.experts, s.hidden) for _ in range(s.layers)] if s.experts else []
        self._head = self._weight(s.vocabulary, s.hidden)

    def _weight(self, outputs: int, inputs: int) -> torch.Tensor:
        values = torch.empty((outputs, inputs), dtype=self._torch, device=self._device)
        return values.uniform_(-1.0, 1.0).mul_(inputs**-0.5)

    def _linear(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        out = torch.empty((x.shape[0], weight.shape[0]), dtype=self._torch, device=self._device)
        return self._multiply(x, weight, out)

    def decode_step(self, batch: int, context: int) -> Callable[[int], torch.Tensor]:
        """A decode step over caches of ``context`` tokens, ready to run."""
        h = self.sizes.heads
        caches = [tuple(torch.empty((batch, h.cached, context, d), dtype=self._torch, device=self._device)
                        .uniform_(-1.0, 1.0) for d in (h.key_dim, h.value_dim)) for _ in range(self.sizes.layers)]
        routes = self._routes(batch)

        def mix(layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            keys, values = caches[layer]
            keys[:, :, -1] = k.view(batch, h.cached, h.key_dim)
            values[:, :, -1] = v.view(batch, h.cached, h.value_dim)
            return self.attend(q.view(batch, h.query, 1, h.key_dim), keys, values).reshape(batch, -1)

        x, angles = self._inputs(batch)
        return lambda _: self._forward(x, angles, mix, routes, head_rows=batch)

    def prefill_step(self, tokens: int) -> Callable[[int], torch.Tensor]:
        """A step over one whole prompt, ready to run; only its last token gets logits."""
        h = self.sizes.heads
        routes = self._routes(tokens)

        def mix(_: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            rows = [t.view(1, tokens, n, -1).transpose(1, 2) for t, n in ((q, h.query), (k, h.cached), (v, h.cached))]
            return prompt(*rows).transpose(1, 2).reshape(tokens, -1)

        x, angles = self._inputs(tokens)
        return lambda _: self._forward(x, angles, mix, routes, head_rows=1)

    def _inputs(self, tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
        h = self.sizes.heads
        x = torch.randn((tokens, self.sizes.hidden), device=self._device).to(self._torch)
        width = (h.query + h.cached) * h.key_dim
        return x, torch.rand((1, width), device=self._device).to(self._torch)

    def _routes(self, tokens: int) -> list[list[tuple[int, torch.Tensor]]]:
        """Which tokens each expert of each layer receives, drawn uniformly without replacement."""
        s = self.sizes
        if not s.experts:
            return []
        table = []
        for _ in range(s.layers):
            picks = torch.stack([torch.randperm(s.experts)[:s.experts_per_token] for _ in range(tokens)])
            chosen = [(e, (picks == e).any(1).nonzero().flatten().to(self._device)) for e in range(s.experts)]
            table.append([(e, rows) for e, rows in chosen if rows.numel()])
        return table

    def _forward(self, x: torch.Tensor, angles: torch.Tensor, mix: Callable[..., torch.Tensor],
                 routes: list[list[tuple[int, torch.Tensor]]], *, head_rows: int) -> torch.Tensor:
        h = self.sizes.heads
        width = (h.query + h.cached) * h.key_dim
        for layer in range(self.sizes.layers):
            qkv = self._linear(pointwise.norm(x, x), self._qkv[layer])
            turned = pointwise.rotary(qkv[:, :width], angles)
            mixed = mix(layer, turned[:, :h.query * h.key_dim], turned[:, h.query * h.key_dim:], qkv[:, width:])
            x = pointwise.residual(x, self._linear(mixed, self._o[layer]))
            y = pointwise.norm(x, x)
            x = pointwise.residual(x, self._experts(layer, y, routes[layer]) if routes else self._mlp(layer, 0, y))
        last = pointwise.norm(x[-head_rows:], x)
        return pointwise.sample(self._linear(last, self._head).float())

    def _mlp(self, layer: int, expert: int, y: torch.Tensor) -> torch.Tensor:
        gate, up = self._linear(y, self._up[layer][expert]).chunk(2, -1)
        return self._linear(pointwise.activation(gate, up), self._down[layer][expert])

    def _experts(self, layer: int, y: torch.Tensor, routes: list[tuple[int, torch.Tensor]]) -> torch.Tensor:
        self._linear(y, self._router[layer])  # its cost is real; the draw replaces its choice
        out = torch.zeros_like(y)
        for expert, rows in routes:
            out.index_add_(0, rows, self._mlp(layer, expert, y[rows]))
        return out
