"""create jobs, their results and events.

Revision: 0002, after 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ordered = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
counter = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "jobs",
        sa.Column("workspace_id", ordered, nullable=False),
        sa.Column("id", ordered, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("progress", sa.Float(), nullable=False),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("lease_owner", sa.Text(), nullable=True),
        sa.Column("lease_token", sa.Text(), nullable=True),
        sa.Column("lease_until", moment, nullable=True),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("started_at", moment, nullable=True),
        sa.Column("finished_at", moment, nullable=True),
        sa.Column("expires_at", moment, nullable=True),
        sa.Column("error", sa.JSON(), nullable=True),
        sa.Column("result_type", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.workspace_id"], name="fk_jobs_workspace_id_workspaces"),
        sa.PrimaryKeyConstraint("workspace_id", "id", name="pk_jobs"),
    )
    op.create_index("ix_jobs_state_created_at", "jobs", ["state", "created_at"])
    op.create_index("ix_jobs_expires_at", "jobs", ["expires_at"])
    _of_a_job("job_results", sa.Column("content", sa.LargeBinary(), nullable=False), key=("workspace_id", "job_id"))
    _of_a_job(
        "job_events",
        sa.Column("sequence", counter, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        key=("sequence",),
    )
    op.create_index("ix_job_events_workspace_id_job_id_sequence", "job_events", ["workspace_id", "job_id", "sequence"])


def downgrade() -> None:
    """Undo."""
    for table in ("job_events", "job_results", "jobs"):
        op.drop_table(table)


def _of_a_job(name: str, *columns: sa.Column, key: tuple[str, ...]) -> None:
    """Create a table whose rows go when their job goes."""
    op.create_table(
        name,
        *columns,
        sa.Column("workspace_id", ordered, nullable=False),
        sa.Column("job_id", ordered, nullable=False),
        sa.ForeignKeyConstraint(["workspace_id", "job_id"], ["jobs.workspace_id", "jobs.id"], ondelete="CASCADE",
                                name=f"fk_{name}_workspace_id_job_id_jobs"),
        sa.PrimaryKeyConstraint(*key, name=f"pk_{name}"),
    )
