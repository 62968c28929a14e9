"""Rows of the Slack app: installs, deliveries under way, threads, watches, the audit log; texts are encrypted."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Float, Index, Integer, LargeBinary, Text
from sqlalchemy.orm import Mapped, mapped_column

from planner.storage.base import Base, Ordered, UtcDateTime
from planner.storage.rows.entry import Counter


class Asking:
    """The planner's workspace in which a Slack team asks."""

    workspace_id: Mapped[str] = mapped_column(Ordered, server_default="default")


class SlackInstallRow(Asking, Base):
    """One workspace that has the app: its single bot token, encrypted."""

    __tablename__ = "slack_installs"

    team_id: Mapped[str] = mapped_column(Ordered, primary_key=True)
    team_name: Mapped[str] = mapped_column(Text)
    bot_user_id: Mapped[str] = mapped_column(Text)
    bot_id: Mapped[str] = mapped_column(Text)
    scopes: Mapped[str] = mapped_column(Text)
    token: Mapped[bytes | None] = mapped_column(LargeBinary)
    state: Mapped[str] = mapped_column(Text)
    """active | revoked | expired."""
    installed_by: Mapped[str] = mapped_column(Text)
    installed_at: Mapped[datetime] = mapped_column(UtcDateTime)
    used_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class SlackDeliveryRow(Asking, Base):
    """One question by Slack's own key, so that a retry is not answered twice and a restart forgets nothing."""

    __tablename__ = "slack_deliveries"
    __table_args__ = (Index(None, "state", "created_at"),)

    key: Mapped[str] = mapped_column(Ordered, primary_key=True)
    team_id: Mapped[str] = mapped_column(Ordered)
    state: Mapped[str] = mapped_column(Text)
    """pending | done | failed."""
    attempts: Mapped[int] = mapped_column(Integer)
    owner: Mapped[str] = mapped_column(Text)
    """The process that works on it."""
    payload: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Encrypted; dropped once answered."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)


class SlackThreadRow(Asking, Base):
    """The last request of a thread or message, so that "and with fp8?" has something to edit."""

    __tablename__ = "slack_threads"

    team_id: Mapped[str] = mapped_column(Ordered, primary_key=True)
    channel: Mapped[str] = mapped_column(Ordered, primary_key=True)
    thread: Mapped[str] = mapped_column(Ordered, primary_key=True)
    context: Mapped[bytes] = mapped_column(LargeBinary)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


class SlackWatchRow(Asking, Base):
    """A saved question asked again from time to time; a changed answer is posted."""

    __tablename__ = "slack_watches"
    __table_args__ = (Index(None, "next_at"),)

    team_id: Mapped[str] = mapped_column(Ordered, primary_key=True)
    name: Mapped[str] = mapped_column(Ordered, primary_key=True)
    channel: Mapped[str] = mapped_column(Text)
    created_by: Mapped[str] = mapped_column(Text)
    context: Mapped[bytes] = mapped_column(LargeBinary)
    digest: Mapped[str] = mapped_column(Text)
    every_s: Mapped[float] = mapped_column(Float)
    next_at: Mapped[datetime] = mapped_column(UtcDateTime)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


class SlackAuditRow(Asking, Base):
    """Who did what and how it ended; never what was said."""

    __tablename__ = "slack_audit"
    __table_args__ = (Index(None, "team_id", "sequence"),)

    sequence: Mapped[int] = mapped_column(Counter, primary_key=True)
    team_id: Mapped[str] = mapped_column(Ordered)
    user: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    action: Mapped[str] = mapped_column(Text)
    outcome: Mapped[str] = mapped_column(Text)
