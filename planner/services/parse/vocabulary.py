"""The names a question may use: models, SKUs, nicknames. Built by the composition root from the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """One model of the catalogue, as far as its name can be understood."""

    id: str
    name: str
    """Published name with its organisation, in its own case."""
    aliases: tuple[str, ...] = ()
    total_parameters: float | None = None
    """[1]; lets "12b" mean a model whose name does not carry its size."""
    mixture: bool = False
    architecture: str = ""
    """Equal strings mean the same tensors, so the same answer."""
    released: str = ""
    """ISO date, newest wins among equals; may be empty."""
    declared: str | None = None
    """Weight format of the checkpoint, when it declares one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkuEntry:
    """One GPU of the catalogue, as far as its name can be understood."""

    id: str
    name: str
    aliases: tuple[str, ...] = ()
    vendor: str = ""
    architecture: str = ""
    pipes: frozenset[str] = frozenset()
    """Formats with arithmetic units (bf16, fp8, ...)."""
    box: int = 0
    """GPUs in the usual box of this part; 0 when it comes in none."""
    launched: str = ""
    """Month it could first be had, such as 2022-10; empty for one that is only announced."""
    memory_bytes: float = 0.0
    """[byte]."""
    listed: bool = False
    """Whether some provider's price for it is catalogued."""

    def has_fp8(self) -> bool:
        """Whether the part multiplies in fp8."""
        return "fp8" in self.pipes


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Everything that can be named, and what people call it."""

    models: Sequence[ModelEntry]
    skus: Sequence[SkuEntry]
    model_nicknames: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What people say → ids; several ids mean that the name does not tell them apart."""
    sku_nicknames: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    """Short for a word of a name: ds → deepseek."""

    def usual_skus(self) -> list[SkuEntry]:
        """SKUs as menus show them: parts of servers that can be rented, other parts of servers, the rest; newest first.

        Of one month the larger memory comes first, then the id decides.
        """
        by_name = sorted(self.skus, key=lambda s: (-s.memory_bytes, s.id))
        newest = sorted(by_name, key=lambda s: s.launched, reverse=True)
        return sorted(newest, key=lambda s: (not s.box, not s.listed))

    def sku(self, identifier: str) -> SkuEntry | None:
        """The SKU of that id."""
        return next((s for s in self.skus if s.id == identifier), None)

    def model(self, identifier: str) -> ModelEntry | None:
        """The model of that id."""
        return next((m for m in self.models if m.id == identifier), None)
