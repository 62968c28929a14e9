"""create workspaces, entries, their history and idempotency keys.

Revision: 0001, the first
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ordered = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
counter = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
moment = sa.DateTime(timezone=True)
owner = "workspaces.workspace_id"


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "workspaces",
        sa.Column("workspace_id", ordered, nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("workspace_id", name="pk_workspaces"),
    )
    op.create_table(
        "entries",
        sa.Column("workspace_id", ordered, nullable=False),
        sa.Column("kind", ordered, nullable=False),
        sa.Column("id", ordered, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("search", sa.Text(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("updated_at", moment, nullable=False),
        sa.Column("updated_by", sa.Text(), nullable=False),
        sa.Column("deleted_at", moment, nullable=True),
        sa.ForeignKeyConstraint(["workspace_id"], [owner], name="fk_entries_workspace_id_workspaces"),
        sa.PrimaryKeyConstraint("workspace_id", "kind", "id", name="pk_entries"),
    )
    op.create_table(
        "changes",
        sa.Column("sequence", counter, nullable=False),
        sa.Column("workspace_id", ordered, nullable=False),
        sa.Column("kind", ordered, nullable=False),
        sa.Column("entry_id", ordered, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("changed_by", sa.Text(), nullable=False),
        sa.Column("changed_at", moment, nullable=False),
        sa.Column("before", sa.JSON(), nullable=True),
        sa.Column("after", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(["workspace_id"], [owner], name="fk_changes_workspace_id_workspaces"),
        sa.PrimaryKeyConstraint("sequence", name="pk_changes"),
    )
    op.create_index("ix_changes_workspace_id_kind_entry_id_sequence", "changes",
                    ["workspace_id", "kind", "entry_id", "sequence"])
    op.create_table(
        "replays",
        sa.Column("workspace_id", ordered, nullable=False),
        sa.Column("key", ordered, nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("answer", sa.JSON(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], [owner], name="fk_replays_workspace_id_workspaces"),
        sa.PrimaryKeyConstraint("workspace_id", "key", name="pk_replays"),
    )
    op.create_index("ix_replays_created_at", "replays", ["created_at"])


def downgrade() -> None:
    """Undo."""
    for table in ("replays", "changes", "entries", "workspaces"):
        op.drop_table(table)
