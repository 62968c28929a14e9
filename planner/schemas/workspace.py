"""A workspace's own entries as one document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from planner.schemas.base import Answer, Question, Slug


class WorkspaceLine(Question):
    """One entry."""

    kind: Literal["model", "sku", "price", "scenario", "calibration"]
    id: Slug
    version: int = Field(0, ge=0, description="As exported; an import starts its own count.")
    document: dict[str, Any]


class WorkspaceForm(Question):
    """What an export gives and an import takes."""

    format: Literal["planner-workspace-1"]
    entries: Annotated[list[WorkspaceLine], Field(max_length=100_000)]


class WorkspaceImported(Answer):
    """What an import did; it is all or nothing."""

    created: list[str]
    replaced: list[str]
    skipped: list[str]
