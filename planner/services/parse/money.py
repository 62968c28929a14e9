"""Money and power in a text: price per GPU hour, price of an API, budget, kilowatts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from planner.services.parse.canvas import BLANK, Canvas
from planner.services.parse.quantities import GLUED, NUMBER, SUFFIX, amount, count, decimal, scale, tidy, valued

_BEFORE = r"(?P<sign>us\$|\$|€|£|¥|usd|eur|gbp|chf)\s?"
_AFTER = (
    r"(?:\s?(?P<{0}>us\$|\$|€|£|¥|usd|eur|euros?|gbp|pounds?|chf|dollars?|d[oó]lares|bucks|dollari|franken"
    r"|cents?|ct\b|c(?=/)|¢|yen))"
)
_MONEY = (
    rf"(?:{_BEFORE}(?P<a>{NUMBER})(?:\s?(?P<a_s>{SUFFIX}))?{_AFTER.format('unit')}?"
    rf"|{GLUED}(?P<b>{NUMBER})(?:\s?(?P<b_s>{SUFFIX}))?{_AFTER.format('unit2')})"
)
_PLAIN = rf"{GLUED}(?P<c>{NUMBER})"
_OPTIONAL = rf"(?:{_MONEY}|{_PLAIN})"
_GPU = r"(?:gpus?|cards?|chips?|accelerators?|karte|carte|tarjeta|scheda|unit|piece)"
_NODE = (
    r"(?:node|nodes|box|boxes|server|machine|instance|cluster|rig|host|system|knoten|n[oœ]ud|serveur|nodo"
    r"|servidor|the lot|total|all in|altogether|insgesamt|en tout|en total|for (?:all|everything|the (?:whole"
    r"|pair|set|lot|node|box))|together|all of them|all (?:\d+|four|eight|two))"
)
_HOURWORD = r"(?:hours?|hourly|hrs?|h(?!\w)|heures?|stunden?|std|horas?|hora|ora|ore|uur)"
_PER = r"(?:/|und|and|per|an?|the|each|every|pro|je|die|par|de l'|l'|l|la|por|à l'|al|all'|all|die|in der|para|el|-)"
_HOUR = (
    rf"(?:\s*(?:all in\s*)?(?:{_PER}\s*){{0,3}}(?:(?P<node1>{_NODE})"
    rf"|(?P<gpu1>{_GPU}))?[\s/-]*(?:{_PER}\s*){{0,3}}{_HOURWORD})"
    rf"(?:\s*(?:(?:{_PER}|for|pour|für|por)\s*){{0,3}}(?:(?P<gpu2>each|apiece|{_GPU}|jeweils|chacun\w*"
    r"|cada un[oa])|(?P<node2>(?:for the |for a |for an |a |per |pro |par |por )?(?:whole |full "
    rf"|entire )?{_NODE}))(?!\w))?"
)
_AT = (
    r"(?:(?:costs? (?:us|me)|sets? us back|rents? (?:for|at)|goes for|comes to|we pay"
    r"|at|@|for|à|zu|a|bei|für|costs?|paying|pay|rented at|price|rate|hourly)[\s:=]*)?"
)
_HOURLY = re.compile(
    rf"{_AT}(?:{_MONEY}|{_PLAIN}(?=\s?(?:/|per\b|an?\b|pro\b|par\b|por\b|la\b|die\b|all in\b|l')))"
    rf"{_HOUR}"
)
_HOURLY_KEY = re.compile(
    r"(?<!\w)(?:hourly (?:price|rate|cost)|gpu[\s_-]?(?:price|hour|cost)"
    rf"|price(?:[\s_]per[\s_](?:gpu[\s_])?hour)?|usd_per_gpu_hour)\s?(?:=|:|of|is)?\s?(?:{_MONEY}"
    rf"|{_PLAIN})(?!\s?(?:rps|qps|rpm|per (?:1)?m|/\s?1?m|k\b|tok))"
)
_AT_MONEY = re.compile(
    rf"(?:at|@|for)\s?(?:{_MONEY}|{_PLAIN}(?=[.,\s]*(?:vs|versus|against|or|and|,|$|\?)))(?!\s?(?:k\b|/|per|rps"
    r"|tok|ctx|concurrent|users|clients|in\b|util|tokens|\d))(?P<each> each| apiece| a piece)?"
)
_LISTED = re.compile(
    rf"(?:{_BEFORE}(?P<a>{NUMBER})|{GLUED}(?P<b>\d{{1,2}}[.,]\d{{1,2}}){_AFTER.format('unit2')}?)"
    rf"\s?(?:vs\.?|versus|against|or|and|/|,|&|resp\.?|oder|und|ou|et|o|y)\s?(?={BLANK})"
)
_MILLION = (
    r"(?:\s?(?:/|per|a|an?|for|por|pro|par|the|el|le|je|al|por el|de|for each|every|each|di|do|da|o|il|la|der"
    r"|die)\s?(?:1\s?)?(?:(?P<million>mtoks?|mtokens?|mm?(?!\w|s)|mio|million(?:en|s)?|mill[oó]n|milione"
    r"|milh[aã]o|miljoen|1000000|1e6)|(?P<thousand>1?k(?!\w)|1000|thousand))"
    r"(?:\s?(?:output |input |blended |total |d')?(?:tokens?|toks?|jetons?|tok))?)"
)
_API = re.compile(
    r"(?:api\s)?(?:(?:charges?|costs?|at|price|is|asks|wants|for|vs\.?|versus|against|than"
    rf"|of)\s)*{_MONEY}\s?(?:usd\s?)?{_MILLION}(?:\s?(?:from |on |via |by |with )?(?:the )?(?:an )?api)?"
)
_API_BARE = re.compile(
    rf"{_PLAIN}\s?(?:/|per)\s?(?:1\s?)?(?:(?P<million>mtoks?|m(?!\w|s)|million|mio)"
    r"|(?P<thousand>1?k toks?))(?:\s?(?:tokens?|toks?|tok))?(?:\s?(?:from |on |via )?(?:the )?api)?"
)
_UNIT_OF_PRICE = re.compile(
    r"(?:(?:cost|price|\$|€|£|usd|dollars?|euros?|bucks|cents?|preis|kosten|kostet|co[uû]t\w*|prix|cuesta"
    r"|cuestan|costo|coste|costa|precio|prezzo|what|expensive|how much|cheap\w*|kost)[^.,;\d]{0,30}?)"
    r"(?:/|per|a|for|of|pro|je|par|por|the|de|del|el|le|der|di|al|un|una|une|eine|einer)?\s?(?:un |the |el |le "
    r"|a |eine |une )?(?:1\s?)?(?<![a-z])(?:mtoks?|m(?!\w)|mm(?!\w)|mio|million(?:en|s)?|mill[oó]n|milione|milh[aã]o"
    r"|miljoen|1000000|1k\b|thousand|1000)(?:\s?(?:de |di |d')?(?:output |input |generated |total )?(?:tokens?"
    r"|toks?|jetons?|tok))?(?!\s?(?:requests?|reqs?|docs?|documents?|queries|calls|users|messages|prompts|chats))"
)
_PER_MILLION = re.compile(
    r"(?:/|(?<!\w)(?:per|pro|par|por|al|je|a)(?!\w))\s?(?:1\s?)?(?:mtoks?|m(?!\w)|million(?:en|s)?|mill[oó]n"
    r"|milione|milh[aã]o)(?:\s?(?:tokens?|toks?|tok))?(?!\w)(?!\s?(?:ctx|context|window|kontext))"
)
_A_MILLION = re.compile(
    r"(?<![\w.,])(?:1\s?m|a million|1 million|one million|million)\s(?:output |input )?tok\w*"
    r"(?!\s?(?:/|per|a|each)\s?(?:month|day|mo\b|ctx|context))"
)
_MONEY_WORDS = re.compile(
    r"\b(?:costs?|price[sd]?|dollars?|usd|euros?|kosten|kostet|prix|co[uû]te?|cuesta|precio|costa)\b|[$€£]"
)
_BUDGET = re.compile(
    r"(?<!\w)(?:budget|capex|funding|funds|b[uú]dget|presupuesto|or[cç]amento|spend(?:ing)?(?: limit)?|up to"
    r"|under|below|less than|at most|max(?:imum)?|within|for|have|got|with|only|unter|moins de|menos de)\s?(?:of"
    rf"|is|:|=|de|von|about|around|cap|limit|up to|around|a total of)*\s?(?:{_MONEY}|(?:(?<=budget )"
    r"|(?<=budget: )|(?<=budget of )|(?<=budget is )|(?<=budget=)|(?<=capex )|(?<=budget de )|(?<=budget von )"
    rf"|(?<=presupuesto )|(?<=presupuesto de ))(?P<c>{NUMBER})(?:\s?(?P<c_s>{SUFFIX}))?)(?!\s?(?:/|per"
    r"|an?\s(?:hour|month)|tok|users|rps|w\b))(?:\s?(?:budget|to spend|capex|total))?"
)
_BUDGET_AFTER = re.compile(
    rf"(?:{_MONEY}|{GLUED}(?P<c>{NUMBER})(?:\s?(?P<c_s>{SUFFIX}))?)\s?(?:of |in |as |as a |our )*(?:budget"
    r"|to spend|capex|funding|presupuesto|or[cç]amento)"
)
_BUDGET_BARE = re.compile(rf"{_MONEY}(?!\s?(?:/|per\b|an?\s(?:hour|h\b|month)|tok|pro\b|par\b|por\b|l'|la\b|die\b))")
_CAP = re.compile(
    r"(?<!\w)(?:budget|spend(?:ing)?(?: limit)?|up to|under|below|less than|no more than|not more than|cheaper than"
    rf"|at most|max(?:imum)?|within|<=?)\s?(?:of |is |:|=)*\s?{_MONEY}\s?(?:/|per|an?|each|every)\s?(?:{_HOURWORD}"
    rf"|days?|weeks?|months?|mo(?!\w)|years?)(?!\s?(?:/|per|an?|for|each|every)?\s?(?:each|apiece|{_GPU})(?!\w))"
)
_POWER = re.compile(
    rf"{GLUED}(?P<n>{NUMBER})\s?(?P<unit>kw|kilowatts?|mw|megawatts?|watts?|w(?!\w))(?!h)(?:\s?(?:/|per|a|pro|par"
    r"|por|each)\s?(?:rack|node|box|server|cabinet|schrank|baie))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HourPrice:
    """One price per hour and what it is for."""

    value: float
    position: int
    end: int
    node: bool
    """For the whole box."""
    single: bool = False
    """For each GPU, said so."""


def read_money(canvas: Canvas, parse: dict[str, object], warn: list[str]) -> tuple[list[HourPrice], bool]:
    """Read money and power into the parse; return the hourly prices, and whether a price per million is asked."""
    _power(canvas, parse)
    _read_api(canvas, parse, warn)
    prices = _read_hourly(canvas, warn)
    prices += _read_companions(canvas, warn, have=bool(prices) or bool(_MONEY_WORDS.search(canvas.text)))
    _read_budget(canvas, parse, warn)
    asked = [m for pattern in (_UNIT_OF_PRICE, _PER_MILLION) for m in canvas.take(pattern)]
    million = canvas.first(_A_MILLION) if prices else None
    return prices, bool(asked) or million is not None


def read_cap(canvas: Canvas) -> str:
    """What may be spent on everything in a period, as said, set aside: it is the price of no GPU."""
    match = canvas.first(_CAP)
    return "" if match is None else match.group().strip()


_EDIT = re.compile(
    rf"(?:at|@|for|with|to|bei|à|a|what about|how about|if it'?s)\s?(?P<c>{NUMBER.replace('{0,5}', '{1,2}')})"
    r"(?!\s?(?:k\b|%|x\b|ms\b|s\b|gb|bit|tok|/))"
)


def read_price_edit(canvas: Canvas) -> list[HourPrice]:
    """A follow-up that changes the price there is: "at 2.40"."""
    match = canvas.first(_EDIT)
    return (
        [] if match is None else [HourPrice(value=_value(match), position=match.start(), end=match.end(), node=False)]
    )


def _value(match: re.Match[str]) -> float:
    groups = match.groupdict()
    name = next(n for n in "abc" if groups.get(n))
    suffix = groups.get(f"{name}_s")
    cents = 0.01 if re.match(r"cents?|ct|c\b|¢|c$", groups.get("unit") or groups.get("unit2") or "") else 1.0
    return tidy(decimal(groups[name]) * scale(suffix) * cents)


def _foreign(match: re.Match[str], warn: list[str]) -> None:
    said = (
        (match.groupdict().get("sign") or "")
        + (match.groupdict().get("unit") or "")
        + (match.groupdict().get("unit2") or "")
    )
    if re.search(r"€|£|¥|eur|gbp|pound|chf|franken|yen", said) and "currency" not in warn:
        warn.append("currency")


def _read_api(canvas: Canvas, parse: dict[str, object], warn: list[str]) -> None:
    for pattern in (_API, _API_BARE):
        match = canvas.first(pattern)
        if match is not None:
            value = _value(match) * (1000 if match["thousand"] else 1)
            parse["api_price"] = {"usd_per_million_tokens": tidy(value)}
            _foreign(match, warn)
            return


def _read_hourly(canvas: Canvas, warn: list[str]) -> list[HourPrice]:
    prices = []
    for match in _HOURLY.finditer(canvas.open):
        if match["c"] and "." not in match["c"] and "," not in match["c"] and float(match["c"]) >= 100:
            continue  # without a currency sign, hundreds an hour are requests
        canvas.claim(*match.span())
        single = bool(match["gpu1"] or match["gpu2"])
        node = bool(match["node1"] or match["node2"] or "all in" in match.group()) and not single
        prices.append(HourPrice(value=_value(match), position=match.start(), end=match.end(), node=node, single=single))
        _foreign(match, warn)
    if not prices:
        for match in canvas.take(_HOURLY_KEY):
            prices.append(HourPrice(value=_value(match), position=match.start(), end=match.end(), node=False))
            _foreign(match, warn)
    return prices


def _read_companions(canvas: Canvas, warn: list[str], *, have: bool) -> list[HourPrice]:
    """Prices without "per hour": beside one that has it, or with a currency sign after "at"."""
    prices = _listed(canvas, warn) if have else []
    for match in _AT_MONEY.finditer(canvas.open):
        if not have and match["c"]:
            continue
        canvas.claim(*match.span())
        prices.append(HourPrice(value=_value(match), position=match.start(), end=match.end(), node=False))
        _foreign(match, warn)
    return prices


def _listed(canvas: Canvas, warn: list[str]) -> list[HourPrice]:
    """Prices that share the unit of the next: "$2.50 vs $5.50 per GPU-hour"."""
    prices: list[HourPrice] = []
    while (match := _LISTED.search(canvas.open)) is not None:
        canvas.claim(*match.span())
        prices.append(HourPrice(value=_value(match), position=match.start(), end=match.end(), node=False))
        _foreign(match, warn)
    return prices


def _read_budget(canvas: Canvas, parse: dict[str, object], warn: list[str]) -> None:
    for pattern in (_BUDGET, _BUDGET_AFTER, _BUDGET_BARE):
        for match in pattern.finditer(canvas.open):
            groups = match.groupdict()
            name = next(n for n in "abc" if groups.get(n))
            suffix = groups.get(f"{name}_s")
            value = decimal(groups[name]) * scale(suffix) if suffix else count(groups[name])
            if value >= 500:
                canvas.claim(*match.span())
                parse["budget_usd"] = tidy(value)
                _foreign(match, warn)
                return


def _power(canvas: Canvas, parse: dict[str, object]) -> None:
    if (match := canvas.first(_POWER)) is not None:
        unit = match["unit"]
        factor = 1e3 if unit.startswith("k") else 1e6 if unit.startswith("m") else 1.0
        parse["power_w"] = tidy(decimal(match["n"]) * factor)


__all__ = ["HourPrice", "amount", "read_money", "valued"]
