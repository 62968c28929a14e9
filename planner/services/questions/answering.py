"""Answers to questions that were understood: every number is a plan's or a sizing's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import floor
from typing import Any

from planner.services.parse import Parsed, Vocabulary
from planner.services.questions import sentences
from planner.services.questions.cheapest import CARRIED, Cheapest, choice_note
from planner.services.questions.copies import together
from planner.services.questions.demand import loaded, read_as
from planner.services.questions.figures import figures_of
from planner.services.questions.remedies import remedy
from planner.services.questions.reply import Outcome, Reply
from planner.services.questions.requests import Option, has_load, options_of
from planner.services.questions.sizing import Progress, Sizing
from planner.services.questions.solver import Solver, link_of


def _silent(share: float) -> None:
    """Report to nobody."""
    del share


class Answering:
    """Turns readings into replies."""

    def __init__(self, solver: Solver, sizing: Sizing, cheapest: Cheapest, vocabulary: Vocabulary) -> None:
        self._solver = solver
        self._sizing = sizing
        self._cheapest = cheapest
        self._vocabulary = vocabulary

    def reply(self, parsed: Parsed, workspace: str = "default", progress: Progress = _silent) -> Reply:
        """The answer to a reading that asks nothing back; its verdict says how a speed of nobody was read."""
        reply = self._reply(parsed, workspace, progress)
        return replace(reply, verdict=reply.verdict + read_as(parsed))

    def _reply(self, parsed: Parsed, workspace: str, progress: Progress) -> Reply:
        parse = loaded(parsed)
        intent = parsed.intent
        if intent == "size":
            return self._sizing.reply(parse, workspace, progress)
        parse, chosen = self._with_skus(parse, workspace, progress)
        options = options_of(parse, self._vocabulary, intent=intent)
        outcomes, counted = self._solved(options, intent, workspace, progress, volume=_volume(parsed, parse))
        first = outcomes[0]
        assumed = [*chosen, *counted, *(note for option in options for note in option.assumed),
                   *(self._solver.priced(o, parse) for o in outcomes), *(first.answer or {}).get("assumptions", ())]
        reply = Reply(
            intent=intent, verdict=sentences.verdict_of(first, intent, parse), lead=sentences.lead_of(first),
            assumptions=tuple(dict.fromkeys(filter(None, assumed))), outcomes=tuple(outcomes), link=link_of(first),
            warnings=tuple(dict.fromkeys(w for o in outcomes for w in (o.answer or {}).get("warnings", ()))),
            chart=self._solver.chart(outcomes, workspace))
        if len(outcomes) > 1:
            verdict, lines = sentences.comparison(outcomes, parse)
            reply = replace(reply, lines=lines, verdict=reply.verdict if intent == "why" else verdict)
        if first.answer is None or (len(outcomes) > 1 and intent != "why"):
            return reply
        helps = [line for line in (remedy(self._solver, first, parse, self._vocabulary, workspace),
                                   sentences.window_line(first) if intent == "fits" else "") if line]
        return replace(reply, figures=figures_of(together(first) or {}, intent), limit=sentences.limit_of(first.answer),
                       verdict=self._within_targets(first, intent, parse, workspace) + reply.verdict,
                       lever=sentences.lever_of(first.answer) if first.answer["fit"]["fits"] else "",
                       lines=(*reply.lines, *helps, *sentences.bill_lines(first, parse, intent),
                              *self._full(first, intent, parse, workspace)))

    def _solved(self, options: Sequence[Option], intent: str, workspace: str, progress: Progress, *,
                volume: bool) -> tuple[list[Outcome], list[str]]:
        """A plan of each option, and how GPUs that nobody counted were."""
        outcomes, notes = [], []
        counted = intent in CARRIED or volume
        for index, option in enumerate(options):
            carried = self._cheapest.carried(option, workspace) if counted else None
            outcomes.append(carried or self._solver.solve(option, workspace))
            notes += [] if carried is None else [choice_note(carried)]
            progress((index + 1) / len(options))
        return outcomes, notes

    def _full(self, outcome: Outcome, intent: str, parse: Mapping[str, Any], workspace: str) -> tuple[str, ...]:
        """For a cost asked without a load: what a token costs on the same GPUs when they are full."""
        answer = outcome.answer
        if intent != "cost" or answer is None or not answer["fit"]["fits"] or has_load(parse):
            return ()
        top = min(float(answer["fit"]["max_concurrency"]), float(answer["deployment"]["max_num_seqs"]))
        if top <= outcome.document["workload"]["concurrency"]:
            return ()
        return sentences.full_line(self._solver.at(outcome, "concurrency", top, workspace), top)

    def _within_targets(self, outcome: Outcome, intent: str, parse: Mapping[str, Any], workspace: str) -> str:
        """For a batch, or a plan without a load, under targets: how many at once they bear, before everything else."""
        answer = outcome.answer
        wanted = intent == "batch" or (intent in {"plan", "fits"} and not has_load(parse))
        if not wanted or answer is None or not answer["fit"]["fits"] or not outcome.document["slo"]:
            return ""
        top = float(answer["fit"]["max_concurrency"])
        each = self._solver.reach(outcome, "concurrency", top, workspace)
        copies = outcome.layout.replicas if outcome.layout is not None else 1
        return f"{sentences.reach_of(None if each is None else copies * floor(each))}. "

    def _with_skus(self, parse: Mapping[str, Any], workspace: str,
                   progress: Progress) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        """A request with GPUs to plan on: those said, else the cheapest of the catalogue for the model."""
        if parse.get("skus"):
            return parse, ()
        model = parse.get("model") or parse["models"][0]
        ranked = self._cheapest.gpu({**parse, "model": model}, workspace, progress)
        return {**parse, "skus": [ranked]}, (f"GPU: {ranked}, the cheapest per token at list prices for {model}",)


def _volume(parsed: Parsed, parse: Mapping[str, Any]) -> bool:
    """Whether a plan is of so many tokens a second, and on as many GPUs as they take."""
    return parsed.intent == "plan" and "tokens_per_s" in parsed.demand and "request_rate" not in parsed.parse and (
        "request_rate" in parse)
