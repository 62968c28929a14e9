"""Names of catalogued models taken apart, and which of several a set of parts means."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from planner.services.parse.atoms import NOISE, Atom, atomise, classify
from planner.services.parse.vocabulary import ModelEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedModel:
    """An entry with its name taken apart."""

    entry: ModelEntry
    texts: frozenset[str]
    words: frozenset[str]
    """Words that tell it from its siblings."""
    versions: frozenset[str]
    sizes: frozenset[str]
    first: str
    pairs: frozenset[str]
    """Neighbouring words, which people run together."""
    group: tuple[str, ...]
    """Equal for checkpoints that differ only in tuning or format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMention:
    """One model named in the text: an entry, several candidates, or a name nobody knows."""

    start: int
    end: int
    said: str
    candidates: tuple[ModelEntry, ...] = ()
    nicknamed: bool = False
    """Read from a nickname that other models could claim."""
    known: bool = True

    @property
    def entry(self) -> ModelEntry | None:
        """The model meant, when there is only one."""
        return self.candidates[0] if self.known and len(self.candidates) == 1 else None


def take_apart(entry: ModelEntry) -> NamedModel:
    """A published name as sets of parts."""
    name = re.sub(r"(?<=\d)_(?=\d)", ".", entry.name.split("/")[-1].lower())
    atoms = [(a, classify(a)) for a in atomise(name)]
    words = [a.text for a, kind in atoms if kind == "word"]
    return NamedModel(
        entry=entry,
        texts=frozenset(a.text for a, _ in atoms),
        words=frozenset(w for w in words if w not in NOISE),
        versions=frozenset(a.text for a, kind in atoms if kind in {"number", "code"}),
        sizes=frozenset(a.text for a, kind in atoms if kind == "size"),
        pairs=frozenset(f"{a} {b}" for a, b in pairwise(words)),
        first=next((w for w in words if w not in NOISE), name),
        group=tuple(sorted(a.text for a, kind in atoms if kind != "noise")),
    )


def twins(entries: Sequence[ModelEntry]) -> list[ModelEntry]:
    """One entry for each set of checkpoints that differ only in tuning or format, the plainest name first."""
    kept: dict[tuple[str, ...], ModelEntry] = {}
    for entry in entries:
        group = take_apart(entry).group
        best = kept.get(group)
        if best is None or plainness(entry) < plainness(best):
            kept[group] = entry
    return list(kept.values())


def plainness(entry: ModelEntry) -> tuple[bool, int]:
    """Checkpoints in a packed format come after plain ones, longer names after shorter ones."""
    return entry.id.endswith(("fp8", "fp4", "int4", "dynamic", "awq")), len(entry.id)


def best(candidates: list[NamedModel], span: list[Atom]) -> list[NamedModel]:
    """Candidates with the fewest words unsaid, unless only the family was said."""
    said = {a.text for a in span}
    if not candidates or (len(span) == 1 and span[0].kind == "word"):
        return candidates
    fewest = min(len(m.words - said) for m in candidates)
    return [m for m in candidates if len(m.words - said) == fewest]


def relative_size(text: str, start: int, end: int) -> tuple[Callable[..., NamedModel], int, int] | None:
    """The "big" or "small" beside a name, as the choice it makes among sizes."""
    behind = re.match(r"[\s-]+(big|large|larger|bigger|biggest|small|smaller|little|smallest)\b", text[end:])
    before = re.search(r"\b(big|large|larger|bigger|biggest|small|smaller|little|smallest)\s$", text[:start])
    match = behind or before
    if match is None:
        return None
    chooser = max if match[1].startswith(("b", "la")) else min
    return (chooser, start, end + behind.end()) if behind else (chooser, match.start(), end)


def after(atoms: list[Atom], position: int) -> int:
    """The first atom at or past a position."""
    return next((k for k, a in enumerate(atoms) if a.start >= position), len(atoms))
