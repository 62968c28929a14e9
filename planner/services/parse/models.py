"""Models in a text, found by the parts of their names: family, version, size and variant in any order and joining."""

from __future__ import annotations

import re
from dataclasses import dataclass

from planner.services.parse.atoms import NOISE, Atom, atomise, classify, joined
from planner.services.parse.canvas import BLANK, Canvas
from planner.services.parse.vocabulary import ModelEntry, Vocabulary

# Words of names that are also plain English: they never begin a name, or need company when they do.
_GENERIC = frozenset("small large medium mini next air coder flash pro super ultra nano linear lite plus micro base moe "
                     "med a r e h n k vl llm seed opt bloom command chat long exp terminus".split())
_NEEDS_COMPANY = frozenset("command opt seed bloom phi yi ds".split())
# Variants that are another model than the plain name.
_VARIANTS = frozenset("vl vision omni audio guard math embedding reranker coder code thinking distill distilled reasoning".split())
_OTHER_KIND = {"vl", "linear", "mamba"}
_SIZE_TOLERANCE = 0.06
"""A size said beside a family means the entry whose total is within this share (gpt-oss "117b", nemo "12b")."""


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
    words = [a.text for a, kind in atoms if kind == "word" and len(a.text) > 1 or kind == "word" and a.text not in NOISE]
    return NamedModel(
        entry=entry, texts=frozenset(a.text for a, _ in atoms),
        words=frozenset(w for w in words if w not in NOISE),
        versions=frozenset(a.text for a, kind in atoms if kind in {"number", "code"}),
        sizes=frozenset(a.text for a, kind in atoms if kind == "size"),
        pairs=frozenset(f"{a} {b}" for a, b in zip(words, words[1:], strict=False)),
        first=next((w for w in words if w not in NOISE), name),
        group=tuple(sorted(a.text for a, kind in atoms if kind != "noise")))


