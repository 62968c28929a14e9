import numpy as np
import pytest

from planner.catalog.chips import built_in_chips
from planner.catalog.loader import catalog_root
from planner.catalog.profiles import read_profile
from planner.core.architecture.attention import Attention
from planner.core.architecture.feedforward import DenseFeedForward
from planner.core.architecture.layer import Layer
from planner.core.architecture.model import Model
from planner.core.errors import InvalidQuantity, MissingFact, UnsupportedFormat
from planner.core.execution.bound import bind
from planner.core.execution.step import decode_step, prompt_step
from planner.core.labs.attention import AttentionShape, naive_cost
from planner.core.labs.inputs import element_type
from planner.core.labs.layer import LayerShape, layer_budget
from planner.core.operators.lower import lower, scheme_for
from planner.core.parallelism import Layout
from planner.core.precision import cache_format
from planner.tests.labs.chips import BARE, H100

BF16, FP8 = element_type("bf16"), element_type("fp8")


def spine(weights, cache, *, layers=80):
    """The planner's own operator table of Llama-3-70B."""
    layer = Layer(mixer=Attention(hidden=8192, heads=64, kv_heads=8, head_dim=128),
                  feedforwards=(DenseFeedForward(hidden=8192, intermediate=28672),), norm_parameters=16384)
    model = Model(id="llama", hidden=8192, vocabulary=128256, layers=((layers, layer),), tied_embeddings=False)
    return bind(lower(model, layout=Layout(), scheme=scheme_for(model, weights), cache=cache_format(cache)), H100)


@pytest.mark.parametrize(("dtype", "cache"), [(BF16, "bf16"), (FP8, "fp8")])
@pytest.mark.parametrize(("batch", "context"), [(1, 1), (64, 2048), (512, 131072)])
def test_decode_rows_are_the_planners_operator_table(dtype, cache, batch, context):
    step = decode_step(spine(dtype.name, cache), np.array([float(batch)]), np.array([float(context)]))
    budget = layer_budget(H100, dtype, LayerShape(d_model=8192, seq=context, batch=batch, kv_heads=8), "decode")
    rows = {row.name: row for row in budget.rows}
    matched = 0
    for index, name in enumerate(step.names):
        if name in rows:
            assert rows[name].work == pytest.approx(float(step.work[index, 0]), rel=1e-12)
            assert rows[name].traffic == pytest.approx(float(step.traffic[index, 0]), rel=1e-12)
            assert rows[name].time == pytest.approx(float(step.time[index, 0]), rel=1e-12)
            matched += 1
    assert matched == 6  # qkv, o, gate_up, down, attention, norms


def test_prefill_rows_are_the_planners_operator_table():
    step = prompt_step(spine("bf16", "bf16"), np.array([4096.0]), np.array([0.0]))
    budget = layer_budget(H100, BF16, LayerShape(d_model=8192, seq=4096, batch=1, kv_heads=8), "prefill")
    rows = {row.name: row for row in budget.rows}
    for index, name in enumerate(step.names):
        if name in rows:
            assert rows[name].work == pytest.approx(float(step.work[index, 0]), rel=1e-12)
            assert rows[name].traffic == pytest.approx(float(step.traffic[index, 0]), rel=1e-12)


def test_every_operator_is_listed_once():
    budget = layer_budget(H100, BF16, LayerShape(d_model=8192, seq=8192, batch=4, kv_heads=8), "prefill")
    assert [row.name for row in budget.rows] == ["qkv", "o", "gate_up", "down", "attention", "norms", "rope",
                                                 "activation", "residual"]
    assert budget.time == pytest.approx(sum(row.time for row in budget.rows))
    for row in budget.rows:
        assert row.intensity == pytest.approx(row.work / row.traffic)


