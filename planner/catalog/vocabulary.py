"""The words the question grammar knows, read out of the built-in catalogue and its nickname file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from planner.catalog.chips import ChipEntry, built_in_chips
from planner.catalog.indexes import model_entries
from planner.catalog.loader import catalog_root, raise_all, read_toml
from planner.catalog.models import built_in_models
from planner.catalog.prices import built_in_prices
from planner.services.parse.vocabulary import ModelEntry, SkuEntry, Vocabulary

_TENSORS = ("model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
            "intermediate_size", "vocab_size", "n_routed_experts", "num_experts", "kv_lora_rank", "index_topk")
"""Config fields that decide the tensors' shapes; equal values mean equal answers."""
_EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
_ANNOUNCED = "announced"
"""In the month of a part that nobody can have yet."""
_NO_BOX = ("consumer", "workstation", "desktop", "soc", "module")
"""Form factors that are not sold as a node of several."""


@cache
def built_in_vocabulary() -> Vocabulary:
    """Every built-in model and SKU with what people call them."""
    models, skus = _models(), tuple(_sku(entry) for entry in built_in_chips().entries())
    path = catalog_root() / "nicknames.toml"
    tables = read_toml(path)
    raise_all(list(_unknown(tables, models, skus)), "nickname file")
    said = {name: tuple(ids) for name, ids in tables["models"].items()}
    return Vocabulary(models=models, skus=skus, model_nicknames=_listed() | said,
                      sku_nicknames={name: tuple(ids) for name, ids in tables["skus"].items()}, words=tables["words"])


def _unknown(tables: Mapping[str, Any], models: Iterable[ModelEntry], skus: Iterable[SkuEntry]) -> Iterable[str]:
    """What the nickname file points at that the catalogue does not have."""
    for kind, known in (("models", {m.id for m in models}), ("skus", {s.id for s in skus})):
        for name, ids in tables[kind].items():
            yield from (f"{name!r} names {i!r}, which is not in the catalogue" for i in ids if i not in known)


def _models() -> tuple[ModelEntry, ...]:
    catalog = built_in_models()
    return tuple(_model(identifier, catalog.record(identifier)) for identifier in catalog.ids())


def _model(identifier: str, record: Mapping[str, Any]) -> ModelEntry:
    config = record["config"]
    text = {**config, **(config.get("text_config") or {})}
    total = record["parameters"].get("published_total")
    return ModelEntry(
        id=identifier, name=record["id"], aliases=tuple(record.get("aliases", ())), total_parameters=total,
        mixture=any(int(text.get(key) or 0) > 1 for key in _EXPERTS),
        architecture="|".join(str(text.get(key)) for key in _TENSORS), released=record.get("released") or "")


def _sku(entry: ChipEntry) -> SkuEntry:
    chip, form = entry.chip, (entry.form_factor or "").lower()
    had = entry.launched is not None and _ANNOUNCED not in entry.launched
    return SkuEntry(id=chip.id, name=chip.name, aliases=entry.aliases, vendor=chip.vendor,
                    architecture=chip.architecture, pipes=frozenset(chip.peaks),
                    launched=str(entry.launched) if had else "", memory_bytes=chip.memory_bytes,
                    listed=chip.id in _rented(),
                    box=0 if any(word in form for word in _NO_BOX) else chip.gpus_per_node)


@cache
def _rented() -> frozenset[str]:
    """SKUs that a catalogued price is for."""
    return frozenset(price.sku for price in built_in_prices())


def _listed() -> dict[str, tuple[str, ...]]:
    """Aliases and same-architecture names of the alias file, each meaning one model."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in model_entries((identifier, ()) for identifier in built_in_models().ids()):
        for alias in (*entry.aliases, *(name for name, _, _ in entry.notes)):
            found[alias] = (entry.id,)
    return found
