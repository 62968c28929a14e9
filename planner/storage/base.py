"""The declarative base: constraint names, UTC times and JSON documents that behave alike on both databases."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import JSON, DateTime, Dialect, MetaData, Text, TypeDecorator
from sqlalchemy.orm import DeclarativeBase

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

Ordered = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that sorts by code point on both databases, as keyset pages need."""

Json = JSON(none_as_null=True)
"""A JSON document kept as it was written (PostgreSQL json, not jsonb, which reorders)."""


class Base(DeclarativeBase):
    """Root of every row."""

    metadata = MetaData(naming_convention=NAMING)


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC; SQLite forgets time zones, so it is put back."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a naive time and hand UTC to the database."""
        del dialect
        if value is not None and value.tzinfo is None:
            raise ValueError("times are stored with their zone")
        return value.astimezone(UTC) if value else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give back an aware time."""
        del dialect
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def now() -> datetime:
    """Return the present moment in UTC."""
    return datetime.now(UTC)
