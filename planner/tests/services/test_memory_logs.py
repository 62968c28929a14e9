"""Rows of start-up logs: what they ask, and the refusals that name what is missing."""

import pytest

from planner.catalog.models import built_in_models
from planner.core.architecture.model import ModelCard
from planner.core.errors import MissingFact, NotFound
from planner.core.quantities.units import GIB
from planner.services.memory_logs import known_budget, number, predicted_budget, predicted_weights, setup_of
from planner.services.memory_report import report_line, summary
from planner.tests.build import H100

ROW = {"id": "r1", "model": "llama", "engine": "vLLM", "engine_version": "0.19.0", "gpu": "h100", "tp": "1",
       "weight_dtype": "bf16", "kv_dtype": "bf16", "mem_util": "0.9", "kv_tokens": "450000"}
CARD = ModelCard(id="a/b", params=8e9, layers=32, kv_heads=8, head_dim=128, vocabulary=128256)


def model_of(_name):
    return built_in_models().model("meta-llama/llama-3.1-8b"), None


def chip_of(name):
    if name != "h100":
        raise NotFound(f"No sku is called {name!r}.")
    return H100


def test_cells():
    assert number({"a": " 1.5 "}, "a") == 1.5
    assert number({"a": ""}, "a") is None
    assert number({}, "a") is None
    with pytest.raises(MissingFact, match="not a number"):
        number({"a": "many"}, "a")


@pytest.mark.parametrize(("change", "message"), [
    ({"engine": "tgi"}, "Engine 'tgi'"), ({"tp": ""}, "tensor parallelism"), ({"weight_dtype": "exl3"}, "exl3")])
def test_what_a_row_must_say(change, message):
    with pytest.raises(MissingFact, match=message):
        setup_of(ROW | change, model_of, chip_of)


def test_what_a_prediction_must_know():
    with pytest.raises(MissingFact, match="GPU or its memory"):
        predicted_budget(setup_of(ROW | {"gpu": "abacus"}, model_of, chip_of))
    with pytest.raises(MissingFact, match="share of the memory"):
        predicted_budget(setup_of(ROW | {"mem_util": ""}, model_of, chip_of))
    with pytest.raises(MissingFact, match="neither its overheads nor its pool"):
        known_budget(setup_of(ROW, model_of, chip_of), ROW)
    with pytest.raises(MissingFact, match="no layers"):
        predicted_weights(setup_of(ROW, lambda _: (CARD, None), chip_of))


def test_known_overheads_are_taken_off_with_graphs_only_in_newer_engines():
    logged = ROW | {"weights_gib_per_gpu": "15", "activation_gib": "2", "non_torch_gib": "0.25", "cuda_graph_gib": "1",
                    "total_gpu_gib": "80"}
    old = known_budget(setup_of(logged, model_of, chip_of), logged)
    new = known_budget(setup_of(logged | {"engine_version": "0.22"}, model_of, chip_of), logged)
    assert old.pool == pytest.approx((72 - 17.25) * GIB)
    assert old.pool - new.pool == pytest.approx(GIB)
    assert old.complete


def test_lines_and_figures():
    good = report_line(ROW, model_of, chip_of)
    assert good.quantity == "tokens"
    assert good.known is None
    assert good.reason is not None
    assert abs(good.error(good.withheld)) < 0.01
    blocks = report_line(ROW | {"kv_tokens": "", "gpu_blocks": "25000", "max_concurrency": "48.83"}, model_of, chip_of)
    assert blocks.quantity == "blocks"
    assert blocks.concurrency == pytest.approx(25000 / 8192)  # the trained context, where no length is given
    assert report_line(ROW | {"kv_tokens": ""}, model_of, chip_of) is None
    bad = report_line(ROW | {"engine": "tgi"}, model_of, chip_of)
    assert "tgi" in bad.reason
    figures = summary([good, blocks, bad])
    assert (figures.rows, figures.withheld, figures.hybrids, figures.known_median) == (3, 2, 0, None)
