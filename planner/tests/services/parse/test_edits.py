"""Edits by a factor, remarks that are no targets, and answers to a choice."""

from __future__ import annotations

import pytest

from planner.catalog.vocabulary import built_in_vocabulary
from planner.services.parse import Grammar

GRAMMAR = Grammar(built_in_vocabulary())
BEFORE = {"intent": "size", "model": "qwen/qwen3-32b", "skus": ["h100-sxm-80gb"], "gpus": [4], "request_rate": 10}


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("double the load", "request_rate", 20),
        ("what about half the traffic?", "request_rate", 5),
        ("triple the rps", "request_rate", 30),
        ("twice as many gpus", "gpus", [8]),
        ("half of that", "gpus", [2]),
        ("double that: 25 rps", "request_rate", 25),
        ("double that: 25 rps", "gpus", [4]),
    ],
)
def test_a_factor_scales_what_was_said(text, key, value):
    assert GRAMMAR.read(text, BEFORE).parse[key] == value


def test_no_count_is_split():
    before = {**BEFORE, "gpus": [3]}
    assert GRAMMAR.read("half of that", before).parse.get("gpus", [3]) == [3]


def test_a_window_is_scaled_when_one_was_said():
    assert GRAMMAR.read("twice the context", {**BEFORE, "context_tokens": 8192}).parse["context_tokens"] == 16384


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("the newer one", "google/gemma-3-27b-it"),
        ("the older", "google/gemma-2-27b"),
        ("first one", "google/gemma-2-27b"),
        ("the latter", "google/gemma-3-27b-it"),
    ],
)
def test_a_choice_answered_by_age_or_place(text, model):
    asked = {
        "intent": "fits",
        "parse": {"skus": ["h100-sxm-80gb"]},
        "ask": ["model"],
        "choices": {"model": ["google/gemma-2-27b", "google/gemma-3-27b-it"]},
    }
    assert GRAMMAR.read(text, asked).parse["model"] == model


@pytest.mark.parametrize(("text", "model"), [("the bigger", "8x22b"), ("the smaller one", "8x7b")])
def test_a_choice_answered_by_size(text, model):
    asked = GRAMMAR.read("mixtral on 2 h100, 8 clients")
    context = {"intent": asked.intent, "parse": asked.parse, "choices": asked.choices}
    assert model in GRAMMAR.read(text, context).parse["model"]


def test_speed_of_everybody_is_a_remark_and_no_window():
    parsed = GRAMMAR.read("need ~2k tok/s in total from gpt-oss-120b on h200, 1k in 1k out")
    assert "context_tokens" not in parsed.parse
    assert "slo" not in parsed.parse
    assert any("remark" in note for note in parsed.notes)


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("and the bigger one?", "qwen/qwen3-14b"),
        ("the biggest model", "qwen/qwen3-32b"),
        ("the smaller one", "qwen/qwen3-4b"),
    ],
)
def test_a_sibling_named_by_its_size(text, model):
    assert GRAMMAR.read(text, {**BEFORE, "model": "qwen/qwen3-8b"}).parse["model"] == model


def test_nothing_is_bigger_than_the_biggest():
    assert GRAMMAR.read("the bigger one on 2", {**BEFORE, "model": "qwen/qwen3-32b"}).parse["model"] == "qwen/qwen3-32b"
