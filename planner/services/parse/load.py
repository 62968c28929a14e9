"""Load in a text: requests per time, requests in flight, people, tokens per month."""

from __future__ import annotations

import re

from planner.services.parse.canvas import Canvas
from planner.services.parse.quantities import amount, counted, free, tidy

SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0, "y": 365 * 86400.0, "M": 30 * 86400.0}
_EVERY = r"(?:/|(?:per|an?|each|every|pro|je|par|por|al|alla|la|el|in der|die|der|im|the|p)(?!\w)\.?|all'|l'|à l')"
_PERIOD = (
    r"(?P<per>secondes?|seconds?|secs?|sekunden?|segundos?|secondo|seconda|s(?!\w)|minutes?|mins?|minuten?"
    r"|minutos?|minuto|min(?!\w)|m(?!\w)|hours?|hrs?|heures?|stunden?|std|horas?|ora|uur|h(?!\w)"
    r"|days?|tage?|jours?|d[ií]as?|giorno|giorni|dag|d(?!\w)|weeks?|woche|semaine|semana|settimana|months?"
    r"|mo(?!\w)|monat|mois|mes(?!\w)|mese|maand|years?|jahr|an(?!\w))"
)
_THING = (
    r"(?:requests?|reqs?|req\.?|queries|query|calls?|prompts?|documents?|docs?|messages?|msgs?|chats?|tickets?"
    r"|pages?|e-?mails?|questions?|jobs?|items?|summaries|summary|conversations?|hits|inferences?|transcripts?"
    r"|reviews?|articles?|invoices?"
    r"|anfragen|anfrage|dokumente?|requ[eê]tes?|appels|solicitudes|peticiones|consultas|richieste|verzoeken"
    r"|pedidos|aanvragen|llamadas|completions?|generations?|sessions?|searches|records?|rows?|calls|lookups"
    r"|classifications|translations)"
)
_NO_KEY = r"(?!\s?[=:]\s?\d)"
"""After a unit: it is not the key of the next value ("out=500 rps=3")."""
_RATE_UNIT = re.compile(
    rf"{amount('n')}\s?(?:rps|qps|r/s|req/s(?:ec)?|reqs/s(?:ec)?|/s(?:ec)?(?!\w)|hz)(?!\w){_NO_KEY}"
)
_RATE_MINUTE = re.compile(rf"{amount('n')}\s?(?:rpm|qpm|req/min|reqs/?min|r/min|/min)(?!\w){_NO_KEY}")
_RATE_HOUR = re.compile(rf"{amount('n')}\s?(?:rph|qph|reqs?/h(?:r|our)?)(?!\w)")
_RATE_DAY = re.compile(rf"{amount('n')}\s?(?:rpd|qpd|reqs?/d(?:ay)?)(?!\w)")
_RATE_KEY = re.compile(
    r"(?<![\w])(?:rps|qps|request[\s_]?rate|req[\s_]?rate|arrival[\s_]?rate|rate)\s?(?:=|:|of|is"
    rf"|at)?\s?{amount('n')}(?!\s?(?:%|\$|€|/h|per h|usd))(?:\s?/?\s?s(?:ec)?\b)?"
)
_RATE_KEY_MINUTE = re.compile(rf"(?<![\w])(?:rpm|qpm)\s?(?:=|:|of|is)?\s?{amount('n')}")
_RATE_WORDS = re.compile(
    rf"{amount('n')}\s?(?:[a-z]+[\s-]){{0,2}}?{_THING}\s?(?:are |is |come in |arrive |come "
    rf"|incoming )?{_EVERY}\s?{_PERIOD}"
)
_RATE_ADVERB = re.compile(rf"{amount('n')}\s?(?:[a-z]+[\s-]){{0,1}}?{_THING} (?P<per>daily|hourly|monthly|weekly)")
_DAILY = re.compile(rf"(?P<per>daily|hourly|monthly) (?:load|volume|traffic|requests?)(?: of| is|:)? {amount('n')}")
_RATE_BARE = re.compile(
    rf"{amount('n')}\s?(?:per|a|an|each|pro|par|por|/)\s?(?P<per>second|sec|minute|min|hour|hr|day)(?!\w)"
)
_MONTHLY = re.compile(
    rf"{amount('n')}\s?(?:output |input |total |generated |prompt )?(?:tokens?|toks?|tok)"
    rf"\s?(?:{_EVERY}\s?(?P<per>months?|mo(?!\w)"
    r"|monat|mois|mes(?!\w)|mese|maand|days?|tag|jour|d[ií]a|years?|jahr|giorno|weeks?|woche|semaine|semana|settimana"
    r"|hours?|hrs?|h(?!\w)|heure|stunde|minutes?|min(?!\w))|(?P<adverb>monthly|daily|weekly|hourly))"
    rf"|(?:monthly|per month|a month|each month)[,:]? (?:we (?:push|use|burn|need) )?{amount('m')}\s?tok(?:en)?s?"
    rf"|{amount('q')}\s?tok(?:en)?s?\s?/\s?(?P<per2>mo(?:nth)?|day|d|yr|year|week|wk|hour|hr|h|min|minute)(?!\w)"
    rf"|(?:tokens?[\s_](?:per|a|/)[\s_]month)\s?[=:]?\s?{amount('t')}"
)
_FLIGHT = (
    r"(?:in[\s-]?flight|at once|at the same time|at any (?:one )?(?:time|moment)|at a time|in parallel"
    r"|simultaneous(?:ly)?|concurrent(?:ly)?|gleichzeitig\w*|parallel\w*|en m[eê]me temps|simult[aáâ]n\w*"
    r"|gelijktijdig\w*|en vol|en parall[eè]le|a la vez|al mismo tiempo|en paralelo|concurrentes?"
    r"|contemporane\w*|in contemporanea|tegelijk\w*|ao mesmo tempo|simult[aâ]ne\w*|concorrent\w*|paralel\w*"
    r"|nebenl[aä]ufig\w*)"
)
_PEOPLE = (
    r"(?:users?|people|ppl|peeps|guys|persons?|employees?|staff|seats?|heads?|humans?|folks|devs?|developers?"
    r"|engineers?"
    r"|students?|customers?|analysts?|agents?|colleagues?|coworkers|employees|members?|team(?:mates| members)?"
    r"|headcount|subscribers?|nutzer\w*|benutzer\w*|mitarbeiter\w*|leute|anwender|utilisateurs?|personnes"
    r"|usuarios?|personas|empleados|utenti|persone|gebruikers|medewerkers|usu[aá]rios?|lawyers?|doctors?"
    r"|researchers?|testers?|players?|clerks?|nurses|teachers?|writers?|advis[eo]rs?|operators?|reps|visitors?|readers?|patients?|readers?|drivers?"
    r"|consultants?|managers?|scientists?|participants?|pupils?|callers?|sellers?|of us)"
)
_CLIENTS = (
    r"(?:clients?|streams?|(?:request )?slots|sequences?|seqs|conns?|connections?|concurrency|conc|batch(?:ed)?"
    r"|clientes?|clienti|threads?|workers|chats|convos|conversations|(?:chat )?sessions|requests|reqs)"
)
_FLIGHT_AFTER = re.compile(
    rf"{free('n')}\s?(?:x\s)?(?:-?\s?way\s)?(?:of (?:them|us|those|which) )?(?:(?:or so"
    rf"|[a-zà-ü]+)[\s-]){{0,4}}?{_FLIGHT}(?:[\s-](?:active |live |open )?(?:requests?|reqs?|users?|people"
    r"|clients?|sessions?|chats?|streams?|queries|calls|sequences?|conversations?|anfragen|nutzer|requ[eê]tes"
    r"|usuarios|utilisateurs|utenti|solicitudes|peticiones|agents?|connections?|generations?|jobs))?(?!\w)"
    rf"{_NO_KEY}"
)
_CLIENTS_AFTER = re.compile(
    rf"{free('n')}\s?-?(?:(?:active|busy|live|open|running|parallel)[\s-])?{_CLIENTS}(?!\w){_NO_KEY}"
)
_FLIGHT_BEFORE = re.compile(
    r"(?<![\w])(?:concurrenc\w+|conc|concurrent(?: requests| users)?|in[\s-]flight|parallel(?:ism|it[aä]t"
    r"| requests)?|clients?|max[\s_-]num[\s_-]seqs|num[\s_-]seqs|batch(?:[\s_-]?size)?|bs|bsz"
    r"|simultaneous(?: requests| users)?|nebenl[aä]ufigkeit|concurrence|concurrencia|c|b)\s?(?:=|:|of|is|at|to"
    rf"|von|de|around|about)?\s?{amount('n')}(?!\s?(?:x\b|gb|gpu|bit|k?\s?(?:ctx|context)|ms|rps|in\b|/))"
)
_USERS_AFTER = re.compile(
    rf"{amount('n')}\s?-?(?:(?!tok|in\b|out\b|rps|h100|on\b|for\b|and\b|per\b"
    rf"|at\b)[a-z]+[\s-]){{0,2}}?{_PEOPLE}(?!\w){_NO_KEY}(?!\s?(?:per|/|a)\s?(?:s|sec|second|min|minute|hour|day)\b)"
)
_USERS_BEFORE = re.compile(
    r"(?<![\w])(?:team|users?|staff|group|headcount|company|department|crew|seats|nutzer|utilisateurs|usuarios"
    rf"|[eé]quipe|equipo)\s?(?:=|:|of|is|size|von|de|about|around)\s?(?:about |around )?{amount('n')}(?!\s?(?:x\b"
    r"|gb|gpu|bit|tok))"
)
_PEOPLE_FLIGHT = re.compile(rf"{amount('n')}\s?{_PEOPLE}\s[^\d,.;:()?]{{1,40}}?\s{_FLIGHT}(?!\w)")
_HYPHEN_TEAM = re.compile(
    rf"{amount('n')}[\s-](?:person|people|man|strong|head|user|seat|employee|dev)[\s-](?:team|company|org|startup"
    r"|group|department|shop|firm|office)"
)


