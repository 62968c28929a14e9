"""What is said back: a verdict, a few figures with intervals, what limits, what helps, and what was assumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planner.services.questions.requests import Layout, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number of an answer, with where it stands there."""

    label: str
    path: str
    """Dotted field of the answer, such as serving.tpot_s.mean."""
    value: float | None
    text: str
    low: str | None = None
    high: str | None = None
    """The 90 % interval as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line of a chart."""

    label: str
    x: Sequence[float]
    y: Sequence[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What is drawn: lines over requests in flight, marked places, and where the question stands."""

    title: str
    series: tuple[Series, ...]
    marks: tuple[tuple[float, str], ...] = ()
    now: tuple[float, float] | None = None
    x_label: str = "requests in flight (log)"
    y_label: str = "tokens/s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One option with its plan, or why it was refused."""

    option: Option
    layout: Layout | None = None
    document: Mapping[str, Any] = field(default_factory=dict)
    answer: Mapping[str, Any] | None = None
    refusal: str | None = None
    trained: int | None = None
    """Longest context the model declares [token]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A finished answer, in words and figures."""

    intent: str
    verdict: str
    lead: str = ""
    figures: tuple[Figure, ...] = ()
    limit: str = ""
    lever: str = ""
    lines: tuple[str, ...] = ()
    """One line an option, or a ranked list."""
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    sizing: Mapping[str, Any] | None = None
    chart: Chart | None = None
    link: Mapping[str, str] = field(default_factory=dict)
    """Short names of the web app's address."""

    @property
    def defaults(self) -> tuple[str, ...]:
        """What was filled in because nobody said it."""
        return tuple(dict.fromkeys(text for o in self.outcomes for text in o.option.assumed))

    @property
    def fits(self) -> bool:
        """Whether the first option has room."""
        return bool(self.outcomes and self.outcomes[0].answer and self.outcomes[0].answer["fit"]["fits"])
