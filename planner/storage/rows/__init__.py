"""Every table, so that the metadata is complete wherever it is used."""

from planner.storage.rows.entry import ChangeRow, EntryRow, ReplayRow, WorkspaceRow
from planner.storage.rows.job import JobEventRow, JobResultRow, JobRow
from planner.storage.rows.slack import (
    SlackAuditRow,
    SlackDeliveryRow,
    SlackInstallRow,
    SlackThreadRow,
    SlackWatchRow,
)

__all__ = ["ChangeRow", "EntryRow", "JobEventRow", "JobResultRow", "JobRow", "ReplayRow", "SlackAuditRow",
           "SlackDeliveryRow", "SlackInstallRow", "SlackThreadRow", "SlackWatchRow", "WorkspaceRow"]
