"""Command-line questions checked by the API's own schema, so that both refuse alike."""

from __future__ import annotations

from typing import Any

from planner.core.errors import InvalidQuantity


def validated(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with defaults filled in, or refuse it naming the first field at fault."""
    from pydantic import ValidationError

    from planner.schemas.plan import PlanRequest

    try:
        return PlanRequest.model_validate(document).model_dump()
    except ValidationError as error:
        finding = error.errors()[0]
        field = ".".join(str(step) for step in finding["loc"])
        raise InvalidQuantity(f"{field}: {finding['msg']}.", pointer="/" + field.replace(".", "/")) from None
