"""The store: one transaction per block, over one workspace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from sqlalchemy import Engine, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from planner.storage import migrate
from planner.storage.base import now
from planner.storage.failures import answering
from planner.storage.repositories.entries import SqlEntries
from planner.storage.repositories.jobs import SqlJobs
from planner.storage.repositories.replays import SqlReplays
from planner.storage.rows import WorkspaceRow


class SqlSession:
    """One transaction over one workspace."""

    def __init__(self, session: Session, workspace: str) -> None:
        self._session = session
        self._workspace = workspace

    @cached_property
    def entries(self) -> SqlEntries:
        """Return the workspace's entries."""
        return SqlEntries(self._session, self._workspace)

    @cached_property
    def replays(self) -> SqlReplays:
        """Return the workspace's remembered answers."""
        return SqlReplays(self._session, self._workspace)

    @cached_property
    def jobs(self) -> SqlJobs:
        """Return the workspace's jobs."""
        return SqlJobs(self._session, self._workspace)


class SqlStore:
    """Workspaces in a SQL database."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._writer = engine.execution_options(writes=True)
        self._known: set[str] = set()

    @contextmanager
    def read(self, workspace: str) -> Iterator[SqlSession]:
        """Open a transaction that only reads."""
        with answering(), Session(self.engine) as session:
            yield SqlSession(session, workspace)

    @contextmanager
    def write(self, workspace: str) -> Iterator[SqlSession]:
        """Open a transaction that commits when its block ends well."""
        self._found(workspace)
        with answering(), Session(self._writer) as session, session.begin():
            yield SqlSession(session, workspace)

    def revision(self, workspace: str) -> int:
        """Return a number that grows with every change of the workspace's entries."""
        with answering(), Session(self.engine) as session:
            asked = select(WorkspaceRow.revision).where(WorkspaceRow.workspace_id == workspace)
            return session.scalar(asked) or 0

    def ready(self) -> None:
        """Return when the database answers and its schema is current."""
        with answering():
            found = migrate.current(self.engine)
        if found != migrate.head():
            raise migrate.Drift(f"The database is at revision {found or 'none'}, this version needs {migrate.head()}.",
                                hint="Run: planner db upgrade")

    def _found(self, workspace: str) -> None:
        """Make sure the workspace's row exists; others may be doing the same."""
        if workspace in self._known:
            return
        try:
            with answering(), Session(self._writer) as session, session.begin():
                if session.get(WorkspaceRow, workspace) is None:
                    session.execute(insert(WorkspaceRow).values(workspace_id=workspace, revision=0, created_at=now()))
        except IntegrityError:
            pass
        self._known.add(workspace)
