"""Columns as files: CSV, Parquet, Arrow or JSON, by the file's ending."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from planner.core.errors import InvalidQuantity

if TYPE_CHECKING:
    from pathlib import Path

    from planner.services.sweep.service import Columns


FILES = (".csv", ".parquet", ".arrow", ".json")
"""Endings of the files that columns are written to."""


def writable(path: Path | None, *endings: str) -> None:
    """Refuse, before anything is worked out, a file that could not be written."""
    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise InvalidQuantity(f"{path.name}: the ending must be {', '.join(endings[:-1])} or {endings[-1]}.")
    if not path.absolute().parent.is_dir():
        raise InvalidQuantity(f"{path} cannot be written: there is no folder {path.absolute().parent}.",
                              hint="Make the folder first, or name another file.")
    if path.is_dir():
        raise InvalidQuantity(f"{path} is a folder.", hint="Name a file in it.")


def write(columns: Columns, path: Path) -> None:
    """Write every axis and metric as a column."""
    from planner.services.sweep.output import as_document, flat

    kind = path.suffix.lower()
    if kind == ".json":
        path.write_text(json.dumps(as_document(columns)), encoding="utf-8")
        return
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    table = pa.table({name: pa.array(column) for name, column in flat(columns).items()})
    if kind == ".csv":
        pyarrow.csv.write_csv(table, path)
    elif kind == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
