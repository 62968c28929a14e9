"""The catalogue recounted: every model's own count against what was published, each difference with its reason."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from planner.catalog.models import ModelCatalog
from planner.core.architecture.parameters import count_parameters
from planner.core.errors import PlannerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Recount:
    """One model's count."""

    id: str
    confidence: str
    counted: int
    """The language model."""
    itemised: Mapping[str, int]
    """Towers and draft modules."""
    published: int | None
    difference: int | None
    """Published less counted; None where nothing was published."""
    explanation: str | None
    unexplained: int | None
    """What is left after the explanation; None where nothing was published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueCheck:
    """The whole catalogue."""

    models: int
    exact: int
    """Published and counted agree to the unit."""
    explained: int
    unpublished: int
    mismatches: tuple[Recount, ...]
    """Every model whose published total is not the plain count, with the reason."""
    problems: tuple[str, ...]
    """Files that could not be read or understood."""
    seconds: float


def recount(model_id: str, record: Mapping[str, Any], catalog: ModelCatalog) -> Recount:
    """One model's count against its file."""
    counts = count_parameters(catalog.model(model_id))
    published = record["parameters"].get("published_total")
    explanation = record["parameters"].get("explanation")
    difference = None if published is None else published - counts.total
    unexplained = None if difference is None else (
        0 if difference == 0 else record["parameters"].get("unexplained") if explanation else difference)
    return Recount(id=model_id, confidence=record["provenance"]["confidence"], counted=counts.total,
                   itemised=counts.towers, published=published, difference=difference, explanation=explanation,
                   unexplained=unexplained)


def check_models(catalog: ModelCatalog, ids: Iterable[str] | None = None) -> CatalogueCheck:
    """Every model of the catalogue recounted; unreadable files are listed, not raised."""
    start = time.perf_counter()
    found: list[Recount] = []
    problems: list[str] = []
    for model_id in catalog.ids() if ids is None else ids:
        try:
            found.append(recount(model_id, catalog.record(model_id), catalog))
        except PlannerError as error:
            problems.append(f"{model_id}: {error.detail}")
    mismatches = tuple(row for row in found if row.difference)
    return CatalogueCheck(
        models=len(found), exact=sum(row.difference == 0 for row in found),
        explained=sum(bool(row.explanation) for row in mismatches),
        unpublished=sum(row.difference is None for row in found), mismatches=mismatches, problems=tuple(problems),
        seconds=time.perf_counter() - start)
