"""The name indexes of the built-in catalogue: SKUs from their files, models from their ids and the alias file."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from planner.catalog.chips import built_in_chips
from planner.catalog.loader import catalog_root, raise_all, read_toml
from planner.catalog.names import Entry, NameIndex


@cache
def built_in_sku_names() -> NameIndex:
    """The index of every built-in SKU with its listed aliases and its vendor's name."""
    return NameIndex(sku_entries(), kind="sku")


def sku_entries() -> tuple[Entry, ...]:
    """The built-in SKUs as index entries; a user's own are appended by the caller."""
    return tuple(Entry(id=entry.chip.id, aliases=(*entry.aliases, entry.chip.name))
                 for entry in built_in_chips().entries())


@cache
def _model_aliases() -> dict[str, tuple[tuple[str, ...], tuple[tuple[str, str | None, str | None], ...]]]:
    path = catalog_root() / "aliases.toml"
    found, problems = {}, []
    for table in read_toml(path).get("model", []):
        same = table.get("same_as", ())
        if "id" not in table or not all(twin.get("name") and twin.get("note") for twin in same):
            problems.append(f"{path.name}: an entry needs an id, and same_as needs name and note: {table}")
            continue
        notes = tuple((twin["name"], twin.get("weights"), twin["note"]) for twin in same)
        found[table["id"]] = (tuple(table.get("aliases", ())), notes)
    raise_all(problems, "alias file")
    return found


def model_entries(models: Iterable[tuple[str, Iterable[str]]]) -> tuple[Entry, ...]:
    """Index entries for (id, own aliases) pairs, with the nicknames and twins of the alias file added."""
    table = _model_aliases()
    entries = []
    for identifier, own in models:
        aliases, notes = table.get(identifier.lower(), ((), ()))
        entries.append(Entry(id=identifier, aliases=(*own, *aliases), notes=notes))
    return tuple(entries)


def model_names(models: Iterable[tuple[str, Iterable[str]]]) -> NameIndex:
    """The index over a list of models, built-in or the caller's own."""
    return NameIndex(model_entries(models), kind="model")
