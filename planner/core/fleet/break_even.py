"""Owning against an API: what a month costs either way, and how busy GPUs must be to break even."""

from __future__ import annotations

from planner.core.quantities.arrays import require_non_negative, require_positive

HOURS_PER_MONTH = 8760.0 / 12.0
"""Hours of a mean month: 365 days of 24 hours over 12 [h]."""


def monthly_usd(usd_per_hour: float) -> float:
    r"""Cost of GPUs kept for a whole month, busy or not.

    .. math:: C = c_h \\cdot 8760 / 12

    Parameters
    ----------
    usd_per_hour : float
        [USD/h].

    Returns
    -------
    float
        [USD/month].
    """
    return float(require_non_negative("usd_per_hour", usd_per_hour)) * HOURS_PER_MONTH


def api_usd(tokens: float, usd_per_million_tokens: float) -> float:
    r"""Cost of tokens bought from an API at one blended price.

    .. math:: C = n / 10^6 \\cdot p

    Parameters
    ----------
    tokens : float
        [token].
    usd_per_million_tokens : float
        [USD/1e6 token].

    Returns
    -------
    float
        [USD].
    """
    price = float(require_non_negative("usd_per_million_tokens", usd_per_million_tokens))
    return float(require_non_negative("tokens", tokens)) / 1e6 * price


def break_even_share(usd_per_million_owned: float, usd_per_million_api: float) -> float:
    """Share of the planned throughput at which owned GPUs cost what the API does.

    .. math:: s = p_{own} / p_{api}

    GPUs cost the same idle or busy, so at a share s of the throughput a token costs :math:`p_{own}/s`.

    Parameters
    ----------
    usd_per_million_owned : float
        Price per million tokens at the planned throughput [USD/1e6 token].
    usd_per_million_api : float
        Price of the API [USD/1e6 token].

    Returns
    -------
    float
        [1]; above 1 the API is cheaper however busy the GPUs are.
    """
    owned = float(require_non_negative("usd_per_million_owned", usd_per_million_owned))
    return owned / float(require_positive("usd_per_million_api", usd_per_million_api))
