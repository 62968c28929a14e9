"""Unit prices of a running replica: money and energy per token from rates."""

from __future__ import annotations

from planner.core.quantities.units import MEGA, SECONDS_PER_HOUR


def usd_per_million(usd_per_hour: float, tokens_per_s: float) -> float | None:
    """Price of a million tokens.

    Parameters
    ----------
    usd_per_hour : float
        What the replica costs [USD/h].
    tokens_per_s : float
        What it produces [token/s].

    Returns
    -------
    float or None
        [USD]; None when nothing is produced.
    """
    return usd_per_hour / SECONDS_PER_HOUR / tokens_per_s * MEGA if tokens_per_s > 0 else None


def joules_per_token(power_w: float, tokens_per_s: float) -> float | None:
    """Energy of one token at full board power, an upper estimate.

    Parameters
    ----------
    power_w : float
        Board power limits of all GPUs [W].
    tokens_per_s : float
        What they produce [token/s].

    Returns
    -------
    float or None
        [J]; None when nothing is produced.
    """
    return power_w / tokens_per_s if tokens_per_s > 0 else None
