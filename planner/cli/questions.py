"""Command-line questions checked by the API's own schemas, so that both refuse alike, in the same sentence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from planner.core.errors import DomainError, InvalidQuantity

if TYPE_CHECKING:
    from pydantic import BaseModel


def validated(document: dict[str, Any]) -> dict[str, Any]:
    """Return a plan's document with defaults filled in, or refuse it naming the first field at fault."""
    from planner.schemas.plan import PlanRequest

    return asked(PlanRequest, document)


def asked(form: type[BaseModel], document: dict[str, Any]) -> dict[str, Any]:
    """Return a document with defaults filled in, or refuse it naming the first field at fault."""
    from pydantic import ValidationError

    from planner.schemas.sentences import first_error

    try:
        return form.model_validate(document).model_dump()
    except ValidationError as error:
        told = first_error(error, document, form)
        raise InvalidQuantity(told["message"], pointer=told["pointer"]) from None


def earlier(text: str | None) -> dict[str, Any] | None:
    """Return the answer before in a thread, given as JSON."""
    if text is None:
        return None
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise DomainError("--context is not a JSON object.",
                          hint="Pass what planner parse --json or planner ask --json printed before.")
    return found
