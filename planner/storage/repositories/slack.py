"""The Slack app's state in the database; every method is one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Engine, delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from planner.services.conversations import AuditLine, Delivery, Install, InstallState, Watch
from planner.storage.base import now
from planner.storage.failures import answering
from planner.storage.rows import SlackAuditRow, SlackDeliveryRow, SlackInstallRow, SlackThreadRow, SlackWatchRow


class SqlConversations:
    """Installs, deliveries, threads, watches and the audit log."""

    def __init__(self, engine: Engine) -> None:
        self._reader = engine
        self._writer = engine.execution_options(writes=True)

    def put_install(self, install: Install) -> None:
        """Store a workspace's install in place of an earlier one."""
        with answering(), Session(self._writer) as session, session.begin():
            session.merge(SlackInstallRow(
                team_id=install.team_id, team_name=install.team_name, bot_user_id=install.bot_user_id,
                bot_id=install.bot_id, scopes=install.scopes, token=install.token, state=install.state,
                installed_by=install.installed_by, installed_at=install.installed_at, used_at=install.used_at))

    def install(self, team_id: str) -> Install | None:
        """Return a workspace's install."""
        with answering(), Session(self._reader) as session:
            row = session.get(SlackInstallRow, team_id)
            return None if row is None else _install(row)

    def installs(self) -> Sequence[Install]:
        """Return every install."""
        with answering(), Session(self._reader) as session:
            return [_install(row) for row in session.scalars(select(SlackInstallRow).order_by(SlackInstallRow.team_id))]

    def close_install(self, team_id: str, state: InstallState) -> None:
        """Forget a token that no longer works."""
        with answering(), Session(self._writer) as session, session.begin():
            session.execute(update(SlackInstallRow).where(SlackInstallRow.team_id == team_id)
                            .values(state=state, token=None))

    def begin(self, key: str, team_id: str, payload: bytes, owner: str) -> bool:
        """Take a delivery in; False when it was taken in before."""
        moment = now()
        try:
            with answering(), Session(self._writer) as session, session.begin():
                session.execute(insert(SlackDeliveryRow).values(
                    key=key, team_id=team_id, state="pending", attempts=1, owner=owner, payload=payload,
                    created_at=moment, updated_at=moment))
                session.execute(update(SlackInstallRow).where(SlackInstallRow.team_id == team_id)
                                .values(used_at=moment))
        except IntegrityError:
            return False
        return True

    def finish(self, key: str, *, failed: bool = False) -> None:
        """Mark a delivery answered and drop what it asked."""
        with answering(), Session(self._writer) as session, session.begin():
            session.execute(update(SlackDeliveryRow).where(SlackDeliveryRow.key == key)
                            .values(state="failed" if failed else "done", payload=None, updated_at=now()))

    def adopt(self, owner: str, before: datetime) -> Sequence[Delivery]:
        """Return deliveries of other processes older than a moment, now this process's."""
        with answering(), Session(self._writer) as session, session.begin():
            rows = session.scalars(
                select(SlackDeliveryRow).where(
                    SlackDeliveryRow.state == "pending", SlackDeliveryRow.owner != owner,
                    SlackDeliveryRow.updated_at < before).with_for_update(skip_locked=True)).all()
            found = []
            for row in rows:
                row.owner, row.attempts, row.updated_at = owner, row.attempts + 1, now()
                found.append(Delivery(key=row.key, team_id=row.team_id, attempts=row.attempts,
                                      payload=row.payload or b"", created_at=row.created_at))
            return found

    def remember(self, team_id: str, channel: str, thread: str, context: bytes) -> None:
        """Keep a thread's last request."""
        with answering(), Session(self._writer) as session, session.begin():
            session.merge(SlackThreadRow(team_id=team_id, channel=channel, thread=thread, context=context,
                                         updated_at=now()))

    def recall(self, team_id: str, channel: str, thread: str) -> bytes | None:
        """Return a thread's last request."""
        with answering(), Session(self._reader) as session:
            row = session.get(SlackThreadRow, (team_id, channel, thread))
            return None if row is None else row.context

    def put_watch(self, watch: Watch) -> None:
        """Store a watch in place of an earlier one of its name."""
        with answering(), Session(self._writer) as session, session.begin():
            session.merge(SlackWatchRow(
                team_id=watch.team_id, name=watch.name, channel=watch.channel, created_by=watch.created_by,
                context=watch.context, digest=watch.digest, every_s=watch.every_s, next_at=watch.next_at,
                created_at=now()))

    def watches(self, team_id: str) -> Sequence[Watch]:
        """Return a workspace's watches."""
        with answering(), Session(self._reader) as session:
            asked = select(SlackWatchRow).where(SlackWatchRow.team_id == team_id).order_by(SlackWatchRow.name)
            return [_watch(row) for row in session.scalars(asked)]

    def due(self, now: datetime) -> Sequence[Watch]:
        """Return watches whose time has come, each moved on so that no one else asks it too."""
        with answering(), Session(self._writer) as session, session.begin():
            rows = session.scalars(select(SlackWatchRow).where(SlackWatchRow.next_at <= now)
                                   .with_for_update(skip_locked=True)).all()
            found = [_watch(row) for row in rows]
            for row in rows:
                row.next_at = now + timedelta(seconds=row.every_s)
            return found

    def drop_watch(self, team_id: str, name: str) -> bool:
        """End a watch; False when there is none."""
        with answering(), Session(self._writer) as session, session.begin():
            return session.scalar(delete(SlackWatchRow).where(
                SlackWatchRow.team_id == team_id, SlackWatchRow.name == name)
                .returning(SlackWatchRow.name)) is not None

    def note(self, line: AuditLine) -> None:
        """Add a line to the audit log."""
        with answering(), Session(self._writer) as session, session.begin():
            session.execute(insert(SlackAuditRow).values(
                team_id=line.team_id, user=line.user, at=line.at, action=line.action, outcome=line.outcome))

    def audit(self, limit: int) -> Sequence[AuditLine]:
        """Return the newest lines of the audit log."""
        with answering(), Session(self._reader) as session:
            asked = select(SlackAuditRow).order_by(SlackAuditRow.sequence.desc()).limit(limit)
            return [AuditLine(team_id=row.team_id, user=row.user, at=row.at, action=row.action, outcome=row.outcome)
                    for row in session.scalars(asked)]

    def purge(self, before: datetime) -> None:
        """Forget finished deliveries and thread contexts older than a moment."""
        with answering(), Session(self._writer) as session, session.begin():
            session.execute(delete(SlackDeliveryRow).where(
                SlackDeliveryRow.state != "pending", SlackDeliveryRow.updated_at < before))
            session.execute(delete(SlackThreadRow).where(SlackThreadRow.updated_at < before))


def _install(row: SlackInstallRow) -> Install:
    return Install(team_id=row.team_id, team_name=row.team_name, bot_user_id=row.bot_user_id, bot_id=row.bot_id,
                   scopes=row.scopes, token=row.token, state=row.state,  # type: ignore[arg-type] # one of the three
                   installed_by=row.installed_by, installed_at=row.installed_at, used_at=row.used_at)


def _watch(row: SlackWatchRow) -> Watch:
    return Watch(team_id=row.team_id, name=row.name, channel=row.channel, created_by=row.created_by,
                 context=row.context, digest=row.digest, every_s=row.every_s, next_at=row.next_at)
