"""A stored calibration against the datasheet of its SKU."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from planner.api.bodies import JsonRoute
from planner.api.dependencies import Services, Who, json_answer, problems
from planner.schemas.base import NO_NUL
from planner.schemas.calibration import DatasheetAnswer
from planner.services.calibrations import datasheet_comparison

router = APIRouter(prefix="/v1/calibrations", tags=["calibrations"], route_class=JsonRoute)
_Name = Annotated[str, Path(min_length=1, max_length=300, pattern=NO_NUL, description="Id of a stored calibration.")]


@router.get("/{id:path}/datasheet", operation_id="calibration_datasheet", response_model=DatasheetAnswer,
            responses=problems(404))
def datasheet(planner: Services, who: Who, id: _Name) -> Response:
    """Compare what a calibration measured with the datasheet of its SKU: bandwidth and peaks, each as a share."""
    entry = planner.resources.get("calibration", who, id)
    found = planner.catalog.sku(str(entry.document["sku"]), who.workspace)
    record = entry.document.get("record", {})
    noise = record.get("noise", {})
    return json_answer({"id": entry.id, "sku": found.id, "measured_on": record.get("measured_on"),
                        "partial": record.get("partial"), "noisy": noise.get("noisy"), "reason": noise.get("reason"),
                        "ceilings": datasheet_comparison(found.value, record)})
