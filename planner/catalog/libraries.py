"""The catalogue's kinds of entries behind the port that services know: built-in ones, and how a user's are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from planner.catalog.chips import ChipCatalog, ChipEntry, chip_from_record
from planner.catalog.indexes import sku_entries
from planner.catalog.known_fields import require_known
from planner.catalog.names import Entry as Named
from planner.catalog.names import NameIndex
from planner.catalog.prices import PriceEntry, built_in_prices
from planner.core.errors import InvalidQuantity
from planner.core.hardware.chip import Chip
from planner.services.ports import Document, Entry, Kind

_RECORD = ("id", "name", "vendor", "architecture", "memory_bytes", "bandwidth_bytes_per_s", "peak_flop_per_s",
           "link_bytes_per_s", "host_bytes_per_s", "network_bytes_per_s", "power_w", "multiprocessors", "clock_hz",
           "l2_bytes", "shared_memory_bytes", "boundaries_bytes_per_s", "gpus_per_node")
"""The fields of a SKU record that describe the machine; the rest (aliases, notes) is about the entry."""
SKU_FIELDS = (*_RECORD, "aliases", "notes")
"""The creation form of a SKU."""


def _aliases(document: Document) -> tuple[str, ...]:
    name = document.get("name")
    return (*document.get("aliases", ()), *((name,) if name else ()))


class SkuLibrary:
    """Chips: one TOML file each, or a user's SKU record."""

    def __init__(self, chips: ChipCatalog) -> None:
        self._chips = chips

    @cached_property
    def _ids(self) -> tuple[str, ...]:
        return tuple(sorted(self._chips.ids()))

    def ids(self) -> Sequence[str]:
        """Return the built-in ids in code-point order."""
        return self._ids

    def title(self, entry_id: str) -> str:
        """Return a built-in chip's name."""
        return self._chips.chip(entry_id).name

    def document(self, entry_id: str) -> Document:
        """Return a built-in chip in the creation form, with its provenance."""
        return sku_document(self._chips.entry(entry_id))

    def value(self, entry_id: str) -> Chip:
        """Return a built-in chip."""
        return self._chips.chip(entry_id)

    def read(self, entry_id: str, document: Document) -> Chip:
        """Return the chip of a user's record; any field that is not known is refused."""
        require_known(document, SKU_FIELDS, "a SKU")
        record = {name: document[name] for name in _RECORD if document.get(name) is not None}
        return chip_from_record({**record, "id": entry_id})

    def names(self, own: Sequence[Entry]) -> NameIndex:
        """Return the index over built-in and own chips."""
        mine = [Named(id=entry.id, aliases=_aliases(entry.document)) for entry in own]
        return NameIndex([*sku_entries(), *mine], kind="sku")

    def describe(self, value: Chip) -> Document:
        """Return the ridge of each pipe: the intensity where compute takes over from memory."""
        return {"ridge_flop_per_byte": {pipe: peak / value.bandwidth for pipe, peak in value.peaks.items() if peak}}


def sku_document(entry: ChipEntry) -> Document:
    """Return a catalogued chip as the creation form names its fields, links and provenance added."""
    chip = entry.chip
    links = {name: asdict(link) for name, link in (("scale_up", chip.scale_up), ("host", chip.host),
                                                   ("network", chip.network)) if link is not None}
    return {
        "id": chip.id, "name": chip.name, "vendor": chip.vendor, "architecture": chip.architecture,
        "memory_bytes": chip.memory_bytes, "bandwidth_bytes_per_s": chip.bandwidth,
        "peak_flop_per_s": {pipe: peak for pipe, peak in chip.peaks.items() if peak},
        "link_bytes_per_s": chip.scale_up.bytes_per_s if chip.scale_up else None, "power_w": chip.power_w,
        "multiprocessors": chip.multiprocessors, "clock_hz": chip.clock_hz, "l2_bytes": chip.l2_bytes,
        "shared_memory_bytes": chip.shared_memory_bytes, "boundaries_bytes_per_s": dict(chip.boundaries),
        "gpus_per_node": chip.gpus_per_node, "links": links, "aliases": list(entry.aliases),
        "provenance": {"date": entry.date, "confidence": entry.confidence, "memory_basis": entry.memory_basis,
                       "memory_source": entry.memory_source, "sources": list(entry.sources),
                       "conflicts": list(entry.conflicts), "notes": list(entry.notes)},
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a GPU-hour of a SKU costs."""

    id: str
    sku: str
    usd_per_gpu_hour: float
    kind: str | None
    provider: str | None
    date: str | None


class PriceLibrary:
    """Prices: dated and sourced files, or a user's own."""

    @cached_property
    def _entries(self) -> Mapping[str, PriceEntry]:
        return {entry.id: entry for entry in sorted(built_in_prices(), key=lambda entry: entry.id)}

    def ids(self) -> Sequence[str]:
        """Return the built-in ids in code-point order."""
        return list(self._entries)

    def title(self, entry_id: str) -> str:
        """Return the SKU and provider of a built-in price."""
        entry = self._entries[entry_id]
        return f"{entry.sku} at {entry.provider}"

    def document(self, entry_id: str) -> Document:
        """Return a built-in price with its source."""
        return asdict(self._entries[entry_id])

    def value(self, entry_id: str) -> Price:
        """Return a built-in price."""
        return self.read(entry_id, self.document(entry_id))

    def read(self, entry_id: str, document: Document) -> Price:
        """Return the price of a document."""
        return Price(id=entry_id, sku=document["sku"], usd_per_gpu_hour=float(document["usd_per_gpu_hour"]),
                     kind=document.get("kind"), provider=document.get("provider"), date=document.get("date"))

    def names(self, own: Sequence[Entry]) -> NameIndex:
        """Return the index over built-in and own prices, by id only."""
        return NameIndex([*(Named(id=i) for i in self._entries), *(Named(id=entry.id) for entry in own)], kind="price")

    def describe(self, value: Price) -> Document:
        """Return nothing: a price derives nothing."""
        del value
        return {}


class DocumentLibrary:
    """Entries without built-in ones, whose documents are used as they are: scenarios, calibrations."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind

    def ids(self) -> Sequence[str]:
        """Return no ids: none come with the package."""
        return ()

    def title(self, entry_id: str) -> str:
        """Return the id itself."""
        return entry_id

    def document(self, entry_id: str) -> Document:
        """Refuse: there is no built-in entry."""
        raise InvalidQuantity(f"No built-in {self._kind} is called {entry_id}.")

    def value(self, entry_id: str) -> Document:
        """Refuse: there is no built-in entry."""
        return self.document(entry_id)

    def read(self, entry_id: str, document: Document) -> Document:
        """Return the document itself."""
        del entry_id
        return document

    def names(self, own: Sequence[Entry]) -> NameIndex:
        """Return the index over a user's entries."""
        return NameIndex([Named(id=entry.id, aliases=_aliases(entry.document)) for entry in own], kind=self._kind)

    def describe(self, value: Any) -> Document:  # noqa: ANN401 - the document
        """Return nothing: a document derives nothing."""
        del value
        return {}
