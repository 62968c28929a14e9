"""A user's speed is one over the time per token, in a plan, its interval and a sweep alike."""

from __future__ import annotations

import pytest

from planner.bootstrap import Planner
from planner.config import settings
from planner.core.serving.latency import speed
from planner.services.plan.reading import question_of
from planner.services.sweep.axes import read_axes

PLANNER = Planner(settings({"PLANNER_DATABASE_URL": "sqlite:////nonexistent/none.sqlite3"}))
QUESTION = {"model": "llama-3.1-70b", "sku": "h100", "deployment": {"tensor_parallel": 4},
            "workload": {"input_tokens": 7000, "output_tokens": 1000, "concurrency": 32}}


def test_speed_is_the_inverse_of_the_time() -> None:
    answer = PLANNER.plans.answer(question_of(QUESTION))
    serving, found = answer["serving"], answer["intervals"]
    assert serving["tokens_per_s_per_user"] == pytest.approx(1 / serving["tpot_s"]["mean"], rel=1e-12)
    low, high = found["serving.tpot_s.mean"]
    assert found["serving.tokens_per_s_per_user"] == pytest.approx([1 / high, 1 / low], rel=1e-12)
    assert speed(0.02) == pytest.approx(50.0)


def test_a_single_token_has_no_speed() -> None:
    question = QUESTION | {"workload": {"input_tokens": 100, "output_tokens": 1, "concurrency": 2}}
    answer = PLANNER.plans.answer(question_of(question))
    assert answer["serving"]["tokens_per_s_per_user"] is None
    assert "serving.tokens_per_s_per_user" not in answer["intervals"]


def test_a_sweep_has_the_plans_speed() -> None:
    columns = PLANNER.sweeps.columns(QUESTION, read_axes({"workload.concurrency": [1, 32]}, 10),
                                     ["serving.tokens_per_s_per_user"])
    plan = PLANNER.plans.answer(question_of(QUESTION))
    assert columns.metrics["serving.tokens_per_s_per_user"].ravel()[1] == pytest.approx(
        plan["serving"]["tokens_per_s_per_user"], rel=1e-9)


@pytest.mark.parametrize(("model", "sku", "weights"), [("gpt-oss-120b", "h100", "mxfp4"),
                                                       ("llama-3.1-70b", "h100", "w4a16"),
                                                       ("llama-3.1-8b", "a100", "int8")])
def test_the_formats_list_the_one_deployed_once(model: str, sku: str, weights: str) -> None:
    answer = PLANNER.plans.answer(question_of({"model": model, "sku": sku, "deployment": {"weights": weights}}))
    deployed = [row for row in answer["precision"] if row["deployed"]]
    assert [(row["weights"], row["kv_cache"]) for row in deployed] == [(weights, answer["deployment"]["kv_cache"])]
    assert deployed[0]["step_time_s"] == pytest.approx(answer["decode"]["step_time_s"], rel=1e-9)
    assert deployed[0]["fits"] is answer["fit"]["fits"]


def test_assumptions_have_a_key_each() -> None:
    for model, extra in (("mixtral-8x7b", "experts"), ("llama-3.1-8b", "load")):
        answer = PLANNER.plans.answer(question_of({"model": model, "sku": "h100"}))
        assert len(answer["assumption_keys"]) == len(answer["assumptions"]) == len(set(answer["assumption_keys"]))
        assert {"replica", "formats", "requests", "load", "memory", extra} <= set(answer["assumption_keys"])


def test_levers_say_which_are_settings_and_the_explanation_names_one_of_those() -> None:
    answer = PLANNER.plans.answer(question_of(QUESTION))
    machines = {lever["change"] for lever in answer["levers"] if not lever["setting"]}
    assert machines == {"1.5× memory bandwidth", "2× arithmetic peak"}
    best = next(lever["change"] for lever in answer["levers"] if lever["setting"] and lever["helps"])
    assert f"Best lever: {best} " in answer["explanation"]
