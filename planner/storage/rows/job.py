"""Rows of a job, its result and its events."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Float, ForeignKey, ForeignKeyConstraint, Index, Integer, LargeBinary, Text
from sqlalchemy.orm import Mapped, mapped_column

from planner.storage.base import Base, Json, Ordered, UtcDateTime
from planner.storage.rows.entry import Counter


class JobRow(Base):
    """A queued, running or finished job; the lease says who works on it and until when."""

    __tablename__ = "jobs"
    __table_args__ = (Index(None, "state", "created_at"),)

    workspace_id: Mapped[str] = mapped_column(ForeignKey("workspaces.workspace_id"), primary_key=True)
    id: Mapped[str] = mapped_column(Ordered, primary_key=True)
    kind: Mapped[str] = mapped_column(Text)
    request: Mapped[dict[str, Any]] = mapped_column(Json)
    state: Mapped[str] = mapped_column(Text)
    progress: Mapped[float] = mapped_column(Float, default=0.0)
    message: Mapped[str | None] = mapped_column(Text)
    attempts: Mapped[int] = mapped_column(Integer, default=0)
    cancel_requested: Mapped[bool] = mapped_column(Boolean, default=False)
    lease_owner: Mapped[str | None] = mapped_column(Text)
    lease_token: Mapped[str | None] = mapped_column(Text)
    lease_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    created_by: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    started_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime, index=True)
    error: Mapped[dict[str, Any] | None] = mapped_column(Json)
    result_type: Mapped[str | None] = mapped_column(Text)


class JobResultRow(Base):
    """A job's result, apart from the row that workers poll."""

    __tablename__ = "job_results"
    __table_args__ = (
        ForeignKeyConstraint(["workspace_id", "job_id"], ["jobs.workspace_id", "jobs.id"], ondelete="CASCADE"),
    )

    workspace_id: Mapped[str] = mapped_column(Ordered, primary_key=True)
    job_id: Mapped[str] = mapped_column(Ordered, primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)


class JobEventRow(Base):
    """One event of a job, numbered within it."""

    __tablename__ = "job_events"
    __table_args__ = (
        ForeignKeyConstraint(["workspace_id", "job_id"], ["jobs.workspace_id", "jobs.id"], ondelete="CASCADE"),
        Index(None, "workspace_id", "job_id", "sequence"),
    )

    sequence: Mapped[int] = mapped_column(Counter, primary_key=True)
    workspace_id: Mapped[str] = mapped_column(Ordered)
    job_id: Mapped[str] = mapped_column(Ordered)
    kind: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    data: Mapped[dict[str, Any]] = mapped_column(Json)
