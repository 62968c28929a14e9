"""GPUs in a text: part names, forms and memory sizes as qualifiers, families; their counts are read later."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

from planner.services.parse.canvas import Canvas
from planner.services.parse.vocabulary import SkuEntry, Vocabulary

_FORMS = ("sxm", "pcie", "nvl", "oam", "server", "workstation")
_BRANDS = (
    "nvidia",
    "amd",
    "intel",
    "google",
    "aws",
    "apple",
    "geforce",
    "tesla",
    "instinct",
    "rtx",
    "gtx",
    "dgx",
    "hgx",
    "jetson",
    "agx",
    "arc",
    "tpu",
    "rubin",
    "quadro",
    "radeon",
)
_SLUG = re.compile(r"(?P<base>.+?)(?:-(?P<form>sxm|pcie|nvl|oam|server|workstation))?-(?P<memory>\d+)gb")
_QUALIFIER = re.compile(
    r"[\s\-,(]{0,2}(?:with\s|w/\s?)?(?:(?P<form>sxm|pci-?e|nvl(?!\d)|oam|server(?! *s\b)(?=[ ,.?!:;)]|$)"
    r"|workstation)\d?"
    r"|(?P<memory>\d{2,3})[\s-]?(?:gb?|gib|gigs?)\b"
    r"|(?:vram|hbm\d?e?|nvl72|superchip|tensor core|ada|blackwell|max-?q|gpus?(?=\s*(?:80|40)\s?gb)|edition)\b)\)?"
)
_BARE_MEMORY = re.compile(r"[\s-](?P<memory>\d{2,3})(?=\s*(?:$|[?!)]|[.,](?!\d)|(?:for|on|with|node|box|and|or|vs)\b))")
_MEMORY_AHEAD = re.compile(r"(?<![\w.])(?P<memory>\d{2,3})[\s-]?gb\s$")
_SIBLING = re.compile(
    r"\s*(?:vs\.?|versus|or|against|/|oder|ou|o)\s*(?:the\s|an?\s)?"
    r"(?P<of>(?P<form>sxm|pci-?e|nvl)\d?|(?P<memory>\d{2,3})\s?gb)(?!\w)"
)
# A bare number that is also a part (4090) is no part when a unit follows it.
_UNIT_AHEAD = re.compile(
    r"\s?(?:k\b|tok|in\b(?!\s*(?:\x01|[48]|fp|bf|int|awq|gptq|nvfp|q\d|w\d))|out\b|ctx|context|users?|req|rps"
    r"|qps|rpm|input|output|prompt|window|per\b|/|\$|€)"
)
# Shapes of part names, for saying that one is not in the catalogue.
_UNKNOWN = re.compile(
    r"(?<![\w.-])(?:(?:nvidia|amd|intel|rtx|gtx|radeon|tesla|quadro|geforce)\s?(?:rx|rtx"
    r"|gtx)?\s?(?:[a-z]{1,3})?\d{2,4}(?:\s?(?:ti|xtx?|super))?"
    r"|gaudi\s?\d|trainium\s?\d|inferentia\s?\d|tpu\s?v?\d+[a-z]?|mi\d{2,3}[a-z]?|(?!p(?:50|75|90|95"
    r"|99)\b)(?:[ghlabvpk]|g[bh])\d{2,4}[a-z]?"
    r"|m[1-5] (?:ultra|max|pro)|groq|cerebras|sambanova|sohu|jetson \w+)s?(?![\w.])"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkuMention:
    """One GPU named in the text: an entry, several candidates, or a name nobody knows."""

    start: int
    end: int
    said: str
    candidates: tuple[SkuEntry, ...] = ()
    gpus: int | None = None
    """How many, when said beside the name."""
    boxed: bool = False
    """Said as a node, box, DGX or HGX."""
    article: bool = False
    """Counted by an article alone ("an H100")."""

    @property
    def entry(self) -> SkuEntry | None:
        """The part meant, when there is only one."""
        return self.candidates[0] if len(self.candidates) == 1 else None


class SkuIndex:
    """The patterns that find SKUs, made once per vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._slugs = {sku.id: match for sku in vocabulary.skus if (match := _SLUG.fullmatch(sku.id))}
        groups: dict[str, list[SkuEntry]] = defaultdict(list)
        for sku in vocabulary.skus:
            groups[self._slugs[sku.id]["base"] if sku.id in self._slugs else sku.id].append(sku)
        self._names: dict[str, list[SkuEntry]] = {}
        for base, group in groups.items():
            group.sort(key=lambda s: (self._form(s) not in {"sxm", "server", ""}, -self._memory(s)))
            self._names[_core(base)] = group
        for base, group in groups.items():
            for sku in group:
                for alias in sku.aliases:
                    usual = [sku, *(s for s in group if s is not sku)]
                    self._names[_core(_key(alias))] = usual
                    if _core(_key(alias)) == _core(base):
                        groups[base] = usual
        entries = {sku.id: sku for sku in vocabulary.skus}
        self._names |= {
            _key(name): [entries[i] for i in ids if i in entries] for name, ids in vocabulary.sku_nicknames.items()
        }
        self._pattern = self._compile()
        self.families = self._architectures(vocabulary)

    def _form(self, sku: SkuEntry) -> str:
        return (self._slugs[sku.id]["form"] or "") if sku.id in self._slugs else ""

    def _memory(self, sku: SkuEntry) -> int:
        return int(self._slugs[sku.id]["memory"]) if sku.id in self._slugs else 0

    def _compile(self) -> re.Pattern[str]:
        """One pattern for every name, the longest first."""
        self._names |= {
            key.removesuffix("x"): group
            for key, group in list(self._names.items())
            if re.search(r"\dx$", key) and key.removesuffix("x") not in self._names
        }
        parts = "|".join(_loose(name) for name in sorted(self._names, key=len, reverse=True) if name)
        return re.compile(
            rf"(?:(?<=\dx)|(?<=\d\*)|(?<![a-z\d.$€£]))(?P<brand>(?:(?:{'|'.join(_BRANDS)})[\s-]?)*)"
            rf"(?P<part>{parts})(?:'?s(?![a-z\d]))?(?![a-wyz\d]|x(?!\s?\d)|\.\d)"
        )

    @staticmethod
    def _architectures(vocabulary: Vocabulary) -> dict[str, tuple[SkuEntry, ...]]:
        """Architecture names people use for a whole family."""
        found: dict[str, list[SkuEntry]] = defaultdict(list)
        for sku in vocabulary.skus:
            word = re.match(r"[a-z]{3,}\d?", sku.architecture.lower())
            if word and word.group() not in {"apple", "gaudi", "tpu"}:
                found[word.group()].append(sku)
        return {name: tuple(skus) for name, skus in found.items()}

    def find(self, canvas: Canvas) -> list[SkuMention]:
        """Every GPU named, in order; each name is claimed."""
        mentions: list[SkuMention] = []
        position = 0
        while (match := self._pattern.search(canvas.open, position)) is not None:
            position = match.end()
            if match["part"].isdigit() and not match["brand"] and _UNIT_AHEAD.match(canvas.open, match.end()):
                continue
            mentions.append(self._qualified(canvas, match))
            mentions += self._siblings(canvas, match, mentions[-1].end)
            position = mentions[-1].end
        return sorted([*mentions, *self._family_mentions(canvas)], key=lambda m: m.start)

    def _qualified(self, canvas: Canvas, match: re.Match[str]) -> SkuMention:
        """The entry that name, form and memory single out."""
        candidates = self._names[_key(match["part"])]
        brand = re.findall(r"[a-z]+", match["brand"])
        start, end = match.span()
        if brand and brand[-1] in {"dgx", "hgx"} and not any(brand[-1] in s.id for s in candidates):
            start = match.start("part")
        form, memory = "", 0
        ahead = _MEMORY_AHEAD.search(canvas.open, 0, start)
        if ahead is not None and any(self._memory(s) == int(ahead["memory"]) for s in candidates):
            memory, start = int(ahead["memory"]), ahead.start()
        while (extra := _QUALIFIER.match(canvas.open, end)) is not None:
            if extra["form"] == "server" and all(self._form(s) != "server" for s in candidates):
                break  # a box, not a form of the part
            form = (extra["form"] or "").replace("-", "") or form
            memory = int(extra["memory"]) if extra["memory"] else memory
            end = extra.end()
        bare = _BARE_MEMORY.match(canvas.open, end)
        if not memory and bare and any(self._memory(s) == int(bare["memory"]) for s in candidates):
            memory, end = int(bare["memory"]), bare.end()
        chosen = (
            [s for s in candidates if (not form or self._form(s) == form) and (not memory or self._memory(s) == memory)]
            or [s for s in candidates if form and self._form(s) == form]
            or candidates
        )
        canvas.claim(start, end)
        return SkuMention(
            start=start, end=end, said=canvas.text[match.start() : end].strip(), candidates=tuple(chosen[:1])
        )

    def _siblings(self, canvas: Canvas, match: re.Match[str], end: int) -> list[SkuMention]:
        """Other forms or memory sizes of a part just named: "H100 SXM vs PCIe", "A100 40GB or 80GB"."""
        found: list[SkuMention] = []
        while (other := _SIBLING.match(canvas.open, end)) is not None:
            form, memory = (other["form"] or "").replace("-", ""), int(other["memory"] or 0)
            fitting = [
                s
                for s in self._names[_key(match["part"])]
                if (form and self._form(s) == form) or (memory and self._memory(s) == memory)
            ]
            if not fitting:
                break
            start, end = other.start("of"), other.end()
            canvas.claim(start, end)
            said = canvas.text[start:end].strip()
            found.append(SkuMention(start=start, end=end, said=said, candidates=tuple(fitting[:1])))
        return found

    def _family_mentions(self, canvas: Canvas) -> list[SkuMention]:
        names = "|".join(sorted(self.families, key=len, reverse=True))
        pattern = re.compile(rf"(?<![\w-])(?P<name>{names})(?:\s?(?:gpus?|cards?|generation|parts?))?(?![\w-])")
        return [
            SkuMention(start=m.start(), end=m.end(), said=m.group().strip(), candidates=self.families[m["name"]])
            for m in canvas.take(pattern)
        ]


def unknown_skus(canvas: Canvas) -> list[SkuMention]:
    """Names that look like a GPU's and are in no catalogue."""
    return [SkuMention(start=m.start(), end=m.end(), said=m.group().strip()) for m in canvas.take(_UNKNOWN)]


def _key(name: str) -> str:
    """One spelling per name: lower case, hyphens between parts, none inside a short part name (l-40 = l40)."""
    key = re.sub(r"[\s_-]+", "-", name.strip().lower())
    return re.sub(r"^([a-z]{1,2})-(?=\d)", r"\1", re.sub(r"(?<=[a-z]{3})(?=\d)", "-", key))


def _core(base: str) -> str:
    """A base name without its brand words."""
    words = base.split("-")
    while len(words) > 1 and words[0] in _BRANDS:
        words = words[1:]
    return _key("-".join(words))


def _loose(core: str) -> str:
    """A pattern for a core name: hyphens, spaces or nothing between its parts."""
    pattern = r"[\s-]?".join(re.escape(part) for part in core.split("-"))
    return re.sub(r"^([a-z]{1,2})(\d)", r"\1-?\2", pattern)
