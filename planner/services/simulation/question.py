"""What a simulation is asked, and how it is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from planner.core.errors import InvalidQuantity
from planner.core.simulation.laws import Empirical, Fixed, LengthLaw, LogNormal, Uniform, law_of
from planner.services.plan.question import PlanQuestion
from planner.services.plan.reading import question_of
from planner.services.pointers import at


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationQuestion:
    """A plan's deployment under a played load."""

    plan: PlanQuestion
    mode: str = "steady"
    """steady, benchmark or trace."""
    requests: int = 20_000
    warmup: float = 0.1
    seed: int = 0
    replicas: int = 1
    router: str = "round_robin"
    queue: str = "fcfs"
    sessions: int = 0
    priorities: int = 1
    input_law: LengthLaw | None = None
    output_law: LengthLaw | None = None
    trace: Iterable[str] | None = None
    trace_scale: float = 1.0
    percentile: float = 0.95

    def laws(self) -> tuple[LengthLaw, LengthLaw]:
        """Lengths of prompts and answers: given, or from the workload's moments."""
        workload = self.plan.workload
        return (self.input_law or law_of(workload.input_tokens, workload.input_cv),
                self.output_law or law_of(workload.output_tokens, workload.output_cv))


NEEDED = {"fixed": ("tokens",), "uniform": ("low", "high"), "lognormal": ("mean", "cv"),
          "empirical": ("points", "cumulative")}
"""Numbers that each kind of length law is made of."""


def law_from(fields: Mapping[str, Any] | None, name: str) -> LengthLaw | None:
    """The length law of a document."""
    if fields is None:
        return None
    kind = fields["kind"]
    lacking = [number for number in NEEDED[kind] if fields.get(number) is None]
    if lacking:
        raise InvalidQuantity(f"{name} of kind {kind} needs {' and '.join(NEEDED[kind])}.",
                              pointer=f"/{name}/{lacking[0]}")
    given = {number: fields[number] for number in NEEDED[kind]}
    match kind:
        case "fixed":
            return Fixed(**given)
        case "uniform":
            return Uniform(**given)
        case "lognormal":
            return LogNormal(**given)
    with at(f"/{name}"), at("points", instead_of="tokens"):
        return Empirical(tokens=tuple(given["points"]), cumulative=tuple(given["cumulative"]))


def simulation_question(document: Mapping[str, Any], workspace: str = "default") -> SimulationQuestion:
    """The question of a validated request body."""
    trace = document.get("trace")
    given = {name: value for name, value in document.items() if name in {
        "mode", "requests", "warmup", "seed", "replicas", "router", "queue", "sessions", "priorities", "trace_scale",
        "percentile"} and value is not None}
    with at("/plan"):
        plan = question_of(document["plan"], workspace)
    return SimulationQuestion(
        plan=plan, input_law=law_from(document.get("input_law"), "input_law"),
        output_law=law_from(document.get("output_law"), "output_law"),
        trace=None if trace is None else trace.splitlines(), **given)
