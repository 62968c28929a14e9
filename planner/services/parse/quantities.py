"""Number literals as people write them: separators and suffixes; a count and a decimal read the comma differently."""

from __future__ import annotations

import re

NUMBER = r"\d{1,15}(?:[.,']\d{1,9}){0,5}"
# k, M, B and their spellings; "m" alone is a million only when glued to the digits (2m), so that "5 m" is not.
SUFFIX = (
    r"k\b|k(?=tok|ctx|in\b|out\b)|mm?\b|mio\b|mln\b|bn?\b|thousand\b|tausend\b|mille\b|mila\b|mil\b|duizend\b"
    r"|millions?\b|millionen\b|millones\b|milliones\b|mill[oó]n\b|milioni\b|milione\b|milh[oõ]es\b|miljoen\b"
    r"|billions?\b|milliarden?\b|mrd\b|milliards?\b|miliardi\b|thousands?\b"
)
GLUED = r"(?<![\w.,'])"
"""Before a literal: not inside a word or another number."""


def amount(name: str) -> str:
    """A pattern for a literal with an optional suffix, in groups ``name`` and ``name_s``."""
    return rf"{GLUED}(?P<{name}>{NUMBER})(?:\s?(?P<{name}_s>{SUFFIX}))?(?![\d'])"


_KEYS = (
    "isl",
    "osl",
    "bs",
    "bsz",
    "ctx",
    "conc",
    "tp",
    "batch",
    "context",
    "concurrency",
    "input",
    "prompt",
    "prompts",
    "output",
    "len",
    "clients",
    "rate",
    "size",
)
_UNKEYED = "".join(f"(?<!{key}{sign})" for key in _KEYS for sign in " =:" if (key, sign) != ("clients", " ")) + (
    # "clients 16" is keyed, "30 clients 2k in" is not: the clients have their number already
    r"(?<![^\dk] clients )(?<!^clients )(?<![^\w\s]clients )"
)


def free(name: str) -> str:
    """As :func:`amount`, but not the value of a keyword standing before it ("isl 2048 osl 256")."""
    return _UNKEYED + amount(name)


_WORD_SCALES = {
    "thousand": "k",
    "thousands": "k",
    "tausend": "k",
    "mille": "k",
    "mila": "k",
    "mil": "k",
    "duizend": "k",
    "billion": "b",
    "billions": "b",
    "milliarde": "b",
    "milliarden": "b",
    "mrd": "b",
    "milliard": "b",
    "milliards": "b",
    "miliardi": "b",
    "bn": "b",
    "b": "b",
    "k": "k",
}
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:([.,'])\d{3})(?:\1\d{3})*")


def count(literal: str) -> float:
    """A count: a separator followed by exactly three digits groups thousands."""
    if _GROUPED.fullmatch(literal):
        return float(re.sub(r"[.,']", "", literal))
    return decimal(literal)


def decimal(literal: str) -> float:
    """Money, a ratio, seconds: a lone comma is the decimal sign; of two kinds of sign the last is."""
    text = literal.replace("'", "")
    marks = re.findall(r"[.,]", text)
    if len(set(marks)) == 1 and len(marks) > 1:
        return float(re.sub(r"[.,]", "", text))
    if len(set(marks)) == 2:
        grouping = marks[0]
        text = text.replace(grouping, "")
    return float(text.replace(",", "."))


def scale(suffix: str | None, *, kilo: float = 1000.0) -> float:
    """What a suffix multiplies by; contexts pass kilo = 1024."""
    if not suffix:
        return 1.0
    letter = _WORD_SCALES.get(suffix, "m" if suffix.startswith("m") else suffix[0])
    return {"k": kilo, "m": kilo * kilo, "b": kilo**3}[letter]


def counted(match: re.Match[str], name: str, *, kilo: float = 1000.0) -> float:
    """The count in group ``name`` of a match made with :func:`amount`."""
    suffix = match.group(f"{name}_s")
    value = decimal(match.group(name)) if suffix else count(match.group(name))
    return tidy(value * scale(suffix, kilo=kilo))


def valued(match: re.Match[str], name: str) -> float:
    """The decimal in group ``name`` of a match made with :func:`amount`."""
    return tidy(decimal(match.group(name)) * scale(match.group(f"{name}_s")))


def tidy(value: float) -> float:
    """Whole numbers as integers, others rounded to twelve significant digits."""
    rounded = float(f"{value:.12g}")
    return int(rounded) if rounded.is_integer() else rounded
