"""Service targets in a text: time to first token, time per token, their percentile."""

from __future__ import annotations

import re
from collections.abc import Callable

from planner.services.parse.canvas import Canvas
from planner.services.parse.demands import Speed
from planner.services.parse.quantities import NUMBER, amount, decimal, tidy, valued

_UNIT = (
    r"(?P<unit>ms|millis\w*|milisegundos|msec|s(?!\w)|secs?(?!\w)|seconds?|secondes?|sekunden?|segundos?|secondi"
    r"|secondo|seconden)"
)
_BELOW = (
    r"(?:<=|<|=<|under|below|less than|at most|no more than|within|max(?:imum)?\.?|unter|h[oö]chstens|sous"
    r"|moins de|inf[eé]rieur [aà]|en dessous de|menos de|bajo|por debajo de|inferior a|sotto(?: i| il)?|meno di"
    r"|onder|abaixo de|of|at|is|=|:|target|should be|must be|stay|stays|kept|to|in|sub-?|around|about|by"
    r"|not exceed|up to|beneath|innerhalb|von|de|en|im|di|i)"
)
_PERCENTILE = (
    r"(?:\(?\s?(?:p\s?(?P<{0}>50|75|90|95|99(?:\.\d+)?)|(?P<{0}b>50|90|95|99)(?:th|st)?[\s-]?(?:percentile|pct"
    r"|perzentil|percentil\w*))\s?\)?)"
)
_NOUN = (
    r"(?:ttft|ttfb|time[\s-]to[\s-](?:the[\s-])?first[\s-]token|first[\s-]token(?:[\s-](?:latency|time))?"
    r"|first word|erste[sr]? token|premier (?:token|jeton)|primer token|primo token|eerste token|prefill latency"
    r"|latency to first token)"
)
_TPOT = r"(?:tpot|time[\s-]per[\s-](?:output[\s-])?token|per[\s-]token(?:[\s-]latency)?|ms/tok(?:en)?|token latency)"
_ITL = r"(?:itl|inter[\s-]?token(?:[\s-]latency)?|tbt|time between tokens)"
_GAP = (
    rf"(?:[\s,]*(?:{_BELOW}|{{p}}|mean|avg|average|median|target|slo|latency|time|a|the|needs?|has|arrive|arrives"
    rf"|comes|within|be|and|goes|go|gets|grows|passes|exceeds?|over|above|hits?|breaks|crosses"
    r"|more than|must|should|has to|needs to|may|can)){{0,5}}\s*"
)


def _labelled(noun: str) -> re.Pattern[str]:
    """A label, then percentile and comparison in any order, then seconds."""
    gap = _GAP.format(p=_PERCENTILE.format("pa"))
    before = rf"(?:{_PERCENTILE.format('pb')}\s*(?:for |of |on )?(?:the )?)?"
    value = (
        rf"(?:(?<![\w.])(?P<n>{NUMBER})\s?{_UNIT}|(?P<word>a second|one second|half a second|1 second|una? segundo"
        r"|einer sekunde|une seconde|un secondo))"
    )
    return re.compile(rf"{before}(?<!\w){noun}{gap}{value}(?:\s?(?:at |@ ?|\(?)?{_PERCENTILE.format('pc')})?")


def _valued_first(noun: str) -> re.Pattern[str]:
    """Seconds, then the label: "500 ms ttft"."""
    return re.compile(
        rf"(?:{_BELOW}\s?)*(?<![\w.])(?P<n>{NUMBER})\s?{_UNIT}\s?(?:to |for |until |bis zum "
        rf"|{_PERCENTILE.format('pa')}\s?)?(?:the )?(?:{_PERCENTILE.format('pb')}\s?)?{noun}"
        rf"(?:\s?(?:at |@ ?|\(?)?{_PERCENTILE.format('pc')})?"
    )


