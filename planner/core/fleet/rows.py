"""Rows of a programme under the names of the promises they stand for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np


@dataclass(slots=True, kw_only=True)
class Rows:
    """Sparse rows ``lower ≤ a·x ≤ upper`` under a name, being collected."""

    name: list[str] = field(default_factory=list)
    row: list[int] = field(default_factory=list)
    column: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)

    def add(self, name: str, entries: Iterable[tuple[int, float]], *, lower: float = -np.inf,
            upper: float = np.inf) -> None:
        """Add one row.

        Parameters
        ----------
        name : str
            The promise it stands for.
        entries : iterable
            (column, coefficient).
        lower : float
            Least value.
        upper : float
            Largest value.
        """
        at = len(self.name)
        for column, value in entries:
            if value:
                self.row.append(at)
                self.column.append(column)
                self.value.append(value)
        self.name.append(name)
        self.lower.append(lower)
        self.upper.append(upper)

    def copy(self) -> Rows:
        """The same rows, free to grow on their own.

        Returns
        -------
        Rows
            A copy.
        """
        return Rows(name=list(self.name), row=list(self.row), column=list(self.column), value=list(self.value),
                    lower=list(self.lower), upper=list(self.upper))
