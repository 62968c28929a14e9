"""Models in a text, found by the parts of their names: family, version, size and variant in any order and joining."""

from __future__ import annotations

import re
from itertools import pairwise

from planner.services.parse.atoms import NOISE, Atom, atomise, classify, joined
from planner.services.parse.canvas import BLANK, Canvas
from planner.services.parse.model_names import ModelMention, NamedModel, after, best, relative_size, take_apart, twins
from planner.services.parse.vocabulary import ModelEntry, Vocabulary
from planner.services.parse.wordlists import words

# Words of names that are also plain English: they never begin a name, or need company when they do.
_GENERIC = frozenset(
    words("""
    small large medium mini next air coder flash pro super ultra nano linear lite plus micro base moe  med a r e
    h n k vl llm seed opt bloom command chat long exp terminus
""")
)
_NEEDS_COMPANY = frozenset(
    words("""
    command opt seed bloom phi yi ds open step vision ai hy
""")
)
# What follows a number that ends a name: not a unit, nor a GPU it counts.
_STANDS = re.compile(
    r"\s*(?:$|[?!,;:]|(?:on|in|for|with|at|[bf]?fp\d+|bf16|int\d|awq|gptq|nvfp4|mxfp4|w\da\d+|[48][\s-]bit"
    r"|vs|or|and)\b)"
)
# Variants that are another model than the plain name.
_VARIANTS = frozenset(
    words("""
    medium vl vision omni audio guard math embedding reranker coder code thinking distill distilled reasoning
""")
)
_MANY = 2
"""Parts of a nickname that still names a model without its family [1]."""
_OTHER_KIND = {"vl", "linear", "mamba"}
_SIZE_TOLERANCE = 0.06
"""A size said beside a family means the entry whose total is within this share (gpt-oss "117b", nemo "12b")."""


