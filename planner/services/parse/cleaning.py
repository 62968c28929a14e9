"""From a delivered message to plain lower-case text: Slack's markup and escapes, Unicode look-alikes, number words."""

from __future__ import annotations

import html
import re
import unicodedata

DELIVERED = 8000
"""Characters of a delivered message that are looked at; Slack itself allows 40,000."""
LONGEST = 1500
"""Characters of plain text that are read; nobody asks a capacity question in more than this."""

_MARKUP = re.compile(r"<(?:[@#!][^<>]*|(?:https?|mailto|tel):[^<>]*)>")
_HUB = re.compile(r"<?https?://(?:www\.)?(?:huggingface\.co|hf\.co)/([\w.-]+/[\w.-]+)[^\s<>]*(?:\|[^<>]*)?>?")
_LINK = re.compile(r"https?://\S+")
_TAG = re.compile(r"</?[a-z][^<>]*>")
_SHORTCODE = re.compile(r"(?<!\S):[a-z][\w+-]*:(?!\S)|:[a-z][a-z_+-]*_[a-z_+-]*:")
_THIN_GROUP = re.compile(r"(?<=\d)(?<!\.\d)[\u00a0\u2007\u2008\u2009\u200a\u202f](?=\d{3}(?![\db]))")
_SPACE_GROUP = re.compile(
    r"(?<![\w.,'/x-])(\d{1,3})((?: \d{3})+)(?= ?(?:[a-zà-ÿ$€£/%]))(?! ?(?:x ?[a-z]|gb?\b|gpus?\b)|b\b)"
)
_ALIKE = {
    "x": "\u00d7\u2715\u2716\u2a2f\u0445",
    "-": "\u2013\u2014\u2212\u2010\u2011",
    "<": "\u2264\u2266",
    ">": "\u2265\u2267",
    "'": "\u2019\u2018",
    " ": '"\u201c\u201d\u201e\u00ab\u00bb\u00bf\u00a1~\u2248`\t\u2026\u00b7\u2022',
}
"""Signs read as another: times signs and the Cyrillic kha as x, dashes, comparisons, quotes, ornaments as space."""
_SIGNS = str.maketrans(
    {sign: plain for plain, signs in _ALIKE.items() for sign in signs}
    | {"\u2192": " to ", "\u00df": "ss", "\u00b5": "u"}
)
_ODD = re.compile(r"[^\w\s.,:;/+*=<>%$€£¥@()&'\"!?|\[\]{}#-]")

_KEYED_LINE = re.compile(r"\s*\n(?=[\s>*\u2022\u2013-]*[A-Za-z][\w ]{0,24}[:=])")
"""A line break before "key: value" separates it from the line above."""
_ITALIC = re.compile(r"(?<![^\W_])_+(?=\w)|(?<=\w)_+(?![^\W_])")
_WITHOUT = re.compile(r"(?<![\w/])w/o(?!\w)")
_WITH = re.compile(r"(?<![\w/])w/\s?(?=\S)")

