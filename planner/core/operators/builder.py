"""Collects operator rows and merges equal ones into one row with a count."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from planner.core.operators.attention import Cores
from planner.core.operators.collective import Collectives
from planner.core.operators.elementwise import Passes
from planner.core.operators.matmul import Matmuls
from planner.core.operators.mixture import Mixtures
from planner.core.operators.recurrent import States

_LABELS = ("names", "kinds", "formats")
Group = TypeVar("Group", Matmuls, Mixtures, Cores, States, Passes, Collectives)


@dataclass(slots=True)
class Rows:
    """Rows of one group under construction: equal rows add their counts."""

    rows: dict[tuple[tuple[str, Any], ...], float] = field(default_factory=dict)

    def add(self, count: float, **values: float | str) -> None:
        """Count one more execution of a row, or ``count`` of them."""
        key = tuple(values.items())
        self.rows[key] = self.rows.get(key, 0.0) + count

    def build(self, group: type[Group]) -> Group:
        """The finished group, one array per numeric field."""
        columns: dict[str, Any] = {}
        names = [n for n, f in group.__dataclass_fields__.items() if f.init and n != "count"]
        singular = {"names": "name", "kinds": "kind", "formats": "format"}
        table = [dict(key) for key in self.rows]
        for name in names:
            values = [row[singular.get(name, name)] for row in table]
            columns[name] = tuple(values) if name in _LABELS else np.array(values, dtype=np.float64)
        return group(count=np.array(list(self.rows.values()), dtype=np.float64), **columns)
