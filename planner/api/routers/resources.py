"""The five stored resources: one router each, all alike."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.convertors import register_url_convertor

from planner.api.bodies import JsonRoute
from planner.api.conditional import etag, require_match
from planner.api.dependencies import Services, Who, json_answer, problems
from planner.api.idempotency import REPLAYED, IdempotencyKey
from planner.api.links import entry_response
from planner.api.pagination import Cursor, Limit, Search, decode, decode_number, encode
from planner.api.paths import EntryPath
from planner.bootstrap import Planner
from planner.core.errors import MissingFact
from planner.schemas.base import NO_NUL, Question
from planner.schemas.resources import (
    CalibrationForm,
    History,
    ModelForm,
    Page,
    PriceForm,
    ScenarioForm,
    SkuForm,
    Stored,
)
from planner.services.ports import Entry, Kind

register_url_convertor("entry", EntryPath())
EntryName = Annotated[str, Path(min_length=1, max_length=300, pattern=NO_NUL,
                                description="Id, bare name, HF id or alias.")]
IfMatch = Annotated[str | None, Header(alias="If-Match", description="The ETag the entry came with.")]


def shown(planner: Planner, entry: Entry, workspace: str) -> dict[str, Any]:
    """Return an entry as GET shows it: document, standing, and what the core derives from it."""
    library = planner.catalog.libraries[entry.kind]
    body = {**entry.document, "id": entry.id, "built_in": entry.built_in, "version": entry.version,
            "created_at": entry.created_at, "updated_at": entry.updated_at, "updated_by": entry.updated_by}
    try:
        value = library.value(entry.id) if entry.built_in else library.read(entry.id, entry.document)
        for name, derived in library.describe(value).items():
            given = body.get(name)
            body[name] = {**given, **derived} if isinstance(given, dict) and isinstance(derived, dict) else derived
    except MissingFact as missing:
        body["missing_fact"] = {"fact": missing.fact, "detail": missing.detail}
    del workspace
    return body


def document_of(form: Question) -> dict[str, Any]:
    """Return what is stored of a form: what was given, no nulls."""
    given = form.model_dump(mode="json", exclude_unset=True)
    return {name: value for name, value in given.items() if value is not None}


def merged(target: Any, patch: Any) -> Any:  # noqa: ANN401 - RFC 7396 is defined over any JSON
    """Return a JSON merge patch applied (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def checked(form: type[Question], document: dict[str, Any]) -> Question:
    """Return a document as its form, or the same refusal that the body itself would get."""
    try:
        return form.model_validate(document)
    except ValidationError as error:
        found = [{**one, "loc": ("body", *one["loc"])} for one in error.errors(include_url=False)]
        raise RequestValidationError(found, body=document) from None


def router_of(kind: Kind, plural: str, form: type[Question]) -> APIRouter:
    """Return the router of one kind of entries."""
    router = APIRouter(prefix=f"/v1/{plural}", tags=[plural], route_class=JsonRoute)
    _add_reads(router, kind, plural)
    _add_writes(router, kind, plural, form)
    return router


def _add_reads(router: APIRouter, kind: Kind, plural: str) -> None:
    @router.get("", name=f"list_{plural}", operation_id=f"list_{plural}", responses=problems(503),
                response_model=Page)
    def list_entries(planner: Services, who: Who, q: Search = None, limit: Limit = 50,
                     cursor: Cursor = None) -> Response:
        """List entries in order of id, built-in and own together."""
        lines = planner.resources.page(kind, who, query=q, after=decode(cursor), limit=limit)
        following = encode(lines[limit - 1].id) if len(lines) > limit else None
        return json_answer({"items": lines[:limit], "next_cursor": following})

    @router.get("/{id:path}/history", name=f"history_of_{kind}", operation_id=f"history_of_{kind}",
                responses=problems(404, 409, 503), response_model=History)
    def history(planner: Services, who: Who, id: EntryName, limit: Limit = 50,
                cursor: Cursor = None) -> Response:
        """List who changed the entry, when, from what and to what, newest first."""
        changes = planner.resources.history(kind, who, id, before=decode_number(cursor), limit=limit)
        following = encode(str(changes[limit - 1].sequence)) if len(changes) > limit else None
        return json_answer({"items": list(changes[:limit]), "next_cursor": following})

    @router.get("/{id:entry}", name=f"get_{kind}", operation_id=f"get_{kind}", response_model=Stored,
                responses={**problems(404, 409, 503), **entry_response(kind, 200)})
    def get_entry(planner: Services, who: Who, id: EntryName) -> Response:
        """Return the entry with its ETag, what follows from it and where its numbers come from."""
        entry = planner.resources.get(kind, who, id)
        return json_answer(shown(planner, entry, who.workspace), headers={"ETag": etag(entry.version)})


def _add_writes(router: APIRouter, kind: Kind, plural: str, form: type[Question]) -> None:
    changes = problems(404, 409, 412, 413, 415, 428, 503)

    @router.post("", name=f"create_{kind}", operation_id=f"create_{kind}", status_code=201,
                 responses={**problems(404, 409, 413, 415, 503), **entry_response(kind, 201)}, response_model=Stored)
    def create(planner: Services, who: Who, body: form, key: IdempotencyKey = None) -> Response:  # type: ignore[valid-type] # made per kind
        """Create an entry; with an Idempotency-Key, repeating the request makes nothing new."""
        made = planner.resources.create(kind, who, document_of(body), key)
        headers = {"ETag": etag(made.entry.version), "Location": f"/v1/{plural}/{made.entry.id}"}
        return json_answer(shown(planner, made.entry, who.workspace), 201,
                           headers | (REPLAYED if made.replayed else {}))

    @router.put("/{id:entry}", name=f"replace_{kind}", operation_id=f"replace_{kind}", response_model=Stored,
                responses={**changes, **entry_response(kind, 200)})
    def replace(planner: Services, who: Who, id: EntryName, body: form,  # type: ignore[valid-type] # made per kind
                if_match: IfMatch = None) -> Response:
        """Replace the entry that If-Match names."""
        current = planner.resources.editable(kind, who, id)
        require_match(if_match, current)
        entry = planner.resources.replace(current, who, document_of(body))
        return json_answer(shown(planner, entry, who.workspace), headers={"ETag": etag(entry.version)})

    @router.patch("/{id:entry}", name=f"change_{kind}", operation_id=f"change_{kind}", response_model=Stored,
                  responses={**changes, **entry_response(kind, 200)})
    def change(planner: Services, who: Who, id: EntryName, body: dict[str, Any],
               if_match: IfMatch = None) -> Response:
        """Change some fields (JSON merge patch: null removes one)."""
        current = planner.resources.editable(kind, who, id)
        require_match(if_match, current)
        document = document_of(checked(form, merged(current.document, body)))
        entry = planner.resources.replace(current, who, document)
        return json_answer(shown(planner, entry, who.workspace), headers={"ETag": etag(entry.version)})

    @router.delete("/{id:entry}", name=f"delete_{kind}", operation_id=f"delete_{kind}", status_code=204,
                   responses=changes)
    def delete(planner: Services, who: Who, id: EntryName, if_match: IfMatch = None) -> Response:
        """Delete the entry; its history stays and its id may be used again."""
        current = planner.resources.editable(kind, who, id)
        require_match(if_match, current)
        planner.resources.remove(current, who)
        return Response(status_code=204)


FORMS: dict[Kind, type[Question]] = {"model": ModelForm, "sku": SkuForm, "price": PriceForm,
                                     "scenario": ScenarioForm, "calibration": CalibrationForm}
ROUTERS = tuple(router_of(kind, f"{kind}s", form) for kind, form in FORMS.items())
