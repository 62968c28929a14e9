"""One measured figure beside what it must be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A name, a value in its unit, and its limit: the least rate or the longest time."""

    name: str
    value: float
    unit: str
    least: float | None = None
    most: float | None = None

    @property
    def held(self) -> bool | None:
        """Whether the limit is kept; None without one."""
        if self.least is None and self.most is None:
            return None
        return (self.least is None or self.value >= self.least) and (self.most is None or self.value <= self.most)

    def line(self) -> str:
        """The figure as a line of the table."""
        must = "" if self.held is None else f"≥ {self.least:g}" if self.least is not None else f"≤ {self.most:g}"
        held = {None: "", True: "yes", False: "NO"}[self.held]
        return f"{self.name:<66}{self.value:>10,.4g} {self.unit:<5}  {must:>10}  {held}"
