"""create the Slack app's installs, deliveries, threads, watches and audit log.

Revision: 0003, after 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ordered = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
counter = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "slack_installs",
        sa.Column("workspace_id", ordered, nullable=False, server_default="default"),
        sa.Column("team_id", ordered, nullable=False),
        sa.Column("team_name", sa.Text(), nullable=False),
        sa.Column("bot_user_id", sa.Text(), nullable=False),
        sa.Column("bot_id", sa.Text(), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("token", sa.LargeBinary(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("installed_by", sa.Text(), nullable=False),
        sa.Column("installed_at", moment, nullable=False),
        sa.Column("used_at", moment, nullable=True),
        sa.PrimaryKeyConstraint("team_id", name="pk_slack_installs"),
    )
    op.create_table(
        "slack_deliveries",
        sa.Column("workspace_id", ordered, nullable=False, server_default="default"),
        sa.Column("key", ordered, nullable=False),
        sa.Column("team_id", ordered, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("updated_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_slack_deliveries"),
    )
    op.create_index("ix_slack_deliveries_state_created_at", "slack_deliveries", ["state", "created_at"])
    op.create_table(
        "slack_threads",
        sa.Column("workspace_id", ordered, nullable=False, server_default="default"),
        sa.Column("team_id", ordered, nullable=False),
        sa.Column("channel", ordered, nullable=False),
        sa.Column("thread", ordered, nullable=False),
        sa.Column("context", sa.LargeBinary(), nullable=False),
        sa.Column("updated_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("team_id", "channel", "thread", name="pk_slack_threads"),
    )
    op.create_index("ix_slack_threads_updated_at", "slack_threads", ["updated_at"])
    op.create_table(
        "slack_watches",
        sa.Column("workspace_id", ordered, nullable=False, server_default="default"),
        sa.Column("team_id", ordered, nullable=False),
        sa.Column("name", ordered, nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("context", sa.LargeBinary(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("every_s", sa.Float(), nullable=False),
        sa.Column("next_at", moment, nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("team_id", "name", name="pk_slack_watches"),
    )
    op.create_index("ix_slack_watches_next_at", "slack_watches", ["next_at"])
    op.create_table(
        "slack_audit",
        sa.Column("workspace_id", ordered, nullable=False, server_default="default"),
        sa.Column("sequence", counter, nullable=False),
        sa.Column("team_id", ordered, nullable=False),
        sa.Column("user", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("sequence", name="pk_slack_audit"),
    )
    op.create_index("ix_slack_audit_team_id_sequence", "slack_audit", ["team_id", "sequence"])


def downgrade() -> None:
    """Undo."""
    for table in ("slack_audit", "slack_watches", "slack_threads", "slack_deliveries", "slack_installs"):
        op.drop_table(table)
