"""How many of each GPU: numbers before and after the names, articles, boxes, "each"."""

from __future__ import annotations

import re
from dataclasses import replace

from planner.services.parse.canvas import BLANK, Canvas
from planner.services.parse.skus import SkuMention

_ONE = r"an?|one|single|1x|ein(?:e[mnrs]?)?|un[ae]?|uno|een|uma?|numa?|just one|only one|solo"
_PAIRS = {
    "pair": 2,
    "couple": 2,
    "dual": 2,
    "twin": 2,
    "paar": 2,
    "paire": 2,
    "par": 2,
    "duo": 2,
    "trio": 3,
    "triple": 3,
    "quad": 4,
    "octo": 8,
    "half-dozen": 6,
    "dozen": 12,
    "zwei": 2,
    "both": 2,
}
_PAIR = (
    r"(?:a |an |the |une |ein |un )?(?P<pair>pair|couple|dual|twin|paar|paire|par|duo|trio|triple|quad"
    r"|half-dozen|dozen)(?: of| de| von| di)?"
)
_BRAND = (
    r"(?:(?:nvidia|amd|brand new|new|the|of|our|these|those|hgx|dgx|rented|leased|spare|pcs|units? of|cards?"
    r"|gpus?(?: of)?|de|x)\s?)*"
)
_BOX = (
    r"(?:nodes?|box(?:es)?|servers?|machines?|knoten|n[oœ]uds?|serveurs?|nodos?|servidor(?:es)?|hosts?|systems?"
    r"|pods?|instances?|chassis|rigs?)"
)
_BEFORE = re.compile(
    rf"(?:(?<![\w.,$€=-])(?P<nodes>\d{{1,3}})\s?(?:x\s?\(\s?|x\s"
    rf"|{_BOX}\s?(?:of|with|each|de|mit|à|x|\*|times|@)\s?|(?=\s\d+\s?x)\s))?"
    rf"(?:(?<![\w.,$€=-])(?P<n>\d{{1,4}})\s?-?\s?(?:x|\*)?[\s-]*|(?<!\w)(?P<one>{_ONE})\s|(?<!\w){_PAIR}\s)"
    rf"(?:gpu\s)?{_BRAND}(?P<maker>dgx\s?|hgx\s?)?$"
)
_AFTER = re.compile(
    r"\s?(?:\(?\s?(?:x|\*)\s?(?P<n>\d{1,4})(?![\d.]|\s?(?:h\d|a\d|b\d))\)?|\(\s?(?P<n2>\d{1,4})\s?x?\s?\)"
    r"|[\s-]*(?P<n3>\d{1,3})[\s-]?(?:gpus?|cards?)\b)"
)
_BOX_AFTER = re.compile(rf"[\s-]*(?:\d-?gpu[\s-]*)?(?P<box>{_BOX})(?!\w)")
_MAKER = re.compile(r"(?:dgx|hgx)[\s-]?$")
_EACH = re.compile(
    r"(?<![\w.,$€])(?P<n>\d{1,3}|one|ein\w*|une?|un[oa])\s?(?:gpus?\s|cards?\s|x\s?)?"
    r"(?:of each|each|apiece|jeweils|chacun\w*"
    r"|cada un[oa]|de chaque|per option|ciascun\w*)(?!\w)"
    r"|(?:each|jeweils) (?:with |of |x ?)?(?P<m>\d{1,3})(?:\s?(?:gpus?|cards?))?(?![\w.]|\s?(?:k\b|tok|users"
    r"|clients|concurrent))"
)
_LOOSE = re.compile(
    r"(?<![\w.,$€-])(?P<n>\d{1,4})\s?x?[\s-]?(?:gpus?|cards?|chips?|accelerators?|karten|cartes|tarjetas"
    r"|schede|kaarten|placas|grafikkarten|of (?:them|those|these))(?!\w)"
    r"|(?<!\w)(?:gpus?|cards?|count|gpu[\s_]?count|n[\s_]?gpus?|num[\s_]?gpus?)\s?[=:]\s?(?P<m>\d{1,4})(?!\w)"
    r"|(?<!\w)(?P<one>one|single|a|1)\s(?:gpu|card)(?!\w)|(?<!\w)x\s?(?P<x>\d{1,3})(?![\w.])"
)
_BARE = re.compile(
    r"(?:(?<!\w)(?:on|with|use|using|just|only|make it|to|auf|sur|con|mit|avec|en|try|of|have|about|take|get"
    r"|need|su|op|met|bei|and|what about|how about|if|if we had)\s"
    r"|^\s*(?:(?:ok|okay|so|now|then|and|but|hm+|well|fine|alright)[,.]?\s)*)"
    rf"(?P<n>\d{{1,3}})(?![\w.,%]*\d|\s?(?:k\b|%|ms\b|s\b|gb|bit|tok|in\b|out\b|h\b|/|\$|€))(?=\s*(?:instead|pls"
    rf"|please|now|then|of them|\?|!|\.|,|{BLANK}|$|stattdessen|[aà] la place|en su lugar|statt))"
)

# A number after one of these words is theirs, not the GPU's.
_KEYED = re.compile(
    r"(?:=\s?|(?<!\w)(?:tp|pp|dp|ep|ctx|context|isl|osl|bs|batch|size|conc\w*|rate|util\w*|window|ttft"
    r"|tpot)\s?[=:]?\s?)$"
)


