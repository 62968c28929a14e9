"""Questions kept in a scenario: which form each kind has, and the fields that its form does not know."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from planner.schemas.base import Question
from planner.schemas.frontier import FrontierRequest
from planner.schemas.plan import CompareRequest, PlanRequest
from planner.schemas.procurement import FleetRequest, WhatIfRequest
from planner.schemas.simulate import SimulationRequest
from planner.schemas.size import SizeRequest
from planner.schemas.sweep import SweepRequest

FORMS: Mapping[str, type[Question]] = {
    "plan": PlanRequest, "compare": CompareRequest, "sweep": SweepRequest, "frontier": FrontierRequest,
    "size": SizeRequest, "whatif": WhatIfRequest, "fleet": FleetRequest, "simulation": SimulationRequest}
_NAME = 80
"""Characters of a field's name that a sentence repeats."""


def unknown_field(question: str, request: Mapping[str, Any]) -> str | None:
    """Return a sentence on the first field that the question's form does not have; None when all are known.

    What is missing or out of range may still be filled in before the scenario is asked.
    """
    form = FORMS[question]
    try:
        form.model_validate(request)
    except ValidationError as error:
        for finding in error.errors(include_url=False, include_input=False):
            if finding["type"] == "extra_forbidden":
                return _sentence(question, form, _path(finding["loc"], request))
    return None


def _path(steps: Sequence[Any], request: object) -> list[str]:
    """Return the steps that lead through the request, without those that name a branch of a union."""
    found, here = [], request
    for step in steps:
        inside = (isinstance(here, Mapping) and step in here) or (isinstance(here, list) and isinstance(step, int))
        if inside:
            found.append(str(step)[:_NAME])
            here = here[step]  # type: ignore[index] # checked above
    return found


def _sentence(question: str, form: type[Question], path: Sequence[str]) -> str:
    schema = form.model_json_schema()
    known = {name for part in (schema, *schema.get("$defs", {}).values()) for name in part.get("properties", {})}
    close = difflib.get_close_matches(path[-1], sorted(known), n=1)
    meant = f"; did you mean {close[0]}" if close else ""
    return f"{'.'.join(path)} is not a field of a {question} question{meant}"
