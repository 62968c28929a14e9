"""Built-in prices: dated, sourced entries, one file per date and source."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from planner.catalog.loader import catalog_root, raise_all, read_toml
from planner.core.errors import AdapterError

KINDS = frozenset({"on_demand", "reserved", "spot", "owned"})
_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceEntry:
    """What one GPU-hour of a SKU cost, where, and when that was so."""

    id: str
    sku: str
    kind: str
    """on_demand | reserved | spot | owned."""
    usd_per_gpu_hour: float
    source: str
    date: str
    """As precise as the source: a year, a month or a day."""
    provider: str
    region: str | None
    basis: str
    """The instance or plan the figure was divided from."""
    note: str | None


def _problem(row: Mapping[str, Any], skus: frozenset[str]) -> str | None:
    price = row.get("usd_per_gpu_hour")
    if row.get("sku") not in skus:
        return f"sku {row.get('sku')!r} is not in the SKU catalogue"
    if row.get("kind") not in KINDS:
        return f"{row['sku']}: kind must be one of {', '.join(sorted(KINDS))}"
    if not isinstance(price, float) or not math.isfinite(price) or price <= 0:
        return f"{row['sku']}: usd_per_gpu_hour must be a number above zero"
    return None


def read_prices(path: Path, skus: frozenset[str]) -> tuple[PriceEntry, ...]:
    """The price entries of one file; every problem of the file is in the one error raised."""
    data = read_toml(path)
    problems = [f"{key} is required" for key in ("source", "date", "provider") if not data.get(key)]
    if data.get("currency") != "USD":
        problems.append("currency must be USD")
    if not _DATE.fullmatch(str(data.get("date", ""))):
        problems.append("date must be a year, a month or a day")
    rows = data.get("price", [])
    problems += [why for row in rows if (why := _problem(row, skus))]
    if problems:
        raise AdapterError(f"{path.name}: " + "; ".join(problems))
    return tuple(PriceEntry(id=f"{path.stem}.{number}", sku=row["sku"], kind=row["kind"],
                            usd_per_gpu_hour=row["usd_per_gpu_hour"], source=data["source"], date=data["date"],
                            provider=data["provider"], region=data.get("region"), basis=row.get("basis", ""),
                            note=row.get("note")) for number, row in enumerate(rows, 1))


def load_prices(root: Path, skus: frozenset[str]) -> tuple[PriceEntry, ...]:
    """Every price of ``prices/*.toml``; all errors of all files are reported together."""
    found: list[PriceEntry] = []
    problems = []
    for path in sorted((root / "prices").glob("*.toml")):
        try:
            found += read_prices(path, skus)
        except AdapterError as error:
            problems.append(error.detail)
    raise_all(problems, "price catalogue")
    return tuple(found)


@cache
def built_in_prices() -> tuple[PriceEntry, ...]:
    """The built-in prices, read once per process."""
    root = catalog_root()
    return load_prices(root, frozenset(path.stem for path in (root / "chips").glob("*/*.toml")))