def count_mentions(canvas: Canvas, mentions: list[SkuMention]) -> list[SkuMention]:
    """Every mention with the count said beside it; boxes are the entry's usual box."""
    counted: list[SkuMention] = []
    floor = 0
    for index, mention in enumerate(mentions):
        ceiling = mentions[index + 1].start if index + 1 < len(mentions) else len(canvas.text)
        counted.append(_count(canvas, mention, floor, ceiling))
        floor = counted[-1].end
    return counted


def _count(canvas: Canvas, mention: SkuMention, floor: int, ceiling: int) -> SkuMention:
    before = canvas.open[floor : mention.start]
    after = canvas.open[mention.end : ceiling]
    entry = mention.entry
    match = _BEFORE.search(before)
    box = _BOX_AFTER.match(after)
    behind = _AFTER.match(after)
    maker = bool(match and match["maker"]) or bool(_MAKER.search(before))
    size = entry.box if entry is not None else 0
    gpus: int | None = None
    end = mention.end
    if match is not None and match["n"] and _KEYED.search(before[: match.start("n")]):
        match = None
    if match is not None:
        canvas.claim(floor + match.start(), mention.start)
        gpus = _number(match)
    if behind is not None and gpus is None:
        gpus = int(behind["n"] or behind["n2"] or behind["n3"])
        end += behind.end()
        canvas.claim(mention.end, end)
        box = _BOX_AFTER.match(canvas.open[end:ceiling])
    if box is not None or maker:
        gpus = _boxed(gpus, match, box, size, maker=maker)
        if box is not None:
            canvas.claim(end, end + box.end())
            end += box.end()
    elif match is not None and match["nodes"] and gpus is not None:
        gpus *= int(match["nodes"])
    article = match is not None and (match["one"] or "")[:2] in {"a", "an", "un", "ei"}
    return replace(mention, gpus=gpus or None, end=end, boxed=box is not None or maker, article=article)


def _number(match: re.Match[str]) -> int:
    if match["n"]:
        return int(match["n"])
    return 1 if match["one"] else _PAIRS[match["pair"]]


def _boxed(
    gpus: int | None, match: re.Match[str] | None, box: re.Match[str] | None, size: int, *, maker: bool
) -> int | None:
    """GPUs in the boxes said: "a B200 box" is its usual eight, "2 nodes" twice that, "8xMI300X node" eight."""
    if not size:
        return gpus
    if gpus is None:
        return None if _plural(box) else size
    nodes = int(match["nodes"]) if match is not None and match["nodes"] else 0
    if nodes:
        return nodes * gpus
    if gpus >= size or (gpus > 1 and not _plural(box) and not maker):
        return gpus
    return gpus * size


def _plural(box: re.Match[str] | None) -> bool:
    return box is not None and box["box"].endswith(("s", "es")) and box["box"] != "chassis"


def each_count(canvas: Canvas) -> int | None:
    """The count said for every option: "2 each"."""
    match = canvas.first(_EACH)
    if match is None:
        return None
    said = match["n"] or match["m"]
    return int(said) if said.isdigit() else 1


def loose_count(canvas: Canvas) -> int | None:
    """A count of cards away from their name: "4 gpus"."""
    match = canvas.first(_LOOSE)
    if match is None:
        return None
    return 1 if match["one"] else int(match["n"] or match["m"] or match["x"])


_BOXES = re.compile(rf"(?<![\w.,$€-])(?P<n>\d{{1,3}}|an?|one)\s{_BOX}(?!\w)")


def box_count(canvas: Canvas) -> int | None:
    """A count of boxes away from any name: "two boxes", "a second node"."""
    match = canvas.first(_BOXES)
    return None if match is None else int(match["n"]) if match["n"].isdigit() else 1


_ENOUGH = re.compile(
    r"(?<!\w)(?:would|could|will|can|is|are|does|do|reicht|reichen|suffit|basta)\s(?:just |only |even )?"
    r"(?P<n>\d{1,3}|one|ein\w*|une?|un[ao])(?:\sof (?:them|those|these))?\s"
    r"(?:be enough|enough|be ok(?:ay)?|do|suffice|handle|carry|fit|cope|work|hold|manage|keep up|run)(?!\w)"
)
_ON = re.compile(r"(?<!\w)on\s(?P<n>\d{1,3})(?=\s*(?:[,;?!]|\.(?!\d)|$))")


def stranded_count(canvas: Canvas) -> int | None:
    """A count whose GPU was named elsewhere: "H200s: does it fit on 8?"."""
    match = canvas.first(_ON)
    return None if match is None else int(match["n"])


_BARE_ONE = re.compile(r"(?<!\w)(?:on|with|to|auf|sur|con|mit|avec|en)\s(?:just |only |a single )?one(?=\W*$)")


def bare_count(canvas: Canvas) -> int | None:
    """A count with no noun, as follow-ups have it: "on 4 instead", "on one"."""
    if (match := canvas.first(_ENOUGH)) is not None:
        return int(match["n"]) if match["n"].isdigit() else 1
    if canvas.first(_BARE_ONE) is not None:
        return 1
    match = canvas.first(_BARE)
    return int(match["n"]) if match is not None else None