_SUB_SECOND = re.compile(
    rf"sub[\s-]?second\s(?:{_PERCENTILE.format('pa')}\s?)?{_NOUN}"
    rf"|{_NOUN}\s(?:{_PERCENTILE.format('pb')}\s?)?sub[\s-]?second"
)
_SPEED = re.compile(
    r"(?:at least |min(?:imum)?\.? |>=? ?|mindestens |au moins |al menos |almeno |with |want "
    rf"|need )?{amount('n')}\s?(?:(?:output|generated|input|prompt|total) )?"
    r"(?:tokens?\s?(?:/|per|a|pro|par|por|al)\s?(?:second|sec|s|sekunde"
    r"|seconde|segundo|secondo)|tok/s(?:ec)?|toks/s|t/s|tps|tokens?/s(?:ec)?|tk/s|token/s)"
    r"\s?(?:speed |decode |generation |output )?(?P<who>(?:for |to )?(?:each|apiece)(?: user| one| stream"
    r"| client| request)?|(?:/|per|pro|par|por|for each|for every|a)\s?(?:user|stream|request|client|session"
    r"|person|head|seat|nutzer|utilisateur|usuario|utente|chat|conversation|sequence|anfrage|benutzer|gebruiker)"
    r"|chacun\w*|jeweils|je nutzer|cada un[oa]|single[\s-]stream|individually)?"
)
_SPEED_BEFORE = re.compile(
    r"(?:per|each)[\s-](?:user|stream|request|client|session|person)(?: speed| rate| decode)?\s?(?:of|=|:|at"
    rf"|at least|needs?|gets?|should get|sees?|>=?)?\s?(?<![\w.])(?P<n>{NUMBER})\s?(?:tokens?\s?(?:/|per"
    r"|a)\s?(?:second|sec|s)|tok/s(?:ec)?|t/s|tps|tokens?/s(?:ec)?)(?P<who>)"
)
_SPEED_OF_TOKENS = re.compile(
    rf"(?:tokens?|toks?|decod\w+|generation|streaming|output)\s?(?:at|of|rate|speed|:)?\s?(?:at least |>=? ?)?"
    rf"(?<![\w.])(?P<n>{NUMBER})\s?(?:/\s?|per |a )(?:s(?!\w)|sec(?:ond)?)"
    r"\s?(?P<who>each|apiece|(?:/|per|for each|for every|a)\s?(?:user|stream|request|client|session|person))"
)
_MINIMUM = re.compile(r"^(?:at least|min|>|mindestens|au moins|al menos|almeno)")
_LOOSE_PERCENTILE = re.compile(rf"(?:at |@ ?)?(?<!\w){_PERCENTILE.format('pa')}(?!\w)")
_EDIT = re.compile(rf"(?:<=?|under|below|less than|unter|sous|menos de|sotto)\s?(?P<n>{NUMBER})\s?{_UNIT}")


def read_targets(canvas: Canvas, parse: dict[str, object], warn: list[str]) -> None:
    """Put ``slo`` into the parse; an inter-token target is taken as time per output token, with a warning."""
    slo: dict[str, float] = {}
    _seconds(canvas, slo, "ttft_s", _NOUN)
    if _seconds(canvas, slo, "tpot_s", _ITL):
        warn.append("itl_as_tpot")
    else:
        _seconds(canvas, slo, "tpot_s", _TPOT)
    if "ttft_s" not in slo and (match := canvas.first(_SUB_SECOND)) is not None:
        slo["ttft_s"] = 1
        _percentile(match, slo)
    _speed(canvas, slo)
    if slo and "percentile" not in slo and (match := canvas.first(_LOOSE_PERCENTILE)) is not None:
        _percentile(match, slo)
    if slo:
        parse["slo"] = slo


def read_total_speed(canvas: Canvas) -> Speed | None:
    """Tokens per second with nobody named, as said; set aside so that nothing else takes the number."""
    match = canvas.first(_SPEED)
    if match is None:
        return None
    return Speed(said=match.group().strip(), value=valued(match, "n"), start=match.start(), end=match.end())


def read_target_edit(canvas: Canvas, earlier: dict[str, float], parse: dict[str, object]) -> None:
    """A follow-up that changes the one time target there is: "make it under 800 ms"."""
    keys = [k for k in ("ttft_s", "tpot_s") if k in earlier]
    if "slo" in parse or len(keys) != 1:
        if not keys or "slo" in parse:
            return
        keys = ["ttft_s"]
    if (match := canvas.first(_EDIT)) is not None:
        parse["slo"] = {keys[0]: _time(match)}
    elif (match := canvas.first(_LOOSE_PERCENTILE)) is not None:
        slo: dict[str, float] = {}
        _percentile(match, slo)
        parse["slo"] = slo


def _seconds(canvas: Canvas, slo: dict[str, float], key: str, noun: str) -> bool:
    """Read one target in either order."""
    for make in (_labelled, _valued_first):
        match = canvas.first(_compiled(make, noun))
        if match is not None:
            slo[key] = _time(match)
            _percentile(match, slo)
            return True
    return False


_CACHE: dict[tuple[str, str], re.Pattern[str]] = {}


def _compiled(make: Callable[[str], re.Pattern[str]], noun: str) -> re.Pattern[str]:
    return (
        _CACHE.setdefault((make.__name__, noun), make(noun))
        if (make.__name__, noun) not in _CACHE
        else _CACHE[make.__name__, noun]
    )


def _time(match: re.Match[str]) -> float:
    groups = match.groupdict()
    if groups.get("word"):
        return 0.5 if groups["word"].startswith("half") else 1
    return tidy(decimal(groups["n"]) / (1000 if groups["unit"].startswith("m") else 1))


def _percentile(match: re.Match[str], slo: dict[str, float]) -> None:
    for name, value in match.groupdict().items():
        if name in {"pa", "pb", "pc", "pab", "pbb", "pcb"} and value:
            slo["percentile"] = tidy(float(value) / 100)


def _speed(canvas: Canvas, slo: dict[str, float]) -> None:
    """Tokens per second of one user, as time per token."""
    if "tpot_s" in slo:
        return
    for pattern in (_SPEED_BEFORE, _SPEED_OF_TOKENS, _SPEED):
        for match in pattern.finditer(canvas.open):
            speed = valued(match, "n") if pattern is _SPEED else decimal(match["n"])
            personal = pattern is _SPEED_BEFORE or match["who"] or (_MINIMUM.match(match.group()) and speed <= 200)
            if personal and speed > 0:
                canvas.claim(*match.span())
                slo["tpot_s"] = tidy(1 / speed)
                return
