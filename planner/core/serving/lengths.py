"""Moments of request lengths as a running batch sees them: length-biased, spread over the answer, cut by windows."""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.quantities import numeric as num
from planner.core.quantities.arrays import Numeric, require_fraction, require_non_negative, require_positive
from planner.core.quantities.numeric import Number


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLengths:
    """First two moments of prompts and answers; each may be a number or an array over the grid."""

    input_tokens: Numeric
    """Mean prompt length [token]."""
    output_tokens: Numeric
    """Mean answer length, first token included [token]."""
    input_cv: Numeric = 0.0
    output_cv: Numeric = 0.0
    prefix_cache_hit: Numeric = 0.0
    """Share of prompt tokens found in the prefix cache [1]."""
    context_tokens: Numeric | None = None
    """Overrides the mean context of a decode step [token]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """What the fixed points need of the lengths, on the grid."""

    prompt: Number
    """Prompt tokens really computed, E[u] [token]."""
    prompt_square: Number
    """E[u²] [token²]."""
    pairs_per_token: Number
    """(query, key) pairs per computed prompt token."""
    full_prompt: Number
    """Prompt tokens with the cached ones [token]."""
    output: Number
    output_square: Number
    context: Number
    """Length-biased mean context of a decoding sequence [token]."""
    half_span: Number
    """Half-width of a uniform law with the context's spread [token]."""


def moments(lengths: RequestLengths) -> Moments:
    r"""Moments of lengths, prompt and answer taken as independent.

    .. math:: \bar c = E[I] + E[O^2] / (2 E[O])

    Parameters
    ----------
    lengths : RequestLengths
        Means, coefficients of variation and the prefix-cache hit share.

    Returns
    -------
    Moments
        Arrays of the broadcast shape.

    Raises
    ------
    InvalidQuantity
        A length that is not above zero, a negative cv, a share outside [0, 1].

    Notes
    -----
    A decode step meets long answers more often than short ones, so the mean context exceeds I + O/2 by cv²·O/2.
    At least one prompt token is always computed.

    References
    ----------
    Cox, Renewal Theory, 1962, §5.4 (length-biased sampling).
    """
    full = require_positive("input_tokens", lengths.input_tokens)
    output = num.maximum(require_positive("output_tokens", lengths.output_tokens), 1.0)
    spread = 1.0 + require_non_negative("input_cv", lengths.input_cv) ** 2
    square = output**2 * (1.0 + require_non_negative("output_cv", lengths.output_cv) ** 2)
    prompt = num.maximum(full * (1.0 - require_fraction("prefix_cache_hit", lengths.prefix_cache_hit)),
                        num.minimum(full, 1.0))
    bias = square / (2.0 * output)
    context = (full + bias if lengths.context_tokens is None
               else require_positive("context_tokens", lengths.context_tokens))
    half_span = num.minimum(num.sqrt(bias**2 + 3.0 * full**2 * (spread - 1.0)), context)
    return Moments(prompt=prompt, prompt_square=prompt**2 * spread,
                   pairs_per_token=(full - prompt) * spread + (prompt * spread + 1.0) / 2.0, full_prompt=full,
                   output=output, output_square=square, context=context, half_span=half_span)


def mean_clipped(mean: Number, half_span: Number, window: float) -> Number:
    r"""Mean of min(c, w) for c uniform on mean ± half_span.

    Parameters
    ----------
    mean : ndarray
        Mean context [token].
    half_span : ndarray
        Half-width of the law [token].
    window : float
        Attention span w; inf for full attention [token].

    Returns
    -------
    ndarray
        E[min(c, w)] [token], never above min(mean, w).

    Notes
    -----
    Exact for fixed lengths, whose contexts are uniform on [I, I + O].
    """
    if not num.isfinite(window):
        return mean
    low, high = mean - half_span, mean + half_span
    over = num.clip(high - window, 0.0, num.maximum(high - low, 0.0))
    width = num.maximum(high - low, 1e-9)
    return num.where(low >= window, window, mean - over**2 / (2.0 * width))