class ModelIndex:
    """The parts of every model's name, made once per vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.models = [take_apart(m) for m in vocabulary.models]
        words = {w for m in self.models for w in m.words if len(w) > 1}
        self.known = frozenset(words | NOISE)
        self._cuts = self.known | {pair for m in self.models for pair in m.pairs}
        self.anchors = {m.first for m in self.models} | {w for w in words if w not in _GENERIC}
        self.families = {m.first for m in self.models}
        self.codes = {v for m in self.models for v in m.versions if v[0].isalpha()}
        self.organisations = {m.entry.name.split("/")[0].lower() for m in self.models if "/" in m.entry.name}
        self.nicknames = {self._spell(name): ids for name, ids in vocabulary.model_nicknames.items()}

    def _spell(self, name: str) -> tuple[str, ...]:
        return tuple(a.text for a in self.atoms(name))

    def atoms(self, text: str) -> list[Atom]:
        """The atoms of a text, run-together names cut by this vocabulary's words."""
        return atomise(text, self._cuts, self.vocabulary.words)

    def matches(self, model: NamedModel, atom: Atom, text: str = "") -> bool:
        """Whether an atom of a text can stand for a part of this model's name."""
        if atom.text in model.texts or (atom.text == "moe" and model.entry.mixture):
            return True
        if atom.text == "dense":
            return not model.entry.mixture
        if atom.kind == "number":
            return f"v{atom.text}" in model.texts or (f"{atom.text}b" in model.sizes and self._stands_for_size(atom, text))
        if atom.kind == "code" and atom.text[0] == "v":
            return atom.text[1:] in model.versions
        if atom.kind == "size" and model.entry.total_parameters and atom.text[:-1].replace(".", "").isdigit():
            said = float(atom.text[:-1]) * (1e9 if atom.text[-1] == "b" else 1e6)
            return abs(said - model.entry.total_parameters) <= _SIZE_TOLERANCE * model.entry.total_parameters
        return False

    def narrow(self, candidates: list[NamedModel], atom: Atom, text: str = "") -> list[NamedModel]:
        """The candidates an atom leaves; a size written in a name beats one that is only near."""
        left = [m for m in candidates if self.matches(m, atom, text)]
        exact = [m for m in left if atom.text in m.texts] if atom.kind == "size" else []
        return exact or left

    @staticmethod
    def _stands_for_size(atom: Atom, text: str) -> bool:
        """A size without its b: glued by a hyphen, or large and followed by no unit."""
        glued = atom.start > 0 and text[atom.start - 1] == "-"
        return glued or (float(atom.text) >= 20 and bool(re.match(
            rf"\s*(?:$|[?!.;,)]|{BLANK}|(?:on|in|with|for|at|fp|bf|int|awq|gptq|nvfp|mxfp)\b)", text[atom.end:])))

    def find(self, canvas: Canvas) -> list[ModelMention]:
        """Every model named, in order; each name is claimed."""
        self._drop_organisations(canvas)
        text = canvas.open
        atoms = self.atoms(text)
        mentions: list[ModelMention] = []
        i = 0
        while i < len(atoms):
            found = self._at(atoms, i, text, canvas.text)
            if found is None:
                i += 1
                continue
            mention, i = found
            if mentions and mention.start < mentions[-1].end:
                continue
            canvas.claim(mention.start, mention.end)
            mentions.append(mention)
        return mentions

    def _drop_organisations(self, canvas: Canvas) -> None:
        """Blank "organisation/" before a name, so that the organisation is not read as a second model."""
        for match in re.finditer(r"(?<![\w/.-])([a-z][\w.-]*)/(?=[a-z])", canvas.open):
            org, following = match[1], self.atoms(canvas.open[match.end():match.end() + 40])
            if org in self.organisations or (following and following[0].text in self.anchors
                                             and not any(a.text in self.anchors for a in self.atoms(org))):
                canvas.claim(match.start(), match.end())

    def _at(self, atoms: list[Atom], i: int, text: str, full: str) -> tuple[ModelMention, int] | None:
        """The name that begins at an atom, and the atom after it."""
        anchor = atoms[i]
        if anchor.text not in self.anchors and anchor.text not in self.codes:
            return self._nickname(atoms, i, text, full)
        candidates = [m for m in self.models if anchor.text in m.texts]
        span = [anchor]
        if i and atoms[i - 1].kind == "size" and joined(text, atoms[i - 1], anchor):
            before = self.narrow(candidates, atoms[i - 1], text)
            if before:
                candidates, span = before, [atoms[i - 1], anchor]
        j = i + 1
        while j < len(atoms) and joined(text, atoms[j - 1], atoms[j]):
            narrowed = self.narrow(candidates, atoms[j], text)
            if not narrowed and not self._skippable(atoms[j - 1], atoms[j], text):
                break
            candidates = narrowed or candidates
            span.append(atoms[j])
            j += 1
        while len(span) > 1 and span[-1].text in _GENERIC and len(span[-1].text) == 1 and not self._tight(span, text):
            span.pop()
            j -= 1
        if len(span) == 1 and anchor.text in _NEEDS_COMPANY:
            return None
        return self._resolve(candidates, span, atoms, j, text, full)

    @staticmethod
    def _tight(span: list[Atom], text: str) -> bool:
        """Whether a last single letter really belongs to the name (command a, but not "llama a")."""
        del text
        return span[0].text in _NEEDS_COMPANY or span[-2].end == span[-1].start

    @staticmethod
    def _skippable(before: Atom, atom: Atom, text: str) -> bool:
        """Checkpoint words and dates inside a name change nothing."""
        glued = text[before.end:atom.start] in {"-", "_"}
        return (atom.text in {"instruct", "chat", "preview"} or (glued and classify(atom) in {"noise", "date"})
                or (glued and bool(re.match(r"\d+k?$|v0", atom.text)) and classify(atom) == "date"))

    def _nickname(self, atoms: list[Atom], i: int, text: str, full: str) -> tuple[ModelMention, int] | None:
        """A nickname that no name begins with: "70b"."""
        for name, ids in sorted(self.nicknames.items(), key=lambda item: -len(item[0])):
            span = atoms[i:i + len(name)]
            if tuple(a.text for a in span) == name and all(joined(text, a, b) for a, b in zip(span, span[1:], strict=False)):
                entries = tuple(e for identifier in ids if (e := self.vocabulary.model(identifier)))
                if entries:
                    said = full[span[0].start:span[-1].end]
                    return self._nick(entries, said, span[0].start, span[-1].end), i + len(name)
        return None

    def _resolve(self, candidates: list[NamedModel], span: list[Atom], atoms: list[Atom], j: int, text: str,
                 full: str) -> tuple[ModelMention, int]:
        """The models a finished name can mean."""
        start, end = span[0].start, span[-1].end
        ids = self.nicknames.get(tuple(a.text for a in span))
        if ids:
            entries = tuple(e for identifier in ids if (e := self.vocabulary.model(identifier)))
            return self._nick(entries, full[start:end], start, end), j
        wrong = self._stray(candidates, span, atoms, j, text)
        if wrong is not None:
            closest = tuple(_best(candidates, span))
            return ModelMention(start=start, end=wrong, said=full[start:wrong], known=False,
                                candidates=tuple(m.entry for m in closest)), _after(atoms, wrong)
        size = _relative_size(full, start, end)
        best = _best(candidates, span)
        if size is not None and len(best) > 1:
            best = [size[0](best, key=lambda m: m.entry.total_parameters or 0)]
            start, end = min(start, size[1]), max(end, size[2])
        return self._settle(tuple(m.entry for m in best), full[start:end], start, end), _after(atoms, end)

    def _stray(self, candidates: list[NamedModel], span: list[Atom], atoms: list[Atom], j: int, text: str) -> int | None:
        """Where a name ends that goes on into a version or size no entry has; None when it does not."""
        if j >= len(atoms) or not joined(text, atoms[j - 1], atoms[j]):
            return self._other_kind(candidates, span)
        following = atoms[j]
        if following.kind == "word" and following.text not in self.families and following.text in _VARIANTS:
            return self._chunk_end(atoms, j, text)
        sized = any(a.kind == "size" for a in span)
        if following.kind == "size" and not sized:
            return following.end
        touching = following.start == atoms[j - 1].end or text[atoms[j - 1].end:following.start] in {"-", "."}
        versioned = any(a.kind in {"number", "code"} for a in span)
        if following.kind in {"number", "code"} and not versioned and not sized and classify(following) != "date":
            after = atoms[j + 1] if j + 1 < len(atoms) else None
            if after and after.kind == "size" and joined(text, following, after):
                return after.end
            if touching and not text[following.end:following.end + 1].isalpha():
                return following.end
        return self._other_kind(candidates, span)

    @staticmethod
    def _other_kind(candidates: list[NamedModel], span: list[Atom]) -> int | None:
        """The name's end when only models of another kind bear it: a vision model does not answer for a plain one."""
        said = {a.text for a in span}
        if len(span) > 1 and all(_OTHER_KIND & (m.words - said) for m in _best(candidates, span)):
            return span[-1].end
        return None

    def _chunk_end(self, atoms: list[Atom], j: int, text: str) -> int:
        """Where a variant nobody has ends, with the size behind it."""
        if atoms[j].text.startswith("distill"):
            k = j
            while k + 1 < len(atoms) and joined(text, atoms[k], atoms[k + 1]) and k - j < 4 and \
                    (atoms[k + 1].kind != "word" or atoms[k + 1].text in self.known):
                k += 1
            return atoms[k].end
        following = atoms[j + 1] if j + 1 < len(atoms) else None
        return following.end if following and following.kind == "size" and joined(text, atoms[j], following) else atoms[j].end

    def _settle(self, entries: tuple[ModelEntry, ...], said: str, start: int, end: int) -> ModelMention:
        """One mention for all checkpoints that differ only in tuning or format."""
        return ModelMention(start=start, end=end, said=said, candidates=tuple(twins(entries)))

    @staticmethod
    def _nick(entries: tuple[ModelEntry, ...], said: str, start: int, end: int) -> ModelMention:
        return ModelMention(start=start, end=end, said=said, candidates=entries, nicknamed=True)

    def alike(self, entry: ModelEntry) -> tuple[ModelEntry, ...]:
        """Other models with the same tensors, for which an answer holds too."""
        return tuple(m.entry for m in self.models if entry.architecture and m.entry.architecture == entry.architecture
                     and m.entry.id != entry.id and take_apart(m.entry).group != take_apart(entry).group)

    def of_size(self, size: str) -> tuple[ModelEntry, ...]:
        """Entries of a size said without a family."""
        probe = Atom(text=size, kind="size", start=0, end=len(size))
        return tuple(twins([m.entry for m in self.narrow(self.models, probe)]))

    def sibling(self, text: str, of: ModelEntry) -> ModelEntry | None:
        """The relative of a model that a bare size or variant names ("and the 14b?")."""
        base = take_apart(of)
        atoms = [a for a in self.atoms(text) if a.kind in {"size", "active"} or a.text in self.known | {"moe", "dense"}]
        family = [m for m in self.models if m.first == base.first and m.versions == base.versions]
        for pool in (family, [m for m in self.models if m.first == base.first]):
            fitting = [m for m in pool if atoms and all(self.matches(m, a) for a in atoms)]
            unique = twins([m.entry for m in _best(fitting, atoms)])
            if len(unique) == 1:
                return unique[0]
        return None


