"""Built-in SKUs: one TOML file each, read when first asked for, with the provenance of their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from planner.catalog.loader import catalog_root, raise_all, read_toml
from planner.core.errors import AdapterError, NotFound
from planner.core.hardware.chip import Chip, Link
from planner.core.hardware.record import build_chip, chip_from_record, record_problems

__all__ = ["ChipCatalog", "ChipEntry", "built_in_chips", "chip_from_record"]

_TABLES = {"memory", "peak_flop_per_s", "compute", "links", "power", "boundaries_bytes_per_s", "provenance"}
_FIELDS = {"id", "name", "vendor", "architecture", "compute_capability", "form_factor", "launched", "aliases",
           "gpus_per_node"}
_REQUIRED = ("name", "vendor", "architecture", "memory", "provenance")
_CONFIDENCE = {"high", "medium", "low"}
_BASES = {"runtime", "nvidia-smi", "amd-smi", "marketed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipEntry:
    """A SKU with where its numbers come from."""

    chip: Chip
    aliases: tuple[str, ...]
    compute_capability: str
    form_factor: str | None
    launched: str | None
    memory_basis: str
    """runtime | nvidia-smi | amd-smi | marketed."""
    memory_source: str
    memory_marketed_gb: float
    memory_type: str | None
    date: str
    confidence: str
    sources: tuple[str, ...]
    conflicts: tuple[str, ...]
    notes: tuple[str, ...]


def _link(table: Mapping[str, Any] | None) -> Link | None:
    if table is None:
        return None
    return Link(kind=table["kind"], bytes_per_s=float(table["bytes_per_s"]), domain=int(table["domain"]),
                switched=bool(table.get("switched", False)))


def _problems(data: Mapping[str, Any], stem: str) -> list[str]:
    """What is wrong with one file beyond what the SKU record itself checks."""
    found = [f"unknown key {key}" for key in data if key not in _TABLES | _FIELDS]
    if data.get("id") != stem:
        found.append(f"id {data.get('id')!r} is not the file's name")
    found += [f"{key} is required" for key in _REQUIRED if key not in data]
    memory, provenance = data.get("memory", {}), data.get("provenance", {})
    if memory.get("basis") not in _BASES or not memory.get("source"):
        found.append("memory needs basis and source")
    if provenance.get("confidence") not in _CONFIDENCE or not provenance.get("sources") or not provenance.get("date"):
        found.append("provenance needs confidence, sources and date")
    for kind, link in data.get("links", {}).items():
        rate = link.get("bytes_per_s")
        if not isinstance(rate, (int, float)) or rate <= 0 or "kind" not in link or int(link.get("domain", 0)) < 1:
            found.append(f"links.{kind} needs kind, domain and a bytes_per_s above zero")
    return found


def _record(data: Mapping[str, Any]) -> dict[str, Any]:
    """The SKU record inside a catalogue file; links are added by their own tables."""
    memory = data.get("memory", {})
    record = {key: data.get(key) for key in ("id", "name", "vendor", "architecture", "gpus_per_node")}
    record |= {"memory_bytes": memory.get("bytes"), "bandwidth_bytes_per_s": memory.get("bandwidth_bytes_per_s"),
               "peak_flop_per_s": data.get("peak_flop_per_s"), "power_w": data.get("power", {}).get("watts"),
               "boundaries_bytes_per_s": data.get("boundaries_bytes_per_s", {}), **data.get("compute", {})}
    return record


def _chip(record: Mapping[str, Any], links: Mapping[str, Any]) -> Chip:
    return replace(build_chip(record), scale_up=_link(links.get("scale_up")), host=_link(links.get("host")),
                   network=_link(links.get("network")))


def read_chip(path: Path) -> ChipEntry:
    """The SKU of one catalogue file; every problem of the file is in the one error raised.

    A file without peaks is an announced part: bandwidth statements work and every peak is refused by name.
    """
    data = read_toml(path)
    record = _record(data)
    unpublished = not data.get("peak_flop_per_s")
    problems = _problems(data, path.stem) + [
        message for pointer, message in record_problems(record) if not (unpublished and pointer == "/peak_flop_per_s")]
    if problems:
        raise AdapterError(f"{path.name}: " + "; ".join(problems))
    memory, provenance = data["memory"], data["provenance"]
    return ChipEntry(
        chip=_chip(record, data.get("links", {})), aliases=tuple(data.get("aliases", ())),
        compute_capability=data.get("compute_capability", ""), form_factor=data.get("form_factor"),
        launched=data.get("launched"), memory_basis=memory["basis"], memory_source=memory["source"],
        memory_marketed_gb=float(memory.get("marketed_gb", 0)), memory_type=memory.get("type"),
        date=provenance["date"], confidence=provenance["confidence"], sources=tuple(provenance["sources"]),
        conflicts=tuple(provenance.get("conflicts", ())), notes=tuple(provenance.get("notes", ())))


class ChipCatalog:
    """The SKUs of a folder ``chips/<vendor>/<sku>.toml``; a file is parsed once, when first asked for."""

    def __init__(self, root: Path) -> None:
        self._paths = {path.stem: path for path in sorted((root / "chips").glob("*/*.toml"))}
        self._entries: dict[str, ChipEntry] = {}

    def ids(self) -> tuple[str, ...]:
        """The slugs, sorted, without reading any file."""
        return tuple(self._paths)

    def entry(self, sku: str) -> ChipEntry:
        """The SKU of exactly that slug with its provenance."""
        found = self._entries.get(sku)
        if found is None:
            if sku not in self._paths:
                raise NotFound(f"No built-in SKU has the id {sku!r}.", pointer="/sku")
            found = self._entries[sku] = read_chip(self._paths[sku])
        return found

    def chip(self, sku: str) -> Chip:
        """The chip of exactly that slug."""
        return self.entry(sku).chip

    def entries(self) -> tuple[ChipEntry, ...]:
        """Every SKU; all errors of all files are reported together."""
        found, problems = [], []
        for sku in self._paths:
            try:
                found.append(self.entry(sku))
            except AdapterError as error:
                problems.append(error.detail)
        raise_all(problems, "SKU catalogue")
        return tuple(found)


@cache
def built_in_chips() -> ChipCatalog:
    """The built-in SKUs, one catalogue per process."""
    return ChipCatalog(catalog_root())
