"""Models named by what sets them apart from the thread's own: another size, another version."""

from __future__ import annotations

import re

from planner.services.parse.model_names import best, take_apart, twins
from planner.services.parse.models import ModelIndex
from planner.services.parse.vocabulary import ModelEntry

_VERSION = re.compile(r"(?:(?:the|use|with|and|make it) )?v?(?P<version>\d\.\d)(?: one| instead| version)?\W*")


def sibling(index: ModelIndex, text: str, of: ModelEntry) -> ModelEntry | None:
    """The relative of a model that a bare size or variant names ("and the 14b?")."""
    base = take_apart(of)
    atoms = [a for a in index.atoms(text) if a.kind in {"size", "active"} or a.text in index.known | {"moe", "dense"}]
    family = [m for m in index.models if m.first == base.first and m.versions == base.versions]
    for pool in (family, [m for m in index.models if m.first == base.first]):
        fitting = [m for m in pool if atoms and all(index.matches(m, a) for a in atoms)]
        unique = twins([m.entry for m in best(fitting, atoms)])
        if len(unique) == 1:
            return unique[0]
    return None


def version(index: ModelIndex, text: str, of: ModelEntry) -> ModelEntry | None:
    """The model of the same family and size that a bare version names ("3.1")."""
    base, said = take_apart(of), _VERSION.fullmatch(text.strip())
    if said is None:
        return None
    unique = twins(
        [
            m.entry
            for m in index.models
            if m.first == base.first
            and m.sizes == base.sizes
            and m.words == base.words
            and said["version"] in m.versions
        ]
    )
    return unique[0] if len(unique) == 1 else None
