"""Logged cache capacity of public engine runs, frozen: how far predictions are off, overheads known and withheld.

Source: planner/tests/data/engine_logs.csv; each line names its thread.
"""

import csv
from functools import cache
from pathlib import Path

import pytest

from planner.catalog.chips import built_in_chips
from planner.catalog.indexes import built_in_sku_names, model_names
from planner.catalog.models import built_in_models
from planner.services.memory_report import report, summary

LOGS = Path(__file__).parents[1] / "data" / "engine_logs.csv"


@cache
def lines():
    models, chips, skus = built_in_models(), built_in_chips(), built_in_sku_names()
    names = model_names(models.aliases())

    def model_of(name):
        found = names.resolve(name)
        return models.model(found.id), found.weights

    with LOGS.open(newline="") as file:
        return {line.id: line for line in report(csv.DictReader(file), model_of,
                                                 lambda name: chips.entry(skus.resolve(name).id).chip)}


def test_with_overheads_passed_in_the_pool_is_within_two_and_five_percent():
    figures = summary(list(lines().values()))
    assert figures.known >= 38
    assert figures.known_median <= 0.002
    assert figures.known_p90 <= 0.02


def test_with_overheads_withheld_it_is_within_six_and_twenty_five_percent():
    figures = summary(list(lines().values()))
    assert figures.withheld >= 55
    assert figures.withheld_median <= 0.02
    assert figures.withheld_p90 <= 0.15


def test_hybrid_concurrency_is_exact_to_the_printed_digit():
    figures = summary(list(lines().values()))
    assert figures.hybrids >= 5
    assert figures.hybrids_exact == figures.hybrids


@pytest.mark.parametrize(("row", "tokens", "tolerance"), [
    ("kv001", 126_256, 0.001),  # multi-head
    ("kv002", 1_505_552, 0.001),  # latent
    ("kv006", 58_672, 0.001),  # full and window, half and half
    ("kv009", 130_304, 0.001),  # five windows to one
    ("kv017", 952_032, 0.001),  # fp8 cache
    ("kv021", 175_296, 0.001),  # fp32 cache
    ("kv083", 5_721_088, 0.001),  # latent sharded by position over eight ranks
    ("kv106", 1_271_040, 0.001),  # sparse index keys, a draft layer, four ranks by position
    ("kv117", 302_921, 0.005),  # recurrent states in pages of their own, prefixes cached
    ("kv124", 626_949, 0.001),  # heads of two sizes
    ("kv132", 327_310, 0.005),  # SGLang beside a pool of states
    ("kv142", 263_008, 0.001),  # TensorRT-LLM
])
def test_the_allocator_reproduces_the_printed_tokens(row, tokens, tolerance):
    line = lines()[row]
    assert line.observed == tokens
    assert line.known == pytest.approx(tokens, rel=tolerance)


def test_rows_without_a_prediction_say_why():
    silent = [line for line in lines().values() if line.known is None and line.withheld is None]
    assert silent
    assert all(line.reason for line in silent)
