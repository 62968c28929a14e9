"""Processor time of reading models, chips, names and questions; run by measured.py in a process of its own."""

from __future__ import annotations

import time
from functools import partial

from simulating import least

from planner.catalog.check import check_models
from planner.catalog.chips import ChipCatalog
from planner.catalog.importers.huggingface import read_config
from planner.catalog.indexes import model_names
from planner.catalog.loader import catalog_root
from planner.catalog.models import ModelCatalog, built_in_models
from planner.catalog.vocabulary import built_in_vocabulary
from planner.services.parse import Grammar
from planner.services.parse.cleaning import LONGEST

TIMES = 1000
HOSTILE = ("9", "8x", "a ", "1 ", "h100 ", "$1/", "1,000", "per ", "at 2 per per per gpu per per h ")
"""Repeated to the longest text that is read."""


def models() -> dict[str, float]:
    """One model from a catalogue just opened, every config, and the whole catalogue recounted."""
    known = built_in_models()
    configs = [(i, known.record(i)["config"]) for i in known.ids()]
    return {"one_s": least(lambda: ModelCatalog(catalog_root()).model("qwen/qwen3-32b"), 5),
            "config_s": least(lambda: [read_config(c, id=i, towers=()) for i, c in configs]) / len(configs),
            "check_s": least(lambda: check_models(ModelCatalog(catalog_root())))}


def names() -> dict[str, float]:
    """A chip from a catalogue just opened and again, a name met before, a name met first."""
    chips, index = ChipCatalog(catalog_root()), model_names((i, ()) for i in built_in_models().ids())
    chips.chip("h100-sxm-80gb")
    fresh = iter([f"unsloth/llama-3.1-70b-instruct-v{n}" for n in range(TIMES)])
    begun = time.process_time()
    for text in fresh:
        index.closest(text)
    searched = (time.process_time() - begun) / TIMES
    return {"chip_s": least(lambda: ChipCatalog(catalog_root()).chip("h100-sxm-80gb"), 5),
            "again_s": least(lambda: [chips.chip("h100-sxm-80gb") for _ in range(TIMES)]) / TIMES,
            "known_s": least(lambda: [index.resolve("llama-3.1-70b") for _ in range(TIMES)]) / TIMES,
            "closest_s": searched}


def questions() -> dict[str, float]:
    """A question in a sentence, and the hostile text that takes longest."""
    grammar = Grammar(built_in_vocabulary())
    plain = "can llama 3.1 70b fp8 serve 32 clients on 4xh100 with 2k in 500 out, ttft < 1s"
    return {"plain_s": least(partial(grammar.read, plain), 20),
            "hostile_s": max(least(partial(grammar.read, (part * LONGEST)[:LONGEST])) for part in HOSTILE)}
