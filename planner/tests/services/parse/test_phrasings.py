from __future__ import annotations

import pytest

from planner.catalog.vocabulary import built_in_vocabulary
from planner.services.parse import Grammar
from planner.tests.services.parse.scoring import answer_of, cases, faults

GRAMMAR = Grammar(built_in_vocabulary())
REFERENCE = {case["id"]: case for case in cases("reference.jsonl")}
OWN = cases("own.jsonl")


def read_reference(case):
    earlier = case.get("context_of")
    context = answer_of(read_reference(REFERENCE[earlier])) if earlier else None
    return GRAMMAR.read(case["text"], context)


def read_own(index):
    case = OWN[index]
    context = answer_of(read_own(index - 1)) if case.get("follow") else None
    return GRAMMAR.read(case["text"], context)


@pytest.mark.parametrize("name", REFERENCE)
def test_reference_phrasing(name):
    assert faults(REFERENCE[name], read_reference(REFERENCE[name])) == []


@pytest.mark.parametrize("index", range(len(OWN)))
def test_own_phrasing(index):
    assert faults(OWN[index], read_own(index)) == []


def test_own_phrasings_are_many_and_not_the_reference():
    own = {case["text"] for case in OWN}
    assert len(own) >= 150
    assert len(own & {case["text"] for case in REFERENCE.values()}) <= 2  # "why?" and the like


FIRST = [
    case for case in REFERENCE.values() if not case.get("context_of") and case["intent"] not in {"help", "unknown"}
]


@pytest.mark.parametrize(
    "change",
    [
        str.upper,
        str.lower,
        lambda t: f"  {t}  ",
        lambda t: t.replace(" ", "  "),
        lambda t: f"hi there, {t}",
        lambda t: f"{t} thanks!",
        lambda t: t.replace(" ", "\u00a0"),
        lambda t: f"<@U0ABCDEF> {t} :pray:",
        lambda t: f"*{t}*",
    ],
    ids=["upper", "lower", "padded", "spaced", "greeted", "thanked", "non-breaking", "mentioned", "bold"],
)
def test_dress_changes_nothing(change):
    wrong = []
    for case in FIRST:
        text = case["text"] if change != str.upper or "<" not in case["text"] else None
        if text is not None and faults(case, GRAMMAR.read(change(text))):
            wrong.append(case["text"])
    assert wrong == []


def test_a_parse_with_its_intent_is_context_too():
    parsed = GRAMMAR.read("on 4 instead", {"intent": "fits", "model": "qwen/qwen3-32b", "skus": ["h100-sxm-80gb"]})
    assert (parsed.intent, parsed.parse["gpus"]) == ("fits", [4])


def test_parse_alone_is_context_enough():
    parsed = GRAMMAR.read("and with fp8?", {"model": "qwen/qwen3-32b", "skus": ["h100-sxm-80gb"], "gpus": [2]})
    assert parsed.intent == "plan"
    assert parsed.parse == {"model": "qwen/qwen3-32b", "skus": ["h100-sxm-80gb"], "gpus": [2], "weights": "fp8"}


@pytest.mark.parametrize(
    ("context", "intent"),
    [
        ({"skus": ["h100-sxm-80gb", "l4-24gb"]}, "compare"),
        ({"price": {"usd_per_gpu_hour": 2}}, "cost"),
        ({"budget_usd": 1e5}, "size"),
        ({"request_rate": 3}, "size"),
        ({"concurrency": 3}, "plan"),
        ({}, "plan"),
    ],
)
def test_intent_of_a_bare_parse(context, intent):
    assert GRAMMAR.read("llama-3.1-8b at 8k", context).intent == intent