def test_the_budget_inverts_between_prefill_and_decode():
    shape = LayerShape(d_model=8192, seq=8192, batch=4, kv_heads=8)
    prefill, decode = (layer_budget(H100, BF16, shape, regime) for regime in ("prefill", "decode"))
    assert prefill.model_flop_utilisation > 0.9
    assert prefill.memory_bound_share < 0.1
    assert decode.memory_bound_share == pytest.approx(1.0)
    assert decode.model_flop_utilisation < 0.02


def test_a_training_step_is_three_times_the_work_and_twice_the_traffic():
    shape = LayerShape(d_model=4096, seq=2048, batch=2, kv_heads=8)
    forward, training = (layer_budget(H100, BF16, shape, regime) for regime in ("prefill", "training"))
    assert training.work == pytest.approx(3 * forward.work)
    assert training.traffic == pytest.approx(2 * forward.traffic)
    assert 2 * forward.time <= training.time <= 3 * forward.time


def test_turning_flash_off_sends_scores_through_memory():
    shape = LayerShape(d_model=8192, seq=32768, batch=1, kv_heads=8)
    on, off = (layer_budget(H100, BF16, shape, "prefill", flash=flash) for flash in (True, False))
    rows = [next(row for row in budget.rows if row.name == "attention") for budget in (on, off)]
    cost = naive_cost(AttentionShape(seq=32768, heads=64, kv_heads=8, head_dim=128), 2.0)
    assert rows[1].traffic == cost.traffic
    assert rows[1].traffic > 100 * rows[0].traffic
    assert (rows[0].bound, rows[1].bound) == ("compute", "memory")


def test_the_calibrated_view_is_never_faster_and_measures_no_training():
    chip = built_in_chips().chip("h100-sxm-80gb")
    profile = read_profile(catalog_root() / "profiles", chip, "vllm")
    shape = LayerShape(d_model=8192, seq=8192, batch=4, kv_heads=8)
    for regime in ("prefill", "decode"):
        bound = layer_budget(chip, BF16, shape, regime)
        measured = layer_budget(chip, BF16, shape, regime, profile=profile)
        assert measured.calibrated
        assert measured.time > bound.time
        for mine, floor in zip(measured.rows, bound.rows, strict=True):
            assert mine.time >= floor.time * (1 - 1e-12)
    with pytest.raises(MissingFact, match="training"):
        layer_budget(chip, BF16, shape, "training", profile=profile)


def test_small_widths_fall_off_the_compute_roof():
    wide, narrow = (layer_budget(H100, BF16, LayerShape(d_model=d, seq=8192, batch=4, kv_heads=8), "prefill")
                    for d in (8192, 1024))
    assert narrow.memory_bound_share > 3 * wide.memory_bound_share


def test_prefill_scales_with_sequences():
    one, four = (layer_budget(H100, BF16, LayerShape(d_model=4096, seq=8192, batch=b, kv_heads=8), "prefill")
                 for b in (1, 4))
    assert four.work == pytest.approx(4 * one.work)


@pytest.mark.parametrize(("call", "error", "pointer"), [
    (lambda: LayerShape(d_model=1000, seq=1, batch=1, kv_heads=1), InvalidQuantity, "/d_model"),
    (lambda: LayerShape(d_model=1024, seq=1, batch=1, kv_heads=3), InvalidQuantity, "/kv_heads"),
    (lambda: LayerShape(d_model=1024, seq=0, batch=1, kv_heads=1), InvalidQuantity, "/seq"),
    (lambda: layer_budget(H100, BF16, LayerShape(d_model=128, seq=1, batch=1, kv_heads=1), "chat"), InvalidQuantity,
     "/regime"),
    (lambda: layer_budget(H100, element_type("tf32"), LayerShape(d_model=128, seq=1, batch=1, kv_heads=1), "decode"),
     UnsupportedFormat, "/dtype"),
    (lambda: layer_budget(BARE, FP8, LayerShape(d_model=128, seq=1, batch=1, kv_heads=1), "decode"), MissingFact,
     None)])
def test_nonsense_is_refused_by_name(call, error, pointer):
    with pytest.raises(error) as caught:
        call()
    assert caught.value.pointer == pointer
