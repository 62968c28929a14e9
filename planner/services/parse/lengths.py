"""Lengths in a text: prompt and answer (k = 1000) and context (k = 1024)."""

from __future__ import annotations

import re

from planner.services.parse.canvas import BLANK, Canvas
from planner.services.parse.quantities import amount, counted, free

_TOK = r"(?:[\s-]?(?:tokens?|toks?|tok\b|tkn|tk\b|jetons?))"
_FILL = (
    r"(?:\s?(?:of|is|are|long|,? ?say|like|maybe|typically|usually"
    r"|around|about|approx\.?|roughly|circa|ca\.?|avg|average|mean|length|len|size|tokens?"
    r"|lengths|=|:|~|de|von|environ|etwa|con|di)){0,3}\s?"
)
_IN = (
    r"(?:in|input|inputs|prompts?|isl|in_tokens|input_tokens|input_len|rein|eingabe|eingang|eingabetokens"
    r"|entr[eé]e|entrada|ingresso|ingressi|prefill|prompt_tokens|entrantes?"
    r"|invoer|hinein|en entr[eé]e|de entrada|in ingresso|d'entr[eé]e|in input|di input|en input)"
)
_OUT = (
    r"(?:out|outputs?|answers?|osl|generated|generation|completions?|responses?|repl(?:y|ies)|out_tokens"
    r"|output_tokens|output_len|raus|heraus|ausgabe|antwort(?:en)?|sortie|salida|uscita|uitvoer"
    r"|decode|max_tokens|r[eé]ponses?|respuestas?|risposte?|respostas?|sa[ií]da|en sortie|de salida|in uscita"
    r"|de sortie|in output|di output|summar(?:y|ies))"
)
_CONTEXT = (
    r"(?:ctx(?:[\s_-]?(?:len|length|size))?|contexte?|contexts?|context[\s_-](?:window|length|len|size)s?"
    r"|windows?|kontext(?:fenster|l[aä]nge)?|contexto|contesto"
    r"|fen[eê]tre(?: de contexte)?|fenster|ventana(?: de contexto)?|finestra|venster|max[\s_-]?model[\s_-]?len"
    r"|max[\s_-]?len|seq(?:uence)?[\s_-]?len(?:gth)?|seqlen|sequence length|sequences|history)"
)
_PAIR_LABEL = re.compile(
    r"(?:isl\s?[/,]\s?osl|in(?:put)?\s?/\s?out(?:put)?|prompt\s?/\s?(?:answer|output|completion|response)"
    r"|eingabe\s?/\s?ausgabe|entr[eé]e\s?/\s?sortie|entrada\s?/\s?salida)"
    rf"(?:\s?tokens)?\s?[=:]?\s?{amount('i')}\s?(?:/|,|:|-|to|and)\s?{amount('o')}{_TOK}?"
)
_PAIR_KEYED = re.compile(
    rf"(?<![\dkm])(?<![\dkm]\s)(?<!\w){_IN}{_FILL}{amount('i')}{_TOK}?\s?(?:,|/|;|&|and|und|et"
    rf"|y)?\s?{_OUT}{_FILL}{amount('o')}{_TOK}?"
)
_PAIR_REVERSED = re.compile(
    rf"(?<![\dkm])(?<![\dkm]\s)(?<!\w){_OUT}{_FILL}{amount('o')}{_TOK}?\s?(?:,|/|;|&|and)?\s?"
    rf"{_IN}{_FILL}{amount('i')}{_TOK}?(?!\s?(?:ms|s\b|sec|flight|parallel))"
)
_PAIR_AFTER = re.compile(
    rf"{amount('i')}{_TOK}?\s?/\s?{amount('o')}{_TOK}?\s?(?:in\s?/\s?out|isl\s?/\s?osl|input\s?/\s?output"
    r"|tok\w*)(?!\s?/)"
)
_PAIR_TO = re.compile(rf"{amount('i')}{_TOK}?\s?(?:->|=>|>|to)\s?{amount('o')}{_TOK}?\s?(?:out|outputs?|generated)\b")
_PAIR_BARE = re.compile(
    rf"{amount('i')}{_TOK}?\s?(?:/|->)\s?{amount('o')}{_TOK}?(?![\s/]*(?:h\b|hr|hour|s\b|sec|month|day"
    r"|m\b))(?!\s?/)"
)
_NUMBER_IN = re.compile(
    rf"(?:(?<!at )(?<!@ )(?<!@)|(?=\S+ in (?!{BLANK})))"  # "at 32k in fp8" is a window, the format read already
    rf"{free('n')}{_TOK}?[\s-]?(?:long |each |average |avg |of "
    rf"|as )?{_IN}(?![\w=])(?!\s?flight)(?!\s?parallel)(?!\s(?:bf16|fp8|fp16|[48][\s-]?bit|int|awq|gptq|nvfp4"
    r"|vllm|total|one|a\b))"
    rf"(?:[\s-]?(?:tokens?|length|len))?"
)
_NUMBER_OUT = re.compile(
    rf"{free('n')}{_TOK}?[\s-]?(?:long |each |average |avg |of |as )?(?:{_OUT}|back)(?![\w=])(?:[\s-]?(?:tokens?|length"
    r"|len))?"
)
_IN_NUMBER = re.compile(
    rf"(?<!\w)(?<!\w-){_IN}{_FILL}{amount('n')}(?!\s?(?:%|ms|s\b|sec|h\b|gpu|x\b|flight|bit|at once|concurrent"
    rf"|parallel|in flight|/s)){_TOK}?"
)
_OUT_NUMBER = re.compile(
    rf"(?<!\w)(?<!\w-){_OUT}{_FILL}{amount('n')}(?!\s?(?:%|ms|s\b|sec|h\b|gpu|x\b|bit|at once|concurrent|parallel"
    rf"|in flight|/s)){_TOK}?"
)
_KEYED_IN = re.compile(rf"(?<!\w)(?<!\w-)(?:{_IN})\s?[=:]\s?{amount('n')}")
_KEYED_OUT = re.compile(rf"(?<!\w)(?<!\w-)(?:{_OUT})\s?[=:]\s?{amount('n')}")
_GENERATE = re.compile(
    rf"(?:generat\w+|produc\w+|emit\w*|writ\w+|return\w*) {_FILL}{amount('n')}{_TOK}"
    rf"|(?:answer|reply|respond)(?:ing|s)? (?:with|in) {_FILL}{amount('m')}{_TOK}?(?!\s?(?:%|ms|s\b|sec|x\b|gpu))"
)
_READ = re.compile(
    r"(?:send\w*|past(?:e|es|ing)|read\w*|ingest\w*|feed\w*|(?:documents?|docs?|contracts?|e-?mails?|articles?|pages?|transcripts?|tickets?|reports?"
    rf"|papers?|files?|inputs?|messages?) (?:of|with|at|around|about|averaging)) {_FILL}{amount('n')}{_TOK}"
)
_CONTEXT_AXIS = re.compile(
    rf"{amount('a')}{_TOK}?\s?(?:{_CONTEXT})?\s?(?:vs\.?|versus|or|against)\s?{amount('b')}{_TOK}?\s?{_CONTEXT}\b"
    rf"|{_CONTEXT}{_FILL}{amount('c')}\s?(?:vs\.?|versus|or|against)\s?{amount('d')}"
)
_NUMBER_CONTEXT = re.compile(
    rf"{free('n')}{_TOK}?[\s-]?(?:of |de |long |full |max |each )?{_CONTEXT}(?!\w)(?!\s?[=:]\s?\d)"
    r"(?:[\s-]?(?:length|len|size"
    r"|window|tokens?))?"
)
_CONTEXT_NUMBER = re.compile(
    rf"(?<![\w]){_CONTEXT}(?:\s?(?:window|length|len|size|of|is|=|:|at|to|up to|around|about|de|von|van|di|du|bis"
    rf"|bei))*\s?{amount('n')}{_TOK}?(?!\s?(?:%|ms\b|s\b|/|gpu|clients|concurrent|users|rps))"
)
_EACH = re.compile(rf"{amount('n')}{_TOK}? (?:each|apiece|chacun\w*|jeweils|cada un[oa])\b")
_FROM_TO = re.compile(rf"\bfrom {amount('n')}{_TOK}? to {amount('m')}{_TOK}?")
_AT_K = re.compile(
    r"(?P<at>\b(?:at|with|@|for|to|bei|à|a|con|mit|avec|met|up to|bis|try"
    rf"|about)\s)?(?<![\w.,'$€£/])(?P<n>\d+(?:[.,]\d+)?)\s?(?P<n_s>k|m(?= tok| agent| ctx))\b{_TOK}?(?!\s?(?:/"
    r"|per\b|rps|qps|req|users?|h\b|\$|€|usd|dollars?|euros?|budget|people|docs?|documents?|a (?:day|month)))"
)


