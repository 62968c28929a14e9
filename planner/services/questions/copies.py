"""Several replicas as one: what an answer's plan of one replica comes to with all of its copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.services.questions.reply import Outcome

EXTENSIVE: Mapping[str, tuple[str, ...]] = {
    "serving": ("concurrency", "request_rate", "max_request_rate", "output_tokens_per_s", "total_tokens_per_s"),
    "fit": ("max_concurrency",), "cost": ("usd_per_hour",), "decode": ("tokens_per_s",)}
"""Fields that grow with the number of replicas."""


def together(outcome: Outcome) -> Mapping[str, Any] | None:
    """The answer with its totals over all replicas; times, speeds of one user and costs per token stay."""
    answer, layout = outcome.answer, outcome.layout
    if answer is None or layout is None or layout.replicas == 1:
        return answer
    copies = layout.replicas
    whole = dict(answer)
    for section, names in EXTENSIVE.items():
        if answer[section] is not None:
            whole[section] = {name: value * copies if name in names and value is not None else value
                              for name, value in answer[section].items()}
    paths = {f"{section}.{name}" for section, names in EXTENSIVE.items() for name in names}
    whole["intervals"] = {path: [end * copies for end in ends] if path in paths else ends
                          for path, ends in answer["intervals"].items()}
    return whole
