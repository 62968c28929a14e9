"""Money and energy of a plan, from its steady state; formulas in core/fleet are for fleets, these are unit prices."""

from __future__ import annotations

from typing import Any

from planner.core.fleet.unit import joules_per_token, usd_per_million
from planner.services.plan.configuration import Configuration


def cost_section(configuration: Configuration, serving: dict[str, Any], usd_per_gpu_hour: float) -> dict[str, Any]:
    """Unit prices of one replica at the plan's load."""
    hourly = usd_per_gpu_hour * configuration.layout.gpus
    power = configuration.resolved.chip.power_w
    return {
        "usd_per_gpu_hour": usd_per_gpu_hour, "usd_per_hour": hourly,
        "usd_per_million_output_tokens": usd_per_million(hourly, serving["output_tokens_per_s"]),
        "usd_per_million_tokens": usd_per_million(hourly, serving["total_tokens_per_s"]),
        "joules_per_output_token": None if power is None else joules_per_token(
            power * configuration.layout.gpus, serving["output_tokens_per_s"]),
    }
