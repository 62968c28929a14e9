"""Pydantic's findings as plain sentences that name the field, say what is wrong and suggest what would do."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

_SHOWN = 40
"""Characters of a wrong value that a sentence repeats."""
_NAME = 80
"""Characters of a field's name that a sentence repeats."""
_MOST = 50
"""Fields at fault that one refusal lists."""
_WHOLE = 1e15
"""Limits below it are written out where they are whole [1]."""
_KINDS = {
    "int_type": "a whole number", "int_parsing": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "float_parsing": "a number", "string_type": "a text", "bool_type": "true or false",
    "bool_parsing": "true or false", "list_type": "a list", "tuple_type": "a list", "dict_type": "an object",
    "model_type": "an object", "model_attributes_type": "an object", "dict_attributes_type": "an object",
    "finite_number": "a finite number", "mapping_type": "an object",
}
_LIMITS = {"greater_than_equal": ("at least", "ge"), "greater_than": ("more than", "gt"),
           "less_than_equal": ("at most", "le"), "less_than": ("less than", "lt")}
_LENGTHS = {"string_too_short": ("at least", "min_length", "characters"),
            "string_too_long": ("at most", "max_length", "characters"),
            "too_short": ("at least", "min_length", "items"), "too_long": ("at most", "max_length", "items")}


def first_error(error: ValidationError, document: object, form: type[BaseModel]) -> dict[str, str]:
    """Return the pointer and the sentence of the first field at fault of a document read as a form."""
    findings = [{**finding, "loc": ("body", *finding["loc"])} for finding in error.errors(include_url=False)]
    return field_errors(findings, document, form)[0]


def field_errors(findings: Sequence[Mapping[str, Any]], body: object, root: object) -> list[dict[str, str]]:
    """Return one pointer and sentence for each finding, the same field once; root is the form the body was read as."""
    places: dict[str, tuple[str, list[str], list[Mapping[str, Any]]]] = {}
    for finding in findings[:_MOST]:
        place, *path = finding["loc"]
        real = _real_path(path, body, finding["type"]) if place == "body" else [str(step) for step in path]
        steps = [step if len(step) <= _NAME else step[:_NAME] + "…" for step in real]
        pointer = "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step in steps)
        if place != "body":
            pointer = f"/{place}{pointer}"
        name = ".".join(steps) or ("the body" if place == "body" else str(place))
        places.setdefault(pointer, (name, steps, []))[2].append(finding)
    return [{"pointer": pointer, "message": _told(found, name, _fields_at(root, steps[:-1]))}
            for pointer, (name, steps, found) in places.items()]


def _told(findings: Sequence[Mapping[str, Any]], name: str, known: Sequence[str]) -> str:
    """Return what is wrong with one field; where it may be of several kinds and is of none, all of them."""
    other = [finding for finding in findings if finding["type"] not in _KINDS]
    kinds = list(dict.fromkeys(_KINDS[finding["type"]] for finding in findings if finding["type"] in _KINDS))
    if other or len(kinds) == 1:
        return _sentence((other or findings)[0], name, known)
    wide = [kind for kind in kinds if kind != "a whole number" or "a number" not in kinds]
    return f"{name} must be {' or '.join(wide)}, got {_shown(findings[0].get('input'))}."


def _real_path(path: Sequence[Any], body: object, kind: str) -> list[str]:
    """Drop the steps that name a branch of a union rather than something in the body."""
    steps: list[str] = []
    here: Any = body
    for index, step in enumerate(path):
        known = isinstance(here, Mapping) and step in here
        listed = isinstance(here, list | tuple) and isinstance(step, int) and step < len(here)
        if known or listed:
            here = here[step]
        elif index < len(path) - 1 or kind != "missing":
            continue
        steps.append(str(step))
    return steps


def _fields_at(root: object, steps: Sequence[str]) -> list[str]:
    """Return the known field names of the object that a path leads to."""
    models = _models(root)
    for step in steps:
        if step.isdigit():
            continue
        models = [inner for model in models if step in model.model_fields
                  for inner in _models(model.model_fields[step].annotation)]
    return sorted({name for model in models for name in model.model_fields})


def _models(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if typing.get_origin(annotation) in {typing.Union, types.UnionType, typing.Annotated, list, tuple, dict}:
        return [model for part in typing.get_args(annotation) for model in _models(part)]
    return []


def _sentence(finding: Mapping[str, Any], name: str, known: Sequence[str]) -> str:
    kind, context = finding["type"], finding.get("ctx") or {}
    if kind == "missing":
        return f"{name} is required."
    if kind == "extra_forbidden":
        return f"{name} is not a field here; {_suggestion(name.rsplit('.', 1)[-1], known)}."
    if kind == "value_error":
        return f"{name}: {str(context.get('error', finding['msg'])).rstrip('.')}."
    return f"{name} {_demand(kind, context, finding['msg'], finding.get('input'))}, got {_shown(finding.get('input'))}."


def _demand(kind: str, context: Mapping[str, Any], message: str, value: object) -> str:
    """Return what a value should have been."""
    if kind in _KINDS:
        return f"must be {_KINDS[kind]}"
    if kind in _LIMITS:
        word, key = _LIMITS[kind]
        return f"must be {_bound(word, context[key], value)}"
    if kind in _LENGTHS:
        word, key, unit = _LENGTHS[kind]
        return f"must have {word} {context[key]} {unit.removesuffix('s') if context[key] == 1 else unit}"
    if kind in {"literal_error", "enum"}:
        return f"must be one of {context['expected']}"
    if kind == "string_pattern_mismatch":
        return f"must match {context['pattern']}"
    return f"is refused ({message})"


def _bound(word: str, limit: object, value: object) -> str:
    """Return a limit in words: what must not be nothing is asked to be greater than zero, not at least 1e-09."""
    nothing = isinstance(value, int | float) and value <= 0
    if not isinstance(limit, int | float) or isinstance(limit, bool):
        return f"{word} {limit}"
    if (word == "more than" and limit == 0) or (word == "at least" and 0 < limit < 1 and nothing):
        return "greater than zero"
    return f"{word} {limit:.0f}" if limit == int(limit) and abs(limit) < _WHOLE else f"{word} {limit:g}"


def _suggestion(wrong: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(wrong, known, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]}"
    return "known fields are " + ", ".join(known) if known else "leave it out"


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
