"""Alembic's entry: runs on the connection handed over by planner.storage.migrate, or on PLANNER_DATABASE_URL."""

from alembic import context

import planner.storage.rows  # noqa: F401 - fills the metadata
from planner.storage.base import Base


def run(connection) -> None:  # noqa: ANN001 - alembic's or ours
    """Run the migrations inside the caller's transaction."""
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        compare_type=True,
        render_as_batch=connection.dialect.name == "sqlite",
    )
    context.run_migrations()


handed = context.config.attributes.get("connection")
if handed is not None:
    run(handed)
else:  # the bare `alembic` command of a developer
    from planner.config import settings
    from planner.storage.engine import open_engine

    with open_engine(settings().database_url).connect().execution_options(writes=True) as own, own.begin():
        run(own)
