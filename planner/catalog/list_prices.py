"""The price of a GPU hour where a question names none: the middle of the on-demand prices the catalogue lists."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from planner.catalog.prices import PriceEntry, built_in_prices

_KIND = "on_demand"


class CatalogPrices:
    """List prices by SKU; with an even number of them, the lower of the middle two, which somebody really asks."""

    def __init__(self, entries: Sequence[PriceEntry] | None = None) -> None:
        listed: dict[str, list[PriceEntry]] = defaultdict(list)
        for entry in built_in_prices() if entries is None else entries:
            if entry.kind == _KIND:
                listed[entry.sku].append(entry)
        self._prices = {sku: sorted(found, key=lambda e: (e.usd_per_gpu_hour, e.id))[(len(found) - 1) // 2]
                        for sku, found in listed.items()}

    def of(self, sku: str) -> tuple[float, str] | None:
        """Return a list price [USD per GPU hour] and where it is from."""
        entry = self._prices.get(sku)
        return None if entry is None else (entry.usd_per_gpu_hour, f"{entry.provider}, {entry.date}")

    def skus(self) -> Sequence[str]:
        """Return the SKUs that have one."""
        return sorted(self._prices)
