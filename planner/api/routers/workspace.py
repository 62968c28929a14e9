"""Export and import of a workspace."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from planner.api.bodies import JsonRoute
from planner.api.dependencies import Services, Who, json_answer, problems
from planner.api.routers.resources import FORMS, document_of
from planner.schemas.workspace import WorkspaceForm, WorkspaceImported, WorkspaceLine
from planner.services.workspaces import Mode

router = APIRouter(prefix="/v1/workspace", tags=["workspace"], route_class=JsonRoute)


@router.get("/export", operation_id="export_workspace", response_model=WorkspaceForm, responses=problems(503))
def export(planner: Services, who: Who) -> Response:
    """Return everything the workspace's users made, as one document that import takes."""
    return json_answer(planner.workspaces.export(who), headers={
        "Content-Disposition": 'attachment; filename="planner-workspace.json"'})


@router.post("/import", operation_id="import_workspace", response_model=WorkspaceImported,
             responses=problems(404, 409, 413, 415, 503))
def load(planner: Services, who: Who, body: WorkspaceForm,
         mode: Annotated[Mode, Query(description="What to do with an id that exists.")] = "refuse") -> Response:
    """Store an export's entries, all or none; ids that exist are refused, skipped or replaced."""
    lines = [{"kind": line.kind, "id": line.id, "document": _checked(place, line)}
             for place, line in enumerate(body.entries)]
    return json_answer(planner.workspaces.load(who, lines, mode))


def _checked(place: int, line: WorkspaceLine) -> dict[str, object]:
    """Return a line's document as its kind's form accepts it."""
    document = {**line.document, "id": line.id}
    try:
        return document_of(FORMS[line.kind].model_validate(document))
    except ValidationError as error:
        found = [{**one, "loc": ("body", "entries", place, "document", *one["loc"])}
                 for one in error.errors(include_url=False)]
        whole = {"entries": {place: {"document": document}}}
        raise RequestValidationError(found, body=whole) from None
