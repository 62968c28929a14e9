"""Models named by what sets them apart from the thread's own: another size, another version."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planner.services.parse.model_names import best, take_apart, twins
from planner.services.parse.models import ModelIndex
from planner.services.parse.vocabulary import ModelEntry

_SHORT_ANSWER = 5
"""Words of an answer to a choice; in a longer text "small" is part of a name."""
_VERSION = re.compile(
    r"(?:(?:no|ok|okay|sorry|oops|nvm|actually|i mean|i meant|the|use|with|and|make it)[\s,.]+)*"
    r"v?(?P<version>\d\.\d)(?: one| instead| version)?\W*"
)


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


_AMONG = re.compile(
    r"(?<!\w)(?:the |le |la |el |der |die |das |l')?(?P<which>newe(?:r|st)|latest|recent|older|oldest|bigge(?:r|st)"
    r"|larger?|largest"
    r"|big|smalle(?:r|st)|small|first|former|1st|second|2nd|latter|last|neuere\w*|[aä]ltere\w*|gr[oö](?:ss|ß)ere\w*"
    r"|kleinere\w*|erste\w*|zweite\w*|premier|deuxi[eè]me|second|primer[oa]?|segund[oa])"
    r"(?: one| model| of (?:them|those))?(?!\w)"
)


def among(offered: Sequence[ModelEntry], text: str) -> ModelEntry | None:
    """The offered model that its age, its size or its place names: "the newer one"."""
    said = _AMONG.search(text)
    if said is None or not offered or len(text.split()) > _SHORT_ANSWER:
        return None
    word = said["which"]
    if re.match(r"new|lat(?:est)|recent|neu", word):
        return max(offered, key=lambda e: e.released)
    if re.match(r"old|[aä]lt", word):
        return min(offered, key=lambda e: e.released)
    if re.match(r"big|larg|gr", word):
        return max(offered, key=lambda e: e.total_parameters or 0)
    if re.match(r"small|klein", word):
        return min(offered, key=lambda e: e.total_parameters or 0)
    return offered[0] if re.match(r"first|form|1st|erst|prem|prim", word) else offered[-1]


_SIBLING = re.compile(
    r"(?<!\w)the (?P<which>big|bigger|biggest|large|larger|largest|small|smaller|smallest|little)"
    r"(?: one| model| version| variant| sibling| brother)(?!\w)"
)


def by_size(index: ModelIndex, text: str, of: ModelEntry) -> ModelEntry | None:
    """The largest, smallest or next model of the thread's own kind: "and the big one?"."""
    said = _SIBLING.search(text)
    if said is None or not of.total_parameters:
        return None
    base, own, larger = take_apart(of), of.total_parameters, said["which"][0] in "bl" and said["which"] != "little"
    kin = [
        m.entry
        for m in index.models
        if (m.first, m.versions, m.words, m.entry.mixture) == (base.first, base.versions, base.words, of.mixture)
        and m.group != base.group
        and m.entry.total_parameters
        and (m.entry.total_parameters > own if larger else m.entry.total_parameters < own)
    ]
    ranked = sorted(twins(kin), key=lambda e: e.total_parameters or 0.0, reverse=not larger)
    return (ranked[0] if said["which"].endswith("r") else ranked[-1]) if ranked else None


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
