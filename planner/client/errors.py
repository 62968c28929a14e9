"""A refusal of the service, as an exception that carries its problem."""

from __future__ import annotations

import httpx
from pydantic import ValidationError

from planner.schemas.problems import Problem


class Refused(Exception):  # noqa: N818 - the service's word for it
    """The service answered with a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail if problem.hint is None else f"{problem.detail} {problem.hint}")
        self.problem = problem

    @property
    def code(self) -> str:
        """Return the machine-readable code."""
        return self.problem.code

    @property
    def status(self) -> int:
        """Return the HTTP status."""
        return self.problem.status


def checked(answer: httpx.Response) -> httpx.Response:
    """Return a good answer, or raise what it refuses."""
    if answer.is_success:
        return answer
    try:
        problem = Problem.model_validate_json(answer.content)
    except ValidationError:
        answer.raise_for_status()
        raise
    raise Refused(problem)