def twins(entries: list[ModelEntry] | tuple[ModelEntry, ...]) -> list[ModelEntry]:
    """One entry for each set of checkpoints that differ only in tuning or format, the plainest name first."""
    kept: dict[tuple[str, ...], ModelEntry] = {}
    for entry in entries:
        group = take_apart(entry).group
        best = kept.get(group)
        if best is None or _plainness(entry) < _plainness(best):
            kept[group] = entry
    return list(kept.values())


def _plainness(entry: ModelEntry) -> tuple[bool, int]:
    """Checkpoints in a packed format come after plain ones, longer names after shorter ones."""
    return entry.id.endswith(("fp8", "fp4", "int4", "dynamic", "awq")), len(entry.id)


def _best(candidates: list[NamedModel], span: list[Atom]) -> list[NamedModel]:
    """Candidates with the fewest words unsaid, unless only the family was said."""
    said = {a.text for a in span}
    if not candidates or (len(span) == 1 and span[0].kind == "word"):
        return candidates
    fewest = min(len(m.words - said) for m in candidates)
    return [m for m in candidates if len(m.words - said) == fewest]


def _relative_size(text: str, start: int, end: int):  # noqa: ANN202 - a pair of max or min and the span
    """The "big" or "small" beside a name, as the choice it makes among sizes."""
    after = re.match(r"[\s-]+(big|large|larger|bigger|biggest|small|smaller|little|smallest)\b", text[end:])
    before = re.search(r"\b(big|large|larger|bigger|biggest|small|smaller|little|smallest)\s$", text[:start])
    match = after or before
    if match is None:
        return None
    chooser = max if match[1].startswith(("b", "la")) else min
    return (chooser, start, end + after.end()) if after else (chooser, match.start(), end)  # type: ignore[union-attr]


def _after(atoms: list[Atom], position: int) -> int:
    """The first atom at or past a position."""
    return next((k for k, a in enumerate(atoms) if a.start >= position), len(atoms))
