"""Names to ids, for models and SKUs alike: slugs, any case, bare names, aliases and checkpoint variants."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from planner.catalog.checkpoint_names import Peeled, base_keys, key, peel, tail
from planner.core.errors import Ambiguous, NotFound

_LONGEST = 200
"""Names longer than any repository name are refused before any matching [character]."""
_MEMORY = re.compile(r"-\d+gb$")
_VENDOR = re.compile(r"^(?:nvidia|amd|intel|google|aws|apple|geforce|tesla|instinct|radeon|quadro)[\s_-]*")
_CANDIDATES = 5
_REMEMBERED = 4096
"""Names kept with their meaning; more than any catalogue has spellings in use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A catalogued id and the other names it is listed under."""

    id: str
    aliases: tuple[str, ...] = ()
    notes: tuple[tuple[str, str | None, str | None], ...] = ()
    """(alias, weight format, sentence) for aliases that are another checkpoint of the same architecture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What a name means."""

    id: str
    weights: str | None = None
    """Weight format the name itself declares."""
    warning: str | None = None
    """One sentence when the name is not the catalogued entry's own."""


class NameIndex:
    """Resolves names against one list of entries; built once, then a dictionary look-up per name."""

    def __init__(self, entries: Iterable[Entry], *, kind: str) -> None:
        self.kind = kind
        self.ids: tuple[str, ...] = ()
        self._exact: dict[str, Resolution] = {}
        self._tails: dict[str, list[str]] = {}
        self._bases: dict[str, list[str]] = {}
        self._formatted: dict[str, list[str]] = {}
        self._known: dict[str, Resolution] = {}
        ids = []
        for entry in entries:
            ids.append(entry.id)
            self._add(entry)
        self.ids = tuple(ids)

    def _add(self, entry: Entry) -> None:
        own = Resolution(id=entry.id)
        self._exact[entry.id.lower()] = own
        for alias in entry.aliases:
            self._exact.setdefault(key(alias), own)
        for alias, weights, note in entry.notes:
            self._exact.setdefault(key(alias), Resolution(id=entry.id, weights=weights, warning=note))
        self._tails.setdefault(key(tail(entry.id)), []).append(entry.id)
        for short, formatted in self._short(entry.id).items():
            (self._formatted if formatted else self._bases).setdefault(short, []).append(entry.id)

    def _short(self, identifier: str) -> dict[str, bool]:
        return base_keys(identifier) if self.kind == "model" else {key(_MEMORY.sub("", identifier)): False}

    def resolve(self, text: str) -> Resolution:
        """The entry a name means; refused with candidates when unknown or ambiguous."""
        found = self._known.get(text)
        if found is None:
            found = self._find(text)
            if len(self._known) < _REMEMBERED:
                self._known[text] = found
        return found

    def _find(self, text: str) -> Resolution:
        name = text.strip().lower()
        if not name or len(name) > _LONGEST:
            raise NotFound(f"A {self.kind} name must have 1 to {_LONGEST} characters.", pointer=f"/{self.kind}")
        exact = self._exact.get(name) or self._exact.get(key(name)) or self._exact.get(key(tail(name)))
        if exact is not None:
            return exact
        return self._variant(text, name) if self.kind == "model" else self._part(text, name)

    def _part(self, text: str, name: str) -> Resolution:
        """A SKU under its vendor's or a shortened name."""
        bare = name
        while (shorter := _VENDOR.sub("", bare)) != bare:
            bare = shorter
        for level in (self._exact, self._tails, self._bases):
            hit = level.get(key(bare))
            if isinstance(hit, Resolution):
                return hit
            if hit:
                return Resolution(id=self._one(text, hit))
        raise self._refusal(text, bare)

    def _variant(self, text: str, name: str) -> Resolution:
        """A bare name, another organisation's copy or a checkpoint variant of a catalogued model."""
        readings = peel(tail(name))
        for reading in readings:
            stem = key(reading.stem)
            noted = self._exact.get(stem)
            if noted is not None:
                return self._told(text, noted.id, reading, noted)
            for level in (self._tails, self._bases, self._formatted):
                if stem in level:
                    return self._told(text, self._preferred(text, name, level[stem]), reading, None)
        raise self._refusal(text, readings[-1].stem)

    def _preferred(self, text: str, name: str, ids: list[str]) -> str:
        """The only id, else the only one of the organisation named."""
        organisation = name.rsplit("/", 1)[0] + "/"
        own = [identifier for identifier in ids if "/" in name and identifier.startswith(organisation)]
        return self._one(text, own or ids)

    def _one(self, text: str, ids: list[str]) -> str:
        if len(ids) > 1:
            raise self._ambiguous(text, ids)
        return ids[0]

    def _ambiguous(self, text: str, ids: list[str]) -> Ambiguous:
        return Ambiguous(f"{text!r} could mean several {self.kind} entries.", candidates=tuple(ids[:20]),
                         hint="Use one of the full ids: " + ", ".join(ids[:_CANDIDATES]), pointer=f"/{self.kind}")

    @staticmethod
    def _told(text: str, identifier: str, reading: Peeled, noted: Resolution | None) -> Resolution:
        weights = reading.weights or (noted.weights if noted else None)
        own_name = not reading.peeled and ("/" not in text or text.strip().lower() == identifier)
        if own_name:
            return Resolution(id=identifier, weights=weights)
        as_format = f" with {weights} weights" if weights else ""
        return Resolution(id=identifier, weights=weights,
                          warning=f"{text.strip()} is answered as the catalogued {identifier}{as_format}.")

    def _refusal(self, text: str, bare: str) -> NotFound | Ambiguous:
        tokens = re.split(r"[\s_-]+", bare)
        starts = [i for i in self.ids if re.split(r"[\s_-]+", tail(i))[:len(tokens)] == tokens]
        if len(starts) > 1:
            return self._ambiguous(text, starts)
        candidates = tuple(starts) or self.closest(bare)
        return NotFound(f"No {self.kind} is catalogued under {text!r}.", candidates=candidates, pointer=f"/{self.kind}",
                        hint="Closest: " + ", ".join(candidates) if candidates else None)

    def closest(self, text: str) -> tuple[str, ...]:
        """The catalogued ids whose names look most like a text, best first."""
        names = {name: ids for level in (self._tails, self._bases) for name, ids in level.items()}
        near = difflib.get_close_matches(key(tail(text)), list(names), n=_CANDIDATES, cutoff=0.3)
        return tuple(dict.fromkeys(identifier for name in near for identifier in names[name]))[:_CANDIDATES]
