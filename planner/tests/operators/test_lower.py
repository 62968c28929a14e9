"""Lowering: layouts that cut heads are refused, formats reach the right tensors, every attention kind has its rows."""

from __future__ import annotations

import numpy as np
import pytest

from planner.bootstrap import Planner
from planner.config import settings
from planner.core.architecture.model import ModelCard
from planner.core.errors import InvalidLayout
from planner.core.execution.bound import bind
from planner.core.execution.step import decode_step, prompt_step
from planner.core.execution.tabulate import step_table
from planner.core.operators.card import lower_card
from planner.core.operators.lower import scheme_for
from planner.core.operators.table import stack
from planner.core.parallelism import Layout
from planner.core.precision import cache_format, weight_format
from planner.tests.build import H100, LLAMA_8B, MIXTRAL, bound, profile, table

PLANNER = Planner(settings({"PLANNER_DATABASE_URL": "sqlite:////nonexistent/none.sqlite3"}))
KINDS = {"deepseek-v3": "mla", "deepseek-v3.2": "sparse", "qwen3-next-80b-a3b-instruct": "linear",
         "state-spaces/mamba-2.8b-hf": "ssm", "gemma-3-27b-it": "gqa"}


@pytest.mark.parametrize(("tensor", "said"), [(3, "32 attention heads"), (64, "does not divide")])
def test_a_layout_that_cuts_heads_is_refused(tensor: int, said: str) -> None:
    with pytest.raises(InvalidLayout, match=said):
        table(LLAMA_8B, tensor=tensor)


def test_key_value_heads_divide_or_repeat() -> None:
    model = PLANNER.catalog.model("qwen2.5-7b-instruct").value  # 28 heads, 4 key-value heads
    table(model, tensor=4)
    with pytest.raises(InvalidLayout, match="key-value"):
        table(PLANNER.catalog.model("phi-4").value, tensor=4)  # 40 heads, 10 key-value heads


@pytest.mark.parametrize("sizes", [{"tensor": 0}, {"pipeline": -1}, {"expert": 3, "tensor": 4},
                                   {"expert": 8, "tensor": 4}])
def test_sizes_that_are_no_layout(sizes: dict[str, int]) -> None:
    with pytest.raises(InvalidLayout):
        Layout(**sizes)


def test_experts_and_layers_must_divide() -> None:
    with pytest.raises(InvalidLayout, match="experts"):
        table(MIXTRAL, tensor=16, data=3, expert=16)
    with pytest.raises(InvalidLayout, match="layers"):
        table(LLAMA_8B, pipeline=33)


def test_quantised_checkpoints_keep_the_head_in_16_bit() -> None:
    rows = table(LLAMA_8B, weights="fp8").matmuls
    formats = dict(zip(rows.names, rows.formats, strict=True))
    assert formats == {"qkv": "fp8", "o": "fp8", "gate_up": "fp8", "down": "fp8", "head": "bf16"}


def test_fp4_mixtures_keep_attention_in_16_bit_and_gguf_covers_everything() -> None:
    four = table(MIXTRAL, weights="nvfp4")
    assert dict(zip(four.matmuls.names, four.matmuls.formats, strict=True))["qkv"] == "bf16"
    assert four.mixtures.formats == ("nvfp4",)
    assert set(table(LLAMA_8B, weights="gguf:q4_k_m").matmuls.formats) == {"gguf:q4_k_m"}
    assert scheme_for(LLAMA_8B, "auto") is LLAMA_8B.scheme


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("calibrated", [False, True])
def test_every_attention_kind_is_timed(name: str, calibrated: bool) -> None:
    model = PLANNER.catalog.model(name).value
    lowered = table(model, tensor=1)
    assert KINDS[name] in lowered.kind_layers
    made = bind(lowered, H100, profile() if calibrated else None)
    batch, context = np.array([1.0, 64.0]), np.array([1000.0, 50000.0])
    step = decode_step(made, batch[:, None], context[None, :]).step_time
    assert (np.diff(step, axis=0) > 0).all()
    prompt = prompt_step(made, np.array([100.0, 10000.0]), np.zeros(2)).step_time
    assert prompt[1] > prompt[0] > 0
    made_table = step_table(made, np.asarray(1000.0))
    spans = np.minimum(1000.0, made_table.windows)
    read = made_table.time(np.asarray(64.0), 64 * spans, np.asarray(0.0), np.asarray(64.0), np.asarray(0.0))
    assert float(read) == pytest.approx(float(step[1, 0]), rel=0.03)


def test_recurrent_decode_does_not_grow_with_context() -> None:
    made = bind(table(PLANNER.catalog.model("state-spaces/mamba-2.8b-hf").value), H100)
    near, far = (float(decode_step(made, np.asarray(8.0), np.asarray(c)).step_time) for c in (100.0, 1e6))
    assert near == far


def test_a_latent_repeats_on_every_rank_and_data_parallelism_spreads_it() -> None:
    model = PLANNER.catalog.model("deepseek-v3").value
    cost = [decode_step(bind(table(model, weights="bf16", **layout), H100), np.asarray(64.0), np.asarray(4096.0))
            for layout in ({"tensor": 1}, {"tensor": 8}, {"tensor": 1, "data": 8, "expert": 8})]
    cache = [float(c.total(c.cache)) for c in cost]
    assert cache[1] == pytest.approx(cache[0])
    assert cache[2] == pytest.approx(cache[0] / 8)


def test_pipeline_stages_split_the_batch_and_send_between_them() -> None:
    one, two = table(LLAMA_8B), table(LLAMA_8B, pipeline=2)
    assert float(two.sequences_on_rank(np.asarray(64.0))) == 32
    assert float(two.sequences_on_rank(np.asarray(1.0))) == 1
    assert "stage_send" in two.collectives.names
    assert "stage_send" not in one.collectives.names
    sent = decode_step(bound(LLAMA_8B, pipeline=2, calibrated=True), np.asarray(64.0), np.asarray(100.0))
    assert sent.link[[n == "stage_send" for n in sent.names]] > 0


def test_only_equal_rows_stack() -> None:
    with pytest.raises(ValueError, match="same operator rows"):
        stack([table(LLAMA_8B), table(LLAMA_8B, pipeline=2)])


def test_a_mixture_card_reads_the_union_of_active_sets() -> None:
    card = ModelCard(id="c", params=47e9, active_params=13e9, layers=32, kv_heads=8, head_dim=128, vocabulary=32000)
    made = bind(lower_card(card, layout=Layout(), weights=weight_format("bf16"), cache=cache_format("bf16")), H100)
    one, many = (decode_step(made, np.asarray(b), np.asarray(0.0)) for b in (1.0, 1e4))
    assert float(one.total(one.weights)) == pytest.approx(26e9)
    assert float(many.total(many.weights)) == pytest.approx(94e9)
    assert float(one.total(one.work)) == pytest.approx(26e9)
