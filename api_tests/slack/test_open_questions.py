"""The open questions: each is read as its reviewed request, and the reply's figures are the plan's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from api_tests.slack.open_questions import FIELDS, PAGE, ROOT, asked, page, questions, services
from planner.services.plan.reading import question_of
from planner.services.questions.figures import lookup
from planner.tests.services.parse.scoring import same

QUESTIONS = {q["id"]: q for q in questions()}


@pytest.fixture(scope="module")
def planner():
    made = services()
    yield made
    made.close()


@pytest.mark.parametrize("name", QUESTIONS)
def test_read_as_its_reviewed_request(planner, name):
    question = QUESTIONS[name]
    parsed = planner.grammar.read(question["text"])
    assert (parsed.intent, list(parsed.ask)) == (question["reference"]["intent"], question["reference"]["ask"])
    assert same(question["reference"]["parse"], parsed.parse)
    assert question["review"]
    fields = asked(parsed, planner) if parsed.ask else set()
    for thing in question["must_ask"]:
        assert FIELDS[thing] <= fields, thing


ANSWERED = [n for n, q in QUESTIONS.items() if not q["reference"]["ask"] and q["reference"]["intent"] != "unknown"]


@pytest.mark.parametrize("name", ANSWERED)
def test_every_figure_is_the_plans_own(planner, name):
    parsed = planner.grammar.read(QUESTIONS[name]["text"])
    reply = planner.answering.reply(parsed)
    assert reply.verdict
    if parsed.intent == "size":
        again = planner.answering.reply(parsed)
        assert reply.sizing == again.sizing
        assert reply.sizing["options"] or reply.sizing["rejected"]
        return
    for outcome in reply.outcomes:
        if outcome.answer is None:
            assert outcome.refusal
            continue
        plan = planner.plans.answer(question_of(outcome.document))
        assert plan["fit"] == outcome.answer["fit"]
        assert plan["decode"]["step_time_s"] == outcome.answer["decode"]["step_time_s"]
    for figure in reply.figures:
        plan = planner.plans.answer(question_of(reply.outcomes[0].document))
        assert lookup(plan, figure.path) == figure.value


def test_all_are_here_and_none_is_in_the_package():
    assert len(QUESTIONS) == 33
    package = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "planner").rglob("*.py"))
    assert [q["id"] for q in QUESTIONS.values() if q["text"] in package] == []


def test_the_table_of_the_documentation_is_current(planner):
    """Made anew with: python -m api_tests.slack.open_questions."""
    assert Path(PAGE).read_text(encoding="utf-8") == page(planner)