_UNITS = {
    2: "two deux zwei dos twee dois duas",
    3: "three trois drei tres tre drie três",
    4: "four quatre vier cuatro quattro quatro",
    5: "five cinq fünf fuenf cinco cinque vijf",
    6: "six sechs seis zes",
    7: "seven sept sieben siete sette zeven sete",
    8: "eight huit acht ocho otto oito",
    9: "nine neuf neun nueve nove negen",
    10: "ten dix zehn diez dieci tien dez",
    11: "eleven onze elf undici",
    12: "twelve douze zwölf zwoelf doce dodici twaalf doze",
    13: "thirteen",
    14: "fourteen",
    15: "fifteen quinze fünfzehn quince quindici",
    16: "sixteen seize sechzehn dieciséis dieciseis sedici zestien dezesseis",
    17: "seventeen",
    18: "eighteen",
    19: "nineteen",
    20: "twenty vingt zwanzig veinte venti twintig vinte",
    24: "vierundzwanzig veinticuatro",
    30: "thirty trente dreissig treinta trenta dertig trinta",
    32: "zweiunddreissig",
    40: "forty fourty quarante vierzig cuarenta quaranta veertig quarenta",
    50: "fifty cinquante fünfzig cincuenta cinquanta vijftig cinquenta",
    60: "sixty soixante sechzig sesenta sessanta",
    70: "seventy siebzig setenta",
    80: "eighty achtzig ochenta ottanta",
    90: "ninety neunzig noventa novanta",
}
_WORDS = {word: value for value, words in _UNITS.items() for word in words.split()}
_SMALL = "|".join(sorted(_WORDS, key=len, reverse=True))
_NUMBER_WORDS = re.compile(
    rf"(?<![\w-])(?:(?:(?P<tens>{_SMALL})[\s-](?P<ones>two|three|four|five|six|seven|eight|nine|one)"
    rf"|(?P<small>{_SMALL})"
    rf"|(?P<digits>\d+)|(?P<article>an?|one|ein|eine|un|une|um|uma|half an?))[\s-]+)?"
    r"(?P<mult>hundred|hundert|honderd|thousand|tausend|duizend|mille|mil|mila|cien|dozen|dutzend|docena"
    r"|douzaine|million"
    rf"|millón|milliarde|billion)(?![\w-])"
    rf"|(?<![\w-])(?P<tens2>{_SMALL})[\s-](?P<ones2>two|three|four|five|six|seven|eight|nine|one)(?![\w-])"
    rf"|(?<![\w-])(?P<alone>{_SMALL})(?!\w)",
    re.IGNORECASE,
)
_ALONE_MULTIPLES = {
    "hundred": 100,
    "hundert": 100,
    "honderd": 100,
    "thousand": 1000,
    "tausend": 1000,
    "duizend": 1000,
    "mille": 1000,
    "mil": 1000,
    "mila": 1000,
    "cien": 100,
    "dozen": 12,
    "dutzend": 12,
    "docena": 12,
    "douzaine": 12,
    "million": 10**6,
    "millón": 10**6,
    "milliarde": 10**9,
    "billion": 10**9,
}
# A million said alone is a unit of price ("the million"), not a quantity; these multiply only what stands before them.
_NEVER_ALONE = {"million", "millón", "billion", "milliarde", "thousand", "tausend", "mille", "mil", "hundred"}


def clean(text: str) -> str:
    """Lower-case text without markup, pings, links or pictographs, with one spelling per sign and digits for words."""
    text = _HUB.sub(r" \1 ", text[:DELIVERED])
    text = _LINK.sub(" ", _MARKUP.sub(" ", text))
    text = _KEYED_LINE.sub(", ", html.unescape(text))
    text = _THIN_GROUP.sub("'", text)
    text = unicodedata.normalize("NFKC", text.translate(_SIGNS)).lower().translate(_SIGNS)
    text = _LINK.sub(" ", _TAG.sub(" ", text))
    text = _ODD.sub(" ", _SHORTCODE.sub(" ", text))
    text = re.sub(r"(?<![\db])\*+(?!\d)|\*+(?![\s\da-z])|(?<=\s)\*+(?=[a-z])", " ", text)
    text = _ITALIC.sub(" ", text)
    text = re.sub(r"\s+", " ", text).strip()[:LONGEST]
    text = _NUMBER_WORDS.sub(_digits, _WITH.sub("with ", _WITHOUT.sub("without", text)))
    return _SPACE_GROUP.sub(lambda m: m.group(1) + m.group(2).replace(" ", "'"), text)


def _digits(match: re.Match[str]) -> str:
    """Digits for a run of number words."""
    if match["alone"]:
        return str(_WORDS[match["alone"].lower()])
    if match["tens2"]:
        return str(_pair(match["tens2"], match["ones2"]))
    multiple = match["mult"].lower()
    article = (match["article"] or "").lower()
    if match["tens"]:
        head = float(_pair(match["tens"], match["ones"]))
    elif match["small"]:
        head = _WORDS[match["small"].lower()]
    elif match["digits"]:
        return (
            f"{match['digits']} {multiple}" if multiple not in {"dozen", "dutzend"} else str(int(match["digits"]) * 12)
        )
    elif article:
        head = 0.5 if article.startswith("half") else 1
    elif multiple in _NEVER_ALONE:
        return match.group(0)
    else:
        head = 1
    value = head * _ALONE_MULTIPLES[multiple]
    return str(int(value))


def _pair(tens: str, ones: str) -> int:
    """Forty-two from its two words; two digits side by side that are no number keep the first."""
    return _WORDS[tens.lower()] + (1 if ones.lower() == "one" else _WORDS[ones.lower()])
