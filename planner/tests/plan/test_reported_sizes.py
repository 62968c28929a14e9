"""Public reports of wrong answers by sizing tools that a whole plan answers; the thread is the source of each value."""

from __future__ import annotations

from typing import Any

import pytest

from planner.bootstrap import Planner
from planner.config import settings
from planner.core.quantities.format import binary_bytes
from planner.services.plan.reading import question_of

PLANNER = Planner(settings({"PLANNER_DATABASE_URL": "sqlite:////nonexistent/none.sqlite3"}))


def plan(model: str, sku: str, **parts: Any) -> dict[str, Any]:
    return PLANNER.plans.answer(question_of({"model": model, "sku": sku, **parts}))


def test_llama_7b_on_an_a100_runs_at_its_published_rate() -> None:
    """https://github.com/hahnyuan/LLM-Viewer/issues/4: a roofline without efficiency said 2,796.6, 1,518 were run."""
    answer = plan("llama-2-7b-hf", "a100", deployment={"engine": "trtllm", "tensor_parallel": 1},
                  workload={"input_tokens": 128, "output_tokens": 2048, "concurrency": 32})
    assert answer["serving"]["output_tokens_per_s"] == pytest.approx(1518, rel=0.25)
    low, high = answer["intervals"]["serving.output_tokens_per_s"]
    assert low < 1518 < high


def test_parallel_slots_multiply_the_context() -> None:
    """https://github.com/ollama/ollama/pull/14120: four slots of 32,768 tokens keep 131,072 tokens of KV."""
    configuration = PLANNER.plans.configure(question_of({"model": "llama-3.1-8b", "sku": "rtx-3090"}))[0]
    kept = configuration.footprint
    assert 4 * kept.bytes_per_sequence(32_768.0) == kept.bytes_per_sequence(131_072.0) == 131_072 * 131_072


def test_a_24_gib_card_is_smaller_than_what_spills() -> None:
    """https://github.com/ollama/ollama/issues/6160: 24.4 GiB shown as "24 GB" on a 24 GiB card hid the spill."""
    card = PLANNER.catalog.sku("rtx-3090").value.memory_bytes
    assert card < 24.4 * 2**30
    assert binary_bytes(24.4 * 2**30) == "24.4 GiB"


def test_a_vision_model_in_four_bits_fits_a_24_gb_card() -> None:
    """https://github.com/ollama/ollama/issues/10417: all 41 layers run at a context of 4,096."""
    answer = plan("mistral-small-24b-instruct-2501", "rtx-3090", deployment={
        "engine": "generic", "tensor_parallel": 1, "weights": "gguf:q4_k_m", "max_model_len": 4096},
        workload={"input_tokens": 3000, "output_tokens": 1000, "concurrency": 1})
    assert answer["fit"]["fits"] is True
