"""A database that does not answer, as the planner's own error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, IntegrityError

from planner.core.errors import AdapterError


@contextmanager
def answering() -> Iterator[None]:
    """Turn a database that does not answer into the planner's own error."""
    try:
        yield
    except DBAPIError as error:
        if isinstance(error, IntegrityError):
            raise
        reason = str(error.orig).strip().split("\n")[0]
        raise AdapterError(f"The database did not answer: {reason}.",
                           hint="Try again; if it persists, check the database and planner db check.") from error