class ModelIndex:
    """The parts of every model's name, made once per vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.models = [take_apart(m) for m in vocabulary.models]
        words = {w for m in self.models for w in m.words if len(w) > 1}
        self.known = frozenset(words | NOISE)
        self.pairs = frozenset(pair for m in self.models for pair in m.pairs)
        self._cuts = self.known | self.pairs
        self.anchors = {m.first for m in self.models} | {w for w in words if w not in _GENERIC}
        self.families = {m.first for m in self.models}
        self.codes = {v for m in self.models for v in m.versions if v[0].isalpha()}
        self.organisations = {m.entry.name.split("/")[0].lower() for m in self.models if "/" in m.entry.name}
        spelt = {self._spell(name): ids for name, ids in vocabulary.model_nicknames.items()}
        # A version code stands for its family: "r1 distill llama 70b".
        self.nicknames = {n[1:]: ids for n, ids in spelt.items() if len(n) > _MANY and n[1] in self.codes} | spelt

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
            return f"v{atom.text}" in model.texts or (
                f"{atom.text}b" in model.sizes and self._stands_for_size(atom, text)
            )
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
        return glued or (
            float(atom.text) >= 20
            and bool(
                re.match(
                    rf"\s*(?:$|[?!.;,)]|{BLANK}|(?:on|in|with|for|at|fp|bf|int|awq|gptq|nvfp|mxfp)\b)", text[atom.end :]
                )
            )
        )

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
            org, following = match[1], self.atoms(canvas.open[match.end() : match.end() + 40])
            if org in self.organisations or (
                following
                and following[0].text in self.anchors
                and not any(a.text in self.anchors for a in self.atoms(org))
            ):
                canvas.claim(match.start(), match.end())

    def _at(self, atoms: list[Atom], i: int, text: str, full: str) -> tuple[ModelMention, int] | None:
        """The name that begins at an atom, and the atom after it; a nickname wins over a name no longer than it."""
        nick, named = self._nickname(atoms, i, text, full), self._name(atoms, i, text, full)
        if nick is None or named is None:
            return nick or named
        agreed = named[0].entry is not None and named[0].candidates == nick[0].candidates
        return named if agreed or named[0].end > nick[0].end else nick

    def _name(self, atoms: list[Atom], i: int, text: str, full: str) -> tuple[ModelMention, int] | None:
        """A published name or part of one, grown from its first atom as far as the catalogue goes along."""
        anchor = atoms[i]
        if anchor.text not in self.anchors and anchor.text not in self.codes:
            return None
        candidates = [m for m in self.models if anchor.text in m.texts]
        span = [anchor]
        if i and atoms[i - 1].kind == "size" and joined(text, atoms[i - 1], anchor):
            before = self.narrow(candidates, atoms[i - 1], text)
            if before:
                candidates, span = before, [atoms[i - 1], anchor]
        j = i + 1
        while j < len(atoms) and joined(text, atoms[j - 1], atoms[j]):
            skippable = self._skippable(atoms[j - 1], atoms[j], text)
            tuning = skippable and atoms[j].text in NOISE  # never tells models apart
            narrowed = [] if tuning else self.narrow(candidates, atoms[j], text)
            if not narrowed and not skippable:
                break
            candidates = narrowed or candidates
            span.append(atoms[j])
            j += 1
        while len(span) > 1 and len(span[-1].text) == 1 and span[-1].text in _GENERIC and not _tight(span):
            span.pop()
            j -= 1
        if len(span) == 1 and anchor.text in _NEEDS_COMPANY:
            return None
        return self._resolve(candidates, span, atoms, j, text, full)

    @staticmethod
    def _skippable(before: Atom, atom: Atom, text: str) -> bool:
        """Checkpoint words and dates inside a name change nothing."""
        glued = text[before.end : atom.start] in {"-", "_"}
        return (
            atom.text in {"instruct", "chat", "preview"}
            or (glued and classify(atom) in {"noise", "date"})
            or (glued and bool(re.match(r"\d+k?$|v0", atom.text)) and classify(atom) == "date")
        )

    def _nickname(self, atoms: list[Atom], i: int, text: str, full: str) -> tuple[ModelMention, int] | None:
        """A nickname that no name begins with: "70b"."""
        for name, ids in sorted(self.nicknames.items(), key=lambda item: -len(item[0])):
            span = atoms[i : i + len(name)]
            if tuple(a.text for a in span) == name and all(joined(text, a, b) for a, b in pairwise(span)):
                entries = tuple(e for identifier in ids if (e := self.vocabulary.model(identifier)))
                if entries:
                    said = full[span[0].start : span[-1].end]
                    return self._nick(entries, said, span[0].start, span[-1].end), i + len(name)
        return None

    def _resolve(
        self, candidates: list[NamedModel], span: list[Atom], atoms: list[Atom], j: int, text: str, full: str
    ) -> tuple[ModelMention, int]:
        """The models a finished name can mean."""
        start, end = span[0].start, span[-1].end
        wrong = self._stray(candidates, span, atoms, j, text, full)
        if wrong is not None:
            closest = tuple(best(candidates, span))
            return ModelMention(
                start=start, end=wrong, said=full[start:wrong], known=False, candidates=tuple(m.entry for m in closest)
            ), after(atoms, wrong)
        size = relative_size(full, start, end)
        meant = best(candidates, span)
        if size is not None and len(meant) > 1:
            meant = [size[0](meant, key=lambda m: m.entry.total_parameters or 0)]
            start, end = min(start, size[1]), max(end, size[2])
        return self._settle(tuple(m.entry for m in meant), full[start:end], start, end), after(atoms, end)

    def _stray(
        self, candidates: list[NamedModel], span: list[Atom], atoms: list[Atom], j: int, text: str, full: str
    ) -> int | None:
        """Where a name ends that goes on into a version or size no entry has; None when it does not."""
        if j >= len(atoms) or not joined(text, atoms[j - 1], atoms[j]):
            return self._other_kind(candidates, span)
        following = atoms[j]
        if following.kind == "word" and following.text not in self.families and following.text in _VARIANTS:
            return self._chunk_end(atoms, j, text)
        sized = any(a.kind == "size" for a in span)
        if following.kind == "size" and not sized:
            return following.end
        touching = following.start == atoms[j - 1].end or text[atoms[j - 1].end : following.start] in {"-", "."}
        versioned = any(a.kind in {"number", "code"} for a in span)
        if following.kind in {"number", "code"} and not versioned and not sized and classify(following) != "date":
            after = atoms[j + 1] if j + 1 < len(atoms) else None
            if after and after.kind == "size" and joined(text, following, after):
                return after.end
            stands = len(following.text) <= 3 and (
                _STANDS.match(text, following.end) or _STANDS.match(full, following.end)
            )
            if (touching or stands) and not text[following.end : following.end + 1].isalpha():
                return following.end
        return self._other_kind(candidates, span)

    @staticmethod
    def _other_kind(candidates: list[NamedModel], span: list[Atom]) -> int | None:
        """The name's end when only models of another kind bear it: a vision model does not answer for a plain one."""
        said = {a.text for a in span}
        if len(span) > 1 and all(_OTHER_KIND & (m.words - said) for m in best(candidates, span)):
            return span[-1].end
        return None

    def _chunk_end(self, atoms: list[Atom], j: int, text: str) -> int:
        """Where a variant nobody has ends, with the size behind it."""
        if atoms[j].text.startswith("distill"):
            k = j
            while (
                k + 1 < len(atoms)
                and joined(text, atoms[k], atoms[k + 1])
                and k - j < 4
                and (atoms[k + 1].kind != "word" or atoms[k + 1].text in self.known)
            ):
                k += 1
            return atoms[k].end
        following = atoms[j + 1] if j + 1 < len(atoms) else None
        return (
            following.end
            if following and following.kind == "size" and joined(text, atoms[j], following)
            else atoms[j].end
        )

    def _settle(self, entries: tuple[ModelEntry, ...], said: str, start: int, end: int) -> ModelMention:
        """One mention for all checkpoints that differ only in tuning or format."""
        return ModelMention(start=start, end=end, said=said, candidates=tuple(twins(entries)))

    @staticmethod
    def _nick(entries: tuple[ModelEntry, ...], said: str, start: int, end: int) -> ModelMention:
        return ModelMention(start=start, end=end, said=said, candidates=entries, nicknamed=True)

    def alike(self, entry: ModelEntry) -> tuple[ModelEntry, ...]:
        """Other models with the same tensors, for which an answer holds too."""
        return tuple(
            m.entry
            for m in self.models
            if entry.architecture
            and m.entry.architecture == entry.architecture
            and m.entry.id != entry.id
            and take_apart(m.entry).group != take_apart(entry).group
        )

    def of_size(self, size: str) -> tuple[ModelEntry, ...]:
        """Entries of a size said without a family."""
        probe = Atom(text=size, kind="size", start=0, end=len(size))
        return tuple(twins([m.entry for m in self.narrow(self.models, probe)]))


def _tight(span: list[Atom]) -> bool:
    """Whether a last single letter really belongs to the name (command a, but not "llama a")."""
    return span[0].text in _NEEDS_COMPANY or span[-2].end == span[-1].start