_PERIODS = (
    (r"d|tag|jour|giorno", "d"),
    (r"y|jahr", "y"),
    (r"w|sem|sett", "w"),
    (r"h|st", "h"),
    (r"min", "m"),
)


def read_tokens_per_month(canvas: Canvas, parse: dict[str, object]) -> str:
    """Read "900M tokens a month" and return it; other periods are brought to a month of 30 days."""
    if (match := canvas.first(_MONTHLY)) is None:
        return ""
    name = next(g for g in "nmqt" if match[g])
    period = match["per"] or match["adverb"] or match["per2"] or "month"
    parse["tokens_per_month"] = tidy(counted(match, name) * SECONDS["M"] / _period(period))
    return match.group()


def _period(word: str) -> float:
    """Length of a period tokens are counted over [s]: a month where the word is none of the others."""
    for pattern, letter in _PERIODS:
        if re.match(pattern, word):
            return SECONDS[letter]
    return SECONDS["M"]


def read_rate(canvas: Canvas, parse: dict[str, object]) -> None:
    """Put ``request_rate`` [1/s] into the parse."""
    for pattern, seconds in (
        (_RATE_UNIT, 1.0),
        (_RATE_MINUTE, 60.0),
        (_RATE_HOUR, 3600.0),
        (_RATE_DAY, 86400.0),
        (_RATE_KEY, 1.0),
        (_RATE_KEY_MINUTE, 60.0),
        (_RATE_WORDS, None),
        (_RATE_ADVERB, None),
        (_DAILY, None),
        (_RATE_BARE, None),
    ):
        if (match := canvas.first(pattern)) is not None:
            parse["request_rate"] = tidy(counted(match, "n") / (seconds or _seconds(match["per"])))
            return


