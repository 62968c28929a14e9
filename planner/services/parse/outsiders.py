"""Names of models that are in no catalogue: said by name, never replaced."""

from __future__ import annotations

import re

from planner.services.parse.canvas import Canvas
from planner.services.parse.model_names import ModelMention, take_apart
from planner.services.parse.models import ModelIndex
from planner.services.parse.vocabulary import ModelEntry
from planner.services.parse.wordlists import words

# Families served only by their makers, or not language models: nobody can plan them from published weights.
_CLOSED = re.compile(
    r"(?<![\w-])(?:(?:claude|chatgpt|gemini|gpt[\s-]?(?:3\.5|[45])|sonnet|opus|haiku|copilot"
    r"|bard|palm|titan|nova|o[134]|whisper|sdxl|stable[\s-]diffusion|flux|bert|t5|stablelm|vicuna|wizardlm"
    r"|alpaca|zephyr|solar|orca|dolly|pythia|cerebras-gpt|inflection|reka|nous|hermes|openchat|starling|internvl"
    r"|llava|pixtral|codestral|magistral|devstral|voxtral|sora|dall-?e|midjourney)"
    r"(?:[\s-]?(?:v?\d+(?:\.\d+)*[a-z]?(?![\w])(?!\s?(?:x|h\d|a\d|l\d|b\d|mi\d))|opus|sonnet|haiku|pro|ultra"
    r"|flash|turbo|mini|nano|large|medium|small|xl|o(?=\W|$)|4o))*(?:[\s-]\d+(?:\.\d+)?b)?)(?![\w-])"
)
# The shape of an open model's name: a word, perhaps a version, and a size in billions.
_SHAPED = re.compile(
    r"(?<![\w./-])(?P<name>[a-z][a-z]+(?:[\s-]?v?\d+(?:\.\d+)*)?(?:[\s-][a-z]{3,})??[\s-]?(?:\d+x)?\d+(?:\.\d+)?"
    r"b)(?:-(?:instruct|chat|it|base))?(?!\w|\s?tok)"
)
_BARE_SIZE = re.compile(
    r"(?<![\w.])(?P<size>(?:\d+x)?\d+(?:\.\d+)?b)(?:[\s-](?:vl|moe|dense|instruct|chat|coder"
    r"|llm))*(?:\smodel)?(?!\w|\.\d|\s?(?:tok|param|requests|users|\$))"
)
_FILLER = frozenset(
    words("""
    a an the our my your this that some any full big small large new same for of on with and or vs versus in at
    to run running serve serving fit  fits host model models llm is are we want about like using use need have
    has does do can will would one two ein eine der die das un une le la el  dense moe chat instruct fp awq int
    bit real size sized around only just against
""")
)


def unknown_models(canvas: Canvas, index: ModelIndex) -> list[ModelMention]:
    """Mentions of models that are not in the catalogue, and sizes said without any family."""
    found: list[ModelMention] = []
    position = 0
    while (match := _SHAPED.search(canvas.open, position)) is not None:
        words = re.findall(r"[a-z]{2,}", match["name"])
        if not words or all(w in _FILLER for w in words):
            position = match.start() + 1
            continue
        start = match.start()
        canvas.claim(start, match.end())
        position = match.end()
        if (meant := _by_variant(match.group(), index)) is not None:
            found.append(ModelMention(start=start, end=match.end(), said=match.group(), candidates=(meant,)))
            continue
        found.append(
            ModelMention(
                start=start, end=match.end(), said=match.group(), known=False, candidates=_closest(match.group(), index)
            )
        )
    for match in canvas.take(_BARE_SIZE):
        entries = index.of_size(match["size"])
        written = len(entries) > 1 or any(match["size"] in entry.id for entry in entries)
        found.append(
            ModelMention(start=match.start(), end=match.end(), said=match.group(), candidates=entries, known=written)
        )
    return found


def _by_variant(said: str, index: ModelIndex) -> ModelEntry | None:
    """The one model that a variant and a size name without their family ("coder 480b")."""
    size = re.search(r"(?:\d+x)?\d+(?:\.\d+)?b", said)
    names = set(re.findall(r"[a-z]{3,}", said))
    fitting = [] if size is None else [e for e in index.of_size(size.group()) if names <= take_apart(e).words]
    return fitting[0] if len(fitting) == 1 else None


def closed_models(canvas: Canvas, index: ModelIndex) -> list[ModelMention]:
    """Models whose weights nobody outside their maker has; read before catalogued names, some of which begin alike."""
    return [
        ModelMention(
            start=m.start(), end=m.end(), said=m.group().strip(), known=False, candidates=_closest(m.group(), index)
        )
        for m in canvas.take(_CLOSED)
    ]


def _closest(said: str, index: ModelIndex) -> tuple[ModelEntry, ...]:
    """Catalogued models nearest in size, else the best known sizes of the newest families."""
    match = re.search(r"(\d+(?:\.\d+)?)b", said)
    sized = [m.entry for m in index.models if m.entry.total_parameters]
    if match is not None:
        aim = float(match[1]) * 1e9
        return tuple(sorted(sized, key=lambda e: abs((e.total_parameters or 0) - aim))[:4])
    return tuple(sorted(sized, key=lambda e: (e.released, e.total_parameters or 0))[-4:])
