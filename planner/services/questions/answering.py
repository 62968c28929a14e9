"""Answers to questions that were understood: every number is a plan's or a sizing's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from planner.services.parse import Parsed, Vocabulary
from planner.services.questions import sentences
from planner.services.questions.demand import loaded
from planner.services.questions.figures import figures_of
from planner.services.questions.remedies import remedy
from planner.services.questions.reply import Outcome, Reply
from planner.services.questions.requests import options_of
from planner.services.questions.sizing import Progress, Sizing
from planner.services.questions.solver import Solver, link_of


def _silent(share: float) -> None:
    """Report to nobody."""
    del share


class Answering:
    """Turns readings into replies."""

    def __init__(self, solver: Solver, sizing: Sizing, vocabulary: Vocabulary) -> None:
        self._solver = solver
        self._sizing = sizing
        self._vocabulary = vocabulary

    def reply(self, parsed: Parsed, workspace: str = "default", progress: Progress = _silent) -> Reply:
        """The answer to a reading that asks nothing back."""
        parse = loaded(parsed)
        intent = parsed.intent
        if intent == "size":
            return self._sizing.reply(parse, workspace, progress)
        parse, chosen = self._with_skus(parse, workspace, progress)
        outcomes = []
        options = options_of(parse, self._vocabulary, intent=intent)
        for index, option in enumerate(options):
            outcomes.append(self._solver.solve(option, workspace))
            progress((index + 1) / len(options))
        first = outcomes[0]
        assumed = [*chosen, *(note for option in options for note in option.assumed),
                   *(self._solver.priced(o, parse) for o in outcomes), *(first.answer or {}).get("assumptions", ())]
        reply = Reply(
            intent=intent, verdict=sentences.verdict_of(first, intent, parse), lead=sentences.lead_of(first),
            assumptions=tuple(dict.fromkeys(filter(None, assumed))), outcomes=tuple(outcomes), link=link_of(first),
            warnings=tuple(dict.fromkeys(w for o in outcomes for w in (o.answer or {}).get("warnings", ()))),
            chart=self._solver.chart(outcomes, workspace))
        if len(outcomes) > 1:
            verdict, lines = sentences.comparison(outcomes)
            reply = replace(reply, lines=lines, verdict=reply.verdict if intent == "why" else verdict)
        if first.answer is None or (len(outcomes) > 1 and intent != "why"):
            return reply
        helps = [line for line in (remedy(self._solver, first, parse, self._vocabulary, workspace),
                                   sentences.window_line(first) if intent == "fits" else "") if line]
        return replace(reply, figures=figures_of(first.answer, intent), limit=sentences.limit_of(first.answer),
                       verdict=self._within_targets(first, intent, workspace) + reply.verdict,
                       lever=sentences.lever_of(first.answer) if first.answer["fit"]["fits"] else "",
                       lines=(*reply.lines, *helps, *sentences.bill_lines(first, parse, intent)))

    def _within_targets(self, outcome: Outcome, intent: str, workspace: str) -> str:
        """For a batch asked under targets: how many at once they bear, before everything else."""
        answer = outcome.answer
        if intent != "batch" or answer is None or not answer["fit"]["fits"] or not outcome.document["slo"]:
            return ""
        top = float(answer["fit"]["max_concurrency"])
        return f"{sentences.reach_of(self._solver.reach(outcome, 'concurrency', top, workspace))}. "

    def _with_skus(self, parse: Mapping[str, Any], workspace: str,
                   progress: Progress) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        """A request with GPUs to plan on: those said, else the cheapest of the catalogue for the model."""
        if parse.get("skus"):
            return parse, ()
        model = parse.get("model") or parse["models"][0]
        ranked = self._sizing.cheapest({**parse, "model": model}, workspace, progress)
        return {**parse, "skus": [ranked]}, (f"GPU: {ranked}, the cheapest per token at list prices for {model}",)
