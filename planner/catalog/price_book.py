"""Listed prices by SKU: the lowest on-demand price known, with its source."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from planner.catalog.prices import PriceEntry, built_in_prices


class PriceBook:
    """The built-in on-demand prices."""

    @cached_property
    def _lowest(self) -> dict[str, PriceEntry]:
        found: dict[str, PriceEntry] = {}
        for entry in built_in_prices():
            if entry.kind == "on_demand" and (
                    entry.sku not in found or entry.usd_per_gpu_hour < found[entry.sku].usd_per_gpu_hour):
                found[entry.sku] = entry
        return found

    def of(self, sku: str) -> tuple[float, str] | None:
        """USD per GPU and hour with its source, or None."""
        entry = self._lowest.get(sku)
        return None if entry is None else (entry.usd_per_gpu_hour,
                                           f"{entry.provider}, {entry.date}, on demand: {entry.source}")

    def skus(self) -> Sequence[str]:
        """Every SKU with a price."""
        return sorted(self._lowest)
