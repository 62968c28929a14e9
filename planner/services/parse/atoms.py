"""Names taken apart: "DeepSeek-V3.2", "dsv3.2" and "deepseek v3.2" all give deepseek, v3.2."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from planner.services.parse.wordlists import words

_PIECE = re.compile(
    r"(?P<noise>(?:bf|fp)\d+(?![a-z0-9])|c4ai)|(?P<size>\d+x\d+(?:\.\d+)?b(?![a-z0-9])"
    r"|(?<![a-z0-9])[ae]\d+(?:\.\d+)?[bm](?![a-z0-9])|\d+(?:\.\d+)?[bm](?![a-z0-9]))"
    r"|(?P<experts>\d+e(?![a-z0-9]))"
    r"|(?P<code>(?<![a-zà-ÿ])[a-z]\d+(?:\.\d+)*(?![\d]))"
    r"|(?P<word>[a-zà-ÿ]+)"
    r"|(?P<number>\d+(?:\.\d+)*)"
    r"|(?P<plus>\+(?!\s*\d))"
)
_JOIN = re.compile(r"[\s\-_:/]{0,2}")
# Words of a checkpoint's name that do not change the model.
NOISE = frozenset(
    words("""
    instruct it chat hf base pt bf16 fp16 fp8 dynamic c4ai nvidia meta preview
""")
)
_DATE = re.compile(r"20[12]\d|[012]\d[01]\d|2[3-9][01]\d|0\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Atom:
    """One indivisible part of a name and where it stands."""

    text: str
    kind: str
    """word, size, active, experts, code (one letter and a number), number, plus, noise, date."""
    start: int
    end: int


def atomise(text: str, known: frozenset[str] = frozenset(), short: Mapping[str, str] | None = None) -> list[Atom]:
    """The atoms of a text in order; ``known`` holds words and pairs that are run together, ``short`` abbreviations."""
    short = short or {}
    atoms: list[Atom] = []
    for match in _PIECE.finditer(text):
        kind = str(match.lastgroup)
        piece = match.group()
        if kind == "word":
            atoms.extend(_word(piece, match.start(), text[match.end() :], known, short))
            continue
        if kind == "plus":
            piece, kind = "plus", "word"
        elif kind == "size" and piece[0] in "ae":
            kind = "active" if piece[0] == "a" else "size"
        atoms.append(Atom(text=piece, kind=kind, start=match.start(), end=match.end()))
    return _glue(atoms, text)


def _word(piece: str, start: int, after: str, known: frozenset[str], short: Mapping[str, str]) -> list[Atom]:
    """A run of letters, cut where two known words meet (gptoss) or where a version letter hangs on (dsv of dsv3)."""
    if piece not in known:
        for cut in range(len(piece) - 1, 1, -1):
            head, tail = short.get(piece[:cut], piece[:cut]), piece[cut:]
            if f"{head} {tail}" in known or (head in known and len(tail) == 1 and re.match(r"\d", after)):
                return [
                    Atom(text=head, kind="word", start=start, end=start + cut),
                    Atom(text=tail, kind="word", start=start + cut, end=start + len(piece)),
                ]
    return [Atom(text=short.get(piece, piece), kind="word", start=start, end=start + len(piece))]


def _glue(atoms: list[Atom], text: str) -> list[Atom]:
    """A single letter directly before a number becomes one version code: v + 3 → v3."""
    glued: list[Atom] = []
    for atom in atoms:
        last = glued[-1] if glued else None
        if (
            last
            and atom.kind == "number"
            and last.kind == "word"
            and last.end - last.start == 1
            and last.end == atom.start
            and text[last.start] in "vrkm"
        ):
            glued[-1] = Atom(text=last.text + atom.text, kind="code", start=last.start, end=atom.end)
        else:
            glued.append(atom)
    return glued


def classify(atom: Atom) -> str:
    """The kind of an atom inside a published name, where dates and checkpoint words are told apart."""
    if atom.text in NOISE:
        return "noise"
    if re.fullmatch(r"v0\.?\d", atom.text) or (atom.kind == "number" and _DATE.fullmatch(atom.text)):
        return "date"
    return atom.kind


def joined(text: str, left: Atom, right: Atom) -> bool:
    """Whether two atoms stand close enough to belong to one name."""
    return bool(_JOIN.fullmatch(text[left.end : right.start]))
