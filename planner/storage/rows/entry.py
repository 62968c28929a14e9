"""Rows of a workspace, its entries and their history."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, Text
from sqlalchemy.orm import Mapped, mapped_column

from planner.storage.base import Base, Json, Ordered, UtcDateTime

Counter = BigInteger().with_variant(Integer, "sqlite")
"""A growing key: SQLite only numbers INTEGER columns by itself."""


class WorkspaceRow(Base):
    """A tenant; its revision grows with every change of its entries."""

    __tablename__ = "workspaces"

    workspace_id: Mapped[str] = mapped_column(Ordered, primary_key=True)
    revision: Mapped[int] = mapped_column(BigInteger, default=0)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


class EntryRow(Base):
    """A user's model, SKU, price, scenario or calibration."""

    __tablename__ = "entries"

    workspace_id: Mapped[str] = mapped_column(ForeignKey("workspaces.workspace_id"), primary_key=True)
    kind: Mapped[str] = mapped_column(Ordered, primary_key=True)
    id: Mapped[str] = mapped_column(Ordered, primary_key=True)
    version: Mapped[int] = mapped_column(Integer)
    document: Mapped[dict[str, Any]] = mapped_column(Json)
    search: Mapped[str] = mapped_column(Text)
    """Lower-case id and name, for ?q=."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_by: Mapped[str] = mapped_column(Text)
    deleted_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class ChangeRow(Base):
    """One change of one entry."""

    __tablename__ = "changes"
    __table_args__ = (Index(None, "workspace_id", "kind", "entry_id", "sequence"),)

    sequence: Mapped[int] = mapped_column(Counter, primary_key=True)
    workspace_id: Mapped[str] = mapped_column(ForeignKey("workspaces.workspace_id"))
    kind: Mapped[str] = mapped_column(Ordered)
    entry_id: Mapped[str] = mapped_column(Ordered)
    version: Mapped[int] = mapped_column(Integer)
    action: Mapped[str] = mapped_column(Text)
    changed_by: Mapped[str] = mapped_column(Text)
    changed_at: Mapped[datetime] = mapped_column(UtcDateTime)
    before: Mapped[dict[str, Any] | None] = mapped_column(Json)
    after: Mapped[dict[str, Any] | None] = mapped_column(Json)


class ReplayRow(Base):
    """The answer once given to an idempotency key."""

    __tablename__ = "replays"

    workspace_id: Mapped[str] = mapped_column(ForeignKey("workspaces.workspace_id"), primary_key=True)
    key: Mapped[str] = mapped_column(Ordered, primary_key=True)
    fingerprint: Mapped[str] = mapped_column(Text)
    answer: Mapped[dict[str, Any]] = mapped_column(Json)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