def read_lengths(canvas: Canvas, parse: dict[str, object]) -> None:
    """Put ``input_tokens``, ``output_tokens`` and ``context_tokens`` into the parse."""
    _pairs(canvas, parse)
    _context(canvas, parse)
    for key, patterns in (
        ("input_tokens", (_KEYED_IN,)),
        ("output_tokens", (_KEYED_OUT,)),
        ("input_tokens", (_NUMBER_IN,)),
        ("output_tokens", (_NUMBER_OUT, _GENERATE)),
        ("input_tokens", (_IN_NUMBER, _READ)),
        ("output_tokens", (_OUT_NUMBER,)),
    ):
        for pattern in patterns:
            if key not in parse and (match := canvas.first(pattern)) is not None:
                parse[key] = counted(match, "n" if match["n"] else "m")


def read_bare_pair(canvas: Canvas, parse: dict[str, object]) -> None:
    """Read "25 rps 2k/400": two lengths with only a slash between them."""
    if not parse.keys() & {"input_tokens", "output_tokens"} and (match := canvas.first(_PAIR_BARE)) is not None:
        parse["input_tokens"], parse["output_tokens"] = counted(match, "i"), counted(match, "o")


def read_bare_context(canvas: Canvas, parse: dict[str, object]) -> None:
    """Read "at 32k" and "16k each", once everything with a unit of its own has been read."""
    for _ in canvas.take(_FROM_TO):
        continue  # a change that was seen, not a wish
    for pattern in (_EACH, _AT_K):
        if "context_tokens" not in parse and (match := canvas.first(pattern)) is not None:
            value = counted(match, "n", kilo=1024)
            if value >= 256 and (pattern is _EACH or match["at"] or "." not in match["n"]):
                parse["context_tokens"] = value


def _pairs(canvas: Canvas, parse: dict[str, object]) -> None:
    for pattern in (_PAIR_LABEL, _PAIR_KEYED, _PAIR_REVERSED, _PAIR_AFTER, _PAIR_TO):
        if (match := canvas.first(pattern)) is not None:
            given, made = counted(match, "i"), counted(match, "o")
            if given + made != 100:  # two shares of a whole are a mix, not lengths
                parse["input_tokens"], parse["output_tokens"] = given, made
            return


def _context(canvas: Canvas, parse: dict[str, object]) -> None:
    if (match := canvas.first(_CONTEXT_AXIS)) is not None:
        parse["context_tokens"] = [counted(match, g, kilo=1024) for g in "abcd" if match[g]]
        return
    for pattern in (_NUMBER_CONTEXT, _CONTEXT_NUMBER):
        if (match := canvas.first(pattern)) is not None:
            parse["context_tokens"] = counted(match, "n", kilo=1024)
            return
