"""What would make room when a plan does not fit: narrower weights on the same GPUs, or more of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.services.parse import SkuEntry, Vocabulary
from planner.services.questions.reply import Outcome
from planner.services.questions.requests import NODE, options_of
from planner.services.questions.solver import Solver

NODES = 2
"""Whole boxes tried at the most [1]."""
_LAYOUT = ("gpus", "tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel")
_WIDE = ("bf16", "fp16", "fp32")
_EIGHT = ("fp8", "fp8_block", "int8", "w8a16")


def remedy(solver: Solver, outcome: Outcome, parse: Mapping[str, Any], vocabulary: Vocabulary, workspace: str) -> str:
    """One sentence on what would fit; empty when nothing tried does."""
    answer, sku = outcome.answer, vocabulary.sku(str(outcome.option.document["sku"]))
    if answer is None or answer["fit"]["fits"] or sku is None or outcome.layout is None:
        return ""
    asked = {k: v for k, v in parse.items() if k not in _LAYOUT} | {"skus": [sku.id]}
    have = int(answer["deployment"]["gpus"]) * outcome.layout.replicas
    weights = (f"with {name} weights" for name in _narrower(str(answer["deployment"]["weights"]), sku)
               if _fits(solver, asked | {"gpus": [have], "weights": name}, vocabulary, workspace))
    more = (f"on {count} × {sku.name}" for count in _larger(have, sku)
            if _fits(solver, asked | {"gpus": [count]}, vocabulary, workspace))
    ways = [way for found in (weights, more) if (way := next(found, None)) is not None]
    return f"It would fit {' or '.join(ways)}." if ways else ""



def _narrower(weights: str, sku: SkuEntry) -> Iterator[str]:
    """Formats with fewer bits than the plan's, the widest first."""
    if weights in _WIDE:
        yield "fp8" if sku.has_fp8() else "w8a16"
    if weights in _WIDE or weights in _EIGHT:
        yield "w4a16"


def _larger(have: int, sku: SkuEntry) -> Iterator[int]:
    """Counts above the plan's, doubling up to two boxes."""
    count = 1
    while count <= NODES * (sku.box or NODE):
        if count > have:
            yield count
        count *= 2


def _fits(solver: Solver, parse: Mapping[str, Any], vocabulary: Vocabulary, workspace: str) -> bool:
    """Whether a request has room."""
    outcome = solver.solve(options_of(parse, vocabulary, intent="fits")[0], workspace)
    return outcome.answer is not None and bool(outcome.answer["fit"]["fits"])