def _seconds(word: str) -> float:
    """Length of a period [s] from the word for it."""
    text = word.rstrip(".")
    if re.match(r"mo|mes|mois|maand", text):
        return SECONDS["M"]
    letters = {
        "s": "s",
        "m": "m",
        "h": "h",
        "d": "d",
        "w": "w",
        "y": "y",
        "t": "d",
        "j": "d",
        "g": "d",
        "o": "h",
        "u": "h",
        "a": "y",
    }
    if text.startswith(("stunde", "std")):
        return SECONDS["h"]
    if text.startswith(("semain", "seman", "settim")):
        return SECONDS["w"]
    return SECONDS["y"] if text.startswith("jahr") else SECONDS[letters[text[0]]]


def read_people(canvas: Canvas, parse: dict[str, object]) -> None:
    """Put ``concurrency`` and ``users`` into the parse; people said to be there at once are concurrency."""
    for pattern in (_FLIGHT_AFTER, _PEOPLE_FLIGHT, _CLIENTS_AFTER, _FLIGHT_BEFORE):
        if "concurrency" not in parse and (match := canvas.first(pattern)) is not None:
            parse["concurrency"] = counted(match, "n")
    for pattern in (_HYPHEN_TEAM, _USERS_AFTER, _USERS_BEFORE):
        if "users" not in parse and (match := canvas.first(pattern)) is not None:
            parse["users"] = counted(match, "n")
