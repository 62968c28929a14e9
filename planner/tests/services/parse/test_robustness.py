from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.catalog.vocabulary import built_in_vocabulary
from planner.services.parse import Grammar
from planner.services.parse.cleaning import LONGEST
from planner.tests.effort import times_as_long
from planner.tests.services.parse.scoring import cases

GRAMMAR = Grammar(built_in_vocabulary())
TEXTS = [case["text"] for case in cases("reference.jsonl")]
WORDS = [
    *" ".join(TEXTS).split(),
    "(",
    "$",
    "€",
    "1.000.000,5",
    "%",
    "\\",
    "8x",
    "x8",
    "/",
    "@",
    "<",
    "&amp;lt;",
    "½",
    "٣",
    "b*",
]
CONTEXT = {
    "intent": "compare",
    "parse": {"model": "qwen/qwen3-32b", "skus": ["h100-sxm-80gb", "l4-24gb"], "gpus": [2, None], "slo": {"ttft_s": 1}},
}


@given(st.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_text_is_read(text):
    parsed = GRAMMAR.read(text)
    assert parsed.intent in {"help", "why", "compare", "cost", "size", "batch", "fits", "plan", "unknown"}


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=25), st.booleans())
@settings(max_examples=300, deadline=None)
def test_any_salad_is_read(words, followed):
    parsed = GRAMMAR.read(" ".join(words), CONTEXT if followed else None)
    assert len(parsed.parse.get("gpus", ())) in {0, len(parsed.parse.get("skus", ()))}
    assert not {"model", "models"} <= parsed.parse.keys()


@pytest.mark.parametrize(
    "text",
    [
        "8x" * 2000,
        "a " * 2000,
        "1 " * 2000,
        "llama " * 600,
        "h100 " * 800,
        "$1/" * 1000,
        "9" * 4000,
        "1,000" * 800,
        "per " * 1000,
        "at 2 per per per gpu per per h " * 100,
    ],
)
def test_hostile_repetition_takes_hardly_longer_than_plain_words(text):
    """The worst of these takes three times as long; a pattern that backtracks would take thousands of times."""
    plain = " ".join(TEXTS)[:len(text)]
    assert len(plain) == len(text)
    assert times_as_long(lambda: GRAMMAR.read(text), lambda: GRAMMAR.read(plain), enough=12.0) < 12.0


def test_only_the_beginning_of_a_long_message_is_read():
    assert GRAMMAR.read("word " * LONGEST + "qwen3-32b on h100").intent == "unknown"


def test_order_of_parts_does_not_matter():
    parts = ["llama 3.3 70b", "4xh100", "fp8", "2k in 500 out", "32 clients", "ttft < 1s"]
    expected = GRAMMAR.read(", ".join(parts)).parse
    generator = random.Random(7)  # noqa: S311 - a shuffle
    for _ in range(40):
        generator.shuffle(parts)
        assert GRAMMAR.read(", ".join(parts)).parse == expected
