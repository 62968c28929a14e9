"""The open questions and the table of docs/slack.md, made anew by: python -m api_tests.slack.open_questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from planner.bootstrap import Planner
from planner.config import settings
from planner.services.parse import Parsed
from planner.services.questions.requests import options_of
from planner.slack.blocks import form

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "api_tests" / "data" / "open_questions.jsonl"
PAGE = ROOT / "docs" / "slack.md"
BEGIN, END = "<!-- table of open questions: begin -->", "<!-- table of open questions: end -->"
FIELDS = {
    "model": {"model"},
    "target TTFT/TPOT": {"ttft_s", "tpot_s"},
    "users": {"concurrency"},
    "context": {"input_tokens"},
    "budget": {"budget_usd"},
    "peak share": {"share"},
    "tokens per request": {"input_tokens", "output_tokens"},
    "language": {"input_tokens"},
    "workload": {"input_tokens", "output_tokens", "concurrency"},
}
"""Fields of the form that ask for each thing; the hint of the prompt's length names other languages."""


def questions() -> list[dict[str, Any]]:
    return [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]


def services() -> Planner:
    return Planner(settings({"HOME": "/nonexistent"}))


def asked(parsed: Parsed, planner: Planner) -> set[str]:
    """The fields of the form that is shown."""
    return {b["block_id"] for b in form(parsed, "key", planner.grammar.vocabulary) if b["type"] == "input"}


def outcome(planner: Planner, parsed: Parsed) -> str:
    """What the app does with it."""
    if parsed.intent == "unknown":
        return "Out of scope, in one line."
    if parsed.ask:
        return "Asks for " + " and ".join({"skus": "the GPU", "model": "the model"}[k] for k in parsed.ask) + "."
    if parsed.intent == "size":
        return "Answered: GPUs ranked for the load."
    options = options_of(parsed.parse, planner.grammar.vocabulary, intent=parsed.intent)
    return f"Answered: {len(options)} plans compared." if len(options) > 1 else "Answered: one plan."


def table(planner: Planner) -> str:
    """The rows, one a question."""
    lines = ["| | Read as | What the app does | Review |", "|---|---|---|---|"]
    for question in questions():
        parsed = planner.grammar.read(question["text"])
        said = ", ".join(f"{k} {json.dumps(v, ensure_ascii=False)}" for k, v in parsed.parse.items())
        cells = [
            f"[{question['id']}]({question['source']})",
            f"**{parsed.intent}** {said}".strip(),
            outcome(planner, parsed),
            question["review"],
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def page(planner: Planner) -> str:
    """docs/slack.md with its table made anew."""
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{table(planner)}\n{END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(page(services()), encoding="utf-8")
