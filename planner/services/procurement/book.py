"""Prices of a scenario as offers: the user's own, and the catalogue's where the user names none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from planner.core.errors import MissingFact
from planner.core.fleet.hosted import ApiOffer
from planner.core.fleet.offers import Offer, Purchase, Rental, Reservation, Stamp
from planner.core.fleet.power import Site, unit_power
from planner.core.fleet.terms import (
    colocation_of_unit,
    energy_of_unit,
    monthly_of_unit,
    per_token,
    periods_of,
    rent_of_unit,
    support_of_unit,
)
from planner.core.hardware.chip import Chip
from planner.core.quantities.units import JOULE_PER_KWH
from planner.services.catalog import CatalogService

CLOUD = "cloud"
JOINED = 16
"""[1] Whole nodes one replica may span: a cluster network joins them; single cards are joined inside a host only."""
Fields = Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class Book:
    """Offers read, with what their reader must know about them."""

    offers: list[Offer] = field(default_factory=list)
    quoted: list[dict[str, Any]] = field(default_factory=list)
    """Every price as it was given, with currency, date and source."""
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class PriceReader:
    """Turns prices in people's units into the core's offers."""

    def __init__(self, document: Fields, chip_of: Callable[[str], Chip], today: date) -> None:
        self._document = document
        self._chip_of = chip_of
        self._today = date.fromisoformat(full_date(document["as_of"])) if document.get("as_of") else today
        self._sites = {s["id"]: s for s in document["sites"]}
        self._months = int(document["months_per_period"])
        self.book = Book()

    def sites(self) -> tuple[Site, ...]:
        """Return the scenario's sites, the cloud's added where prices need it."""
        used = {p["site"] for p in self._document["prices"]} | {CLOUD}
        for name in sorted(used - set(self._sites)):
            self._sites[name] = {"id": name}
        return tuple(self._site(s) for s in self._sites.values())

    def _site(self, fields: Fields) -> Site:
        home = self.rate(self._document["currency"])
        cap, carbon = fields.get("power_cap_kw"), fields.get("carbon_kg_per_kwh")
        return Site(id=fields["id"], pue=fields.get("pue", 1.0),
                    energy_price=fields.get("power_price_per_kwh", 0.0) * home / JOULE_PER_KWH,
                    carbon=None if carbon is None else carbon / JOULE_PER_KWH,
                    power_cap_w=None if cap is None else cap * 1e3, rack_cap=fields.get("racks"))

    def add(self, price: Fields) -> None:
        """Add one of the user's prices."""
        chip, rate = self._chip_of(price["sku"]), self.rate(price.get("currency") or self._document["currency"])
        unit, join = unit_of(chip, price, self._document["rent_by"])
        site = self._sites.get(price["site"], {})
        common: dict[str, Any] = {
            "id": self._name(price.get("id") or f"{chip.id} {price['kind']}"), "sku": chip.id, "site": price["site"],
            "unit_gpus": unit, "join_units": join, "power_w": self._power(chip, unit, price),
            "first_period": periods_of(price["lead_time_months"], self._months) if price["lead_time_months"] else 0,
            "supply_total": price.get("units"), "supply_per_period": price.get("units_per_period"),
            "stamp": self._stamp(price, price.get("currency") or self._document["currency"]),
        }
        self.book.offers.append(self._offer(price, common, rate, site))
        self._quote(price, chip.id, common)

    def _offer(self, price: Fields, common: dict[str, Any], rate: float, site: Fields) -> Offer:
        kind, unit = price["kind"], common["unit_gpus"]
        hourly = (price.get("price_per_gpu_hour") or 0.0) * rate
        if kind in {"on_demand", "spot"}:
            return Rental(**common, terms=kind, running={"rent": rent_of_unit(hourly, unit)},
                          firm=kind == "on_demand", availability=1.0 - price["interruption"])
        if kind == "reserved":
            return Reservation(**common, running={"rent": rent_of_unit(hourly, unit)},
                               capital={"upfront": price["upfront_price_per_gpu"] * rate * unit},
                               term=periods_of(price["term_months"], self._months))
        capital = {"card": (price.get("card_price") or 0.0) * rate * unit, "server": price["server_price"] * rate,
                   "network": price["network_price_per_gpu"] * rate * unit}
        running = self._owner_pays(price, common["power_w"], unit, sum(capital.values()), rate, site)
        own = {**common, "running": running, "on_site": True, "units_per_rack": price.get("units_per_rack")}
        if kind == "owned":
            return Rental(**own, terms="owned")
        return Purchase(**own, capital=capital, term=periods_of(price["life_months"], self._months),
                        residual_fraction=price["residual_fraction"])

    def _owner_pays(self, price: Fields, watts: float, unit: int, capital: float, rate: float, site: Fields,
                    ) -> dict[str, float]:
        home = self.rate(self._document["currency"])
        return {
            "energy": energy_of_unit(watts, site.get("pue", 1.0), site.get("power_price_per_kwh", 0.0) * home,
                                     self._document["power_fraction"]),
            "colocation": colocation_of_unit(watts, site.get("colocation_price_per_kw_month", 0.0) * home),
            "staff": monthly_of_unit(price["staff_price_per_gpu_month"] * rate, unit),
            "support": support_of_unit(capital, price["support_fraction_per_year"])}

    def add_catalogued(self, skus: Sequence[str], catalog: CatalogService, workspace: str) -> None:
        """Add the cheapest on-demand price of the catalogue for each SKU the user gave no on-demand price for."""
        own = {o.sku for o in self.book.offers if o.kind == "on_demand"}
        found: dict[str, list[tuple[float, str, Any]]] = {}
        for entry_id, value in catalog.values("price", workspace):
            if value.kind in {None, "on_demand"} and value.sku in skus and value.sku not in own:
                found.setdefault(value.sku, []).append((value.usd_per_gpu_hour, entry_id, value))
        for sku, entries in sorted(found.items()):
            entries.sort()
            usd, entry_id, value = entries[0]
            source = str(catalog.entry("price", entry_id, workspace).document.get("source") or entry_id)
            chip = self._chip_of(sku)
            unit, join = unit_of(chip, {"kind": "on_demand"}, self._document["rent_by"])
            fields = {"kind": "on_demand", "site": CLOUD, "date": value.date, "source": source,
                      "price_per_gpu_hour": usd, "provider": value.provider, "currency": "USD"}
            common: dict[str, Any] = {
                "id": self._name(f"{sku} on_demand"), "sku": sku, "site": CLOUD, "unit_gpus": unit, "join_units": join,
                "power_w": self._power(chip, unit, {"kind": "on_demand"}), "stamp": self._stamp(fields, "USD")}
            self.book.offers.append(Rental(**common, terms="on_demand", running={"rent": rent_of_unit(usd, unit)}))
            self._quote(fields, sku, common)
            if len(entries) > 1:
                others = ", ".join(f"{p.provider} {u:g}" for u, _, p in entries[1:])
                self.book.notes.append(f"{sku}: the cheapest of {len(entries)} catalogued on-demand prices is used "
                                       f"({value.provider} {usd:g} USD per GPU-hour); others: {others}.")

    def apis(self) -> tuple[ApiOffer, ...]:
        """Return the hosted APIs of the scenario."""
        found = []
        for api in self._document["apis"]:
            currency = api.get("currency") or self._document["currency"]
            rate = self.rate(currency)
            found.append(ApiOffer(id=api["id"], workload=api["workload"], stamp=self._stamp(api, currency),
                                  usd_per_input_token=per_token(api["price_per_million_input"] * rate),
                                  usd_per_output_token=per_token(api["price_per_million_output"] * rate)))
            self.book.quoted.append({**{k: v for k, v in api.items() if v is not None}, "kind": "api",
                                     "currency": currency})
        return tuple(found)

    def rate(self, currency: str) -> float:
        """US dollars per unit of a currency."""
        if currency == "USD":
            return 1.0
        quoted = self._document["exchange"].get(currency)
        if quoted is None:
            raise MissingFact(f"No exchange rate from {currency} to USD is given.", fact=f"exchange.{currency}",
                              hint=f"Add exchange.{currency} with usd, date and source.", pointer="/exchange")
        return float(quoted["usd"])

    def _power(self, chip: Chip, unit: int, price: Fields) -> float:
        if chip.power_w is not None:
            return unit_power(unit, chip.power_w, price.get("server_power_w", 0.0))
        if price["kind"] in {"purchase", "owned"}:
            raise MissingFact(f"{chip.name} has no published power limit, so owning it cannot be priced.",
                              fact="power_w", hint="Add the SKU with its power_w.", pointer="/sku")
        self.book.warnings.append(f"{chip.id} has no published power limit: its energy is left out.")
        return 0.0

    def _name(self, wanted: str) -> str:
        taken, name, number = {o.id for o in self.book.offers}, wanted, 2
        while name in taken:
            name, number = f"{wanted} ({number})", number + 1
        return name

    def _stamp(self, price: Fields, currency: str) -> Stamp | None:
        name = price.get("id") or f"{price.get('sku', '')} {price.get('kind', 'api')}".strip()
        when, source = price.get("date"), price.get("source")
        if when is None or source is None:
            self.book.warnings.append(f"The price {name} has no date or source: treat it as an assumption.")
            return None
        age = (self._today - date.fromisoformat(full_date(when))).days
        if age > self._document["max_price_age_days"]:
            self.book.warnings.append(f"The price {name} is from {when}, {age} days old.")
        return Stamp(date=when, source=source, currency=currency)

    def _quote(self, price: Fields, sku: str, common: Fields) -> None:
        shown = {k: v for k, v in price.items() if v not in (None, 0.0) and k not in {"id", "sku"}}
        shown.setdefault("currency", self._document["currency"])
        self.book.quoted.append({"id": common["id"], "sku": sku, **shown, "unit_gpus": common["unit_gpus"]})


def unit_of(chip: Chip, price: Fields, rent_by: str) -> tuple[int, int]:
    """GPUs had at once and units one replica may span: whole nodes where bought, reserved, or linked and rented so."""
    linked = chip.scale_up is not None and chip.scale_up.domain > 1 and chip.scale_up.kind != "pcie"
    whole = price["kind"] in {"purchase", "owned", "reserved"} or (linked and rent_by == "node")
    unit = price.get("unit_gpus") or (chip.gpus_per_node if whole else 1)
    join = price.get("join_units") or (JOINED if unit >= chip.gpus_per_node else max(chip.gpus_per_node // unit, 1))
    return int(unit), int(join)


def full_date(text: str) -> str:
    """A date as precise as its source, read as its first day."""
    return text + ("-01-01", "-01", "")[text.count("-")]
