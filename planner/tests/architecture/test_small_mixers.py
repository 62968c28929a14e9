"""Short convolutions and cross-attention, by hand."""

from __future__ import annotations

from dataclasses import replace

from planner.core.architecture.convolution import ShortConvolution
from planner.core.architecture.cross import CrossAttention


def test_short_convolution() -> None:
    made = ShortConvolution(hidden=64, kernel=3)
    assert sum(matrix.elements for matrix in made.matrices()) == 64 * 192 + 64 * 64
    assert made.vectors() == 192
    assert replace(made, bias=True).vectors() == 256
    assert sum(matrix.biases for matrix in replace(made, bias=True).matrices()) == 256
    assert made.caches() == ()
    assert made.state().model_elements == 128
    assert made.cores()[0].token_flop == 8
    assert made.label == "short convolution 3"


def test_cross_attention_keeps_one_image() -> None:
    made = CrossAttention(hidden=64, heads=8, kv_heads=2, head_dim=16, tokens=100)
    assert [matrix.name for matrix in made.matrices()] == ["q", "o"]
    assert made.vectors() == 2 * 64 * 32 + 32 + 2
    (cache,) = made.caches()
    assert (cache.window, cache.heads, cache.elements_per_head) == (100, 2, 32)
    assert made.cores()[0].attends == 100
    assert made.state() is None
    assert made.label == "cross-attention to 100 image tokens"
