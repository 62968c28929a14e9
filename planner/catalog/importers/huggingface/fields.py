"""A config.json read field by field: what a reader asks for is checked, what nobody asked for is reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from planner.catalog.importers.huggingface.harmless import is_harmless
from planner.core.errors import InvalidQuantity, MissingFact

_LARGEST = 2**40  # no dimension of a model comes near; keeps hostile files from overflowing counts
_LONGEST_LIST = 4096  # layers in any known model: below 200


class _Required:
    """Marks a field without a default."""


REQUIRED: Final = _Required()


class Fields:
    """One JSON object of a config, with a record of the fields that were understood."""

    def __init__(self, values: Mapping[str, object], pointer: str = "/config") -> None:
        self._values = values
        self._pointer = pointer
        self._known: set[str] = set()
        self._children: list[Fields] = []

    def has(self, *names: str) -> bool:
        """Whether any of the fields is there and not null; marks them as understood."""
        self._known.update(names)
        return any(self._values.get(name) is not None for name in names)

    def raw(self, *names: str) -> object:
        """The first of the fields that is there and not null, unchecked."""
        self._known.update(names)
        for name in names:
            value = self._values.get(name)
            if value is not None:
                return value
        return None

    def whole(self, *names: str, default: int | _Required | None = REQUIRED) -> int:
        """A whole number ≥ 0 under any of the names."""
        value = self.optional(*names)
        if value is not None:
            return value
        if isinstance(default, int):
            return default
        raise MissingFact(f"The configuration has no {' or '.join(names)}.", fact=names[0],
                          pointer=f"{self._pointer}/{names[0]}")

    def optional(self, *names: str) -> int | None:
        """A whole number ≥ 0 under any of the names, or None."""
        value = self.raw(*names)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value or value % 1:  # noqa: PLR0124 - NaN
            raise self.wrong(names[0], "a whole number", value)
        if not 0 <= value <= _LARGEST:
            raise self.wrong(names[0], f"between 0 and {_LARGEST}", value)
        return int(value)

    def size(self, *names: str, default: int | _Required = REQUIRED) -> int:
        """A whole number ≥ 1 under any of the names: a zero is refused, not read as unset."""
        value = self.optional_size(*names)
        return self.whole(*names, default=default) if value is None else value

    def optional_size(self, *names: str) -> int | None:
        """A whole number ≥ 1 under any of the names, or None."""
        value = self.optional(*names)
        if value == 0:
            raise self.wrong(next(name for name in names if self._values.get(name) is not None), "at least 1", value)
        return value

    def number(self, *names: str, default: float) -> float:
        """A finite number under any of the names."""
        value = self.raw(*names)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
            raise self.wrong(names[0], "a finite number", value)
        return float(value)

    def flag(self, *names: str, default: bool = False) -> bool:
        """True or false under any of the names."""
        value = self.raw(*names)
        if value is None:
            return default
        if isinstance(value, bool) or value in (0, 1):
            return bool(value)
        raise self.wrong(names[0], "true or false", value)

    def text(self, *names: str, default: str = "") -> str:
        """A string under any of the names."""
        value = self.raw(*names)
        if value is None:
            return default
        if isinstance(value, str):
            return value
        raise self.wrong(names[0], "a text", value)

    def items(self, *names: str) -> tuple[object, ...] | None:
        """A list under any of the names, or None."""
        value = self.raw(*names)
        if value is None:
            return None
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise self.wrong(names[0], "a list", value)
        if len(value) > _LONGEST_LIST:
            raise self.wrong(names[0], f"at most {_LONGEST_LIST} long", len(value))
        return tuple(value)

    def per_layer(self, layers: int, *names: str) -> tuple[object, ...] | None:
        """A list with one entry per layer, or None; further entries (draft layers) are dropped."""
        value = self.items(*names)
        if value is not None and len(value) < layers:
            raise self.wrong(names[0], f"a list of {layers} layers", f"{len(value)} entries")
        return None if value is None else value[:layers]

    def child(self, name: str) -> Fields | None:
        """A nested object, or None."""
        value = self.raw(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.wrong(name, "an object", value)
        child = Fields(value, f"{self._pointer}/{name}")
        self._children.append(child)
        return child

    def values_of_all(self) -> list[object]:
        """Every value of the object; marks all its fields as understood."""
        self._known.update(self._values)
        return list(self._values.values())

    def understood(self, *names: str) -> None:
        """Marks fields that this family has and that change no number."""
        self._known.update(names)

    def must_be(self, name: str, *allowed: object) -> None:
        """Refuses a field whose other values the planner does not model."""
        value = self.raw(name)
        if value is not None and value not in allowed:
            raise MissingFact(f"{name} = {value!r} is not modelled; known: {', '.join(map(repr, allowed))}.",
                              fact=name, pointer=f"{self._pointer}/{name}")

    def wrong(self, name: str, expected: str, value: object) -> InvalidQuantity:
        """The error for a field whose value is nonsense."""
        shown = repr(value)
        return InvalidQuantity(f"{name} must be {expected}, not {shown[:60]}.", pointer=f"{self._pointer}/{name}")

    def unknown(self) -> list[str]:
        """Pointers to the fields that nobody understood and that could change a number."""
        own = [f"{self._pointer}/{name}" for name, value in self._values.items()
               if name not in self._known and not is_harmless(name, value)]
        return own + [pointer for child in self._children for pointer in child.unknown()]
