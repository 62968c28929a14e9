"""Where nobody says how many GPUs: the layout, replicas and GPU that carry the load for the least cost per token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.services.parse import Vocabulary
from planner.services.questions.figures import lookup
from planner.services.questions.reply import Outcome
from planner.services.questions.requests import Layout, Option, options_of
from planner.services.questions.sizing import HEADROOM, PlanSizes, Progress, Sizing

CARRIED = frozenset({"cost", "compare"})
"""Intents whose answer turns on what a token costs: the smallest layout that fits says nothing of it."""


class Cheapest:
    """Chooses what a question leaves open."""

    def __init__(self, sizes: PlanSizes, sizing: Sizing, vocabulary: Vocabulary) -> None:
        self._sizes = sizes
        self._sizing = sizing
        self._vocabulary = vocabulary

    def carried(self, option: Option, workspace: str) -> Outcome | None:
        """An option's load on as many replicas as it takes; None where its GPUs were counted or none carries it."""
        if option.layouts != (Layout(tensor=None),):
            return None
        found, _ = self._sizes.ways(option, workspace)
        return min((outcome for _, outcome in found), key=_per_token) if found else None

    def gpu(self, parse: Mapping[str, Any], workspace: str, progress: Progress) -> str:
        """The SKU sold in boxes that carries a request for the least cost per token."""
        skus = self._sizing.candidates()
        found: list[Outcome] = []
        for index, sku in enumerate(skus):
            ways, _ = self._sizes.ways(options_of({**parse, "skus": [sku]}, self._vocabulary)[0], workspace)
            found += [outcome for _, outcome in ways]
            progress((index + 1) / len(skus))
        return str(min(found, key=_per_token).option.document["sku"]) if found else skus[0]


def choice_note(outcome: Outcome) -> str:
    """How the GPUs of a carried option were counted."""
    layout = outcome.layout
    count = 0 if layout is None or outcome.answer is None else int(outcome.answer["deployment"]["gpus"])
    copies = layout.replicas if layout is not None else 0
    priced = lookup(outcome.answer or {}, "cost.usd_per_million_output_tokens") is not None
    why = "the least cost per token" if priced else "the most tokens from a GPU"
    return f"GPUs not said: {copies * count} × {outcome.option.document['sku']} for {why}, with {HEADROOM:.0%} to spare"


def _per_token(outcome: Outcome) -> tuple[bool, float, float]:
    """Priced first, the cheapest token first, then the most tokens from a GPU."""
    money = lookup(outcome.answer or {}, "cost.usd_per_million_output_tokens")
    speed = lookup(outcome.answer or {}, "serving.output_tokens_per_s_per_gpu")
    return money is None, float(money or 0.0), -float(speed or 0.0)
