from __future__ import annotations

import pytest

from planner.catalog.vocabulary import built_in_vocabulary
from planner.services.questions.edits import edited, filled
from planner.services.questions.requests import Layout, layouts_of, options_of, workload_of
from planner.services.questions.sizing import size_document

VOCABULARY = built_in_vocabulary()
H100 = VOCABULARY.sku("h100-sxm-80gb")
BASE = {"model": "qwen/qwen3-32b", "skus": ["h100-sxm-80gb"], "gpus": [2]}


@pytest.mark.parametrize(
    ("parse", "workload", "assumed"),
    [
        ({}, {"input_tokens": 1000, "output_tokens": 1000, "concurrency": 64}, 2),
        (
            {"context_tokens": 8192, "concurrency": 3},
            {"input_tokens": 7192, "output_tokens": 1000, "concurrency": 3},
            1,
        ),
        ({"context_tokens": 2048, "concurrency": 3}, {"input_tokens": 1536, "output_tokens": 512, "concurrency": 3}, 1),
        (
            {"context_tokens": 8192, "output_tokens": 192, "concurrency": 3},
            {"input_tokens": 8000, "output_tokens": 192, "concurrency": 3},
            1,
        ),
        (
            {"input_tokens": 20, "output_tokens": 30, "request_rate": 2},
            {"input_tokens": 20, "output_tokens": 30, "request_rate": 2},
            0,
        ),
        ({"input_tokens": 20, "concurrency": 2}, {"input_tokens": 20, "output_tokens": 1000, "concurrency": 2}, 1),
        (
            {"users": 5, "input_tokens": 1, "output_tokens": 1},
            {"input_tokens": 1, "output_tokens": 1, "concurrency": 5},
            1,
        ),
        (
            {"users": 40, "input_tokens": 1, "output_tokens": 1},
            {"input_tokens": 1, "output_tokens": 1, "concurrency": 10},
            1,
        ),
        (
            {"users": 500, "input_tokens": 1, "output_tokens": 1, "prefix_cache_hit": 0.5},
            {"input_tokens": 1, "output_tokens": 1, "concurrency": 50, "prefix_cache_hit": 0.5},
            1,
        ),
    ],
)
def test_workloads(parse, workload, assumed):
    made, notes = workload_of(parse)
    assert made == workload
    assert len(notes) == assumed


def test_layouts_in_the_order_tried():
    assert layouts_of(None, {}, H100) == (Layout(tensor=None),)
    assert layouts_of(2, {}, H100) == (Layout(tensor=2), Layout(tensor=1, replicas=2), Layout(tensor=1, pipeline=2))
    assert layouts_of(16, {}, H100)[:2] == (Layout(tensor=8, replicas=2), Layout(tensor=8, pipeline=2))
    assert Layout(tensor=2, pipeline=3) in layouts_of(6, {}, H100)
    assert layouts_of(8, {"tensor_parallel": 4}, H100) == (Layout(tensor=4, replicas=2),)
    assert layouts_of(8, {"tensor_parallel": 1, "data_parallel": 8}, H100) == (Layout(tensor=1, data=8, expert=8),)
    assert layouts_of(4, {}, None)[0] == Layout(tensor=4)


def test_options_follow_what_is_compared():
    def labels(**more):
        return [o.label for o in options_of(BASE | more, VOCABULARY)]

    assert labels() == ["2 × H100 SXM5 80GB"]
    assert labels(weights=["bf16", "fp8"]) == ["2 × H100 SXM5 80GB, bf16", "2 × H100 SXM5 80GB, fp8"]
    assert labels(kv_cache=["bf16", "fp8"])[1] == "2 × H100 SXM5 80GB, fp8"
    assert labels(tensor_parallel=[1, 2]) == ["2 × H100 SXM5 80GB, TP1", "2 × H100 SXM5 80GB, TP2"]
    assert labels(tensor_parallel=8, data_parallel=8, gpus=[8]) == [
        "8 × H100 SXM5 80GB, TP8",
        "8 × H100 SXM5 80GB, DP8",
    ]
    assert labels(context_tokens=[8192, 32768])[1] == "2 × H100 SXM5 80GB, 32,768 tokens"
    both = options_of({"models": ["qwen/qwen3-32b", "microsoft/phi-4"], "skus": BASE["skus"]}, VOCABULARY)
    assert [o.label for o in both] == ["qwen3-32b, H100 SXM5 80GB", "phi-4, H100 SXM5 80GB"]


def test_values_given_per_option_stay_with_it():
    parse = {
        "model": "microsoft/phi-4",
        "skus": ["h100-sxm-80gb", "a100-sxm-80gb"],
        "gpus": [1, None],
        "weights": "8bit",
        "price": {"usd_per_gpu_hour": [2.5, 1.5]},
    }
    first, second = options_of(parse, VOCABULARY)
    assert (first.document["deployment"]["weights"], second.document["deployment"]["weights"]) == ("fp8", "w8a16")
    assert (first.document["price"], second.document["price"]) == ({"usd_per_gpu_hour": 2.5}, {"usd_per_gpu_hour": 1.5})
    assert (first.gpus, second.gpus) == (1, None)


def test_fits_asks_for_the_window_itself():
    option = options_of(BASE | {"context_tokens": 32768}, VOCABULARY, intent="fits")[0]
    assert option.document["deployment"]["max_model_len"] == 32768


def test_replicas_share_the_load():
    option = options_of(BASE | {"concurrency": 10}, VOCABULARY)[0]
    assert option.placed(Layout(tensor=1, replicas=2))["workload"]["concurrency"] == 5


def test_edits():
    context = {"intent": "plan", "parse": dict(BASE)}
    assert edited(context, "fp8")["parse"]["weights"] == "fp8"
    assert edited(context, "fp8_kv")["parse"]["kv_cache"] == "fp8"
    assert edited(context, "context")["parse"]["input_tokens"] == 2000
    assert edited({"intent": "plan", "parse": {"context_tokens": 8}}, "context")["parse"] == {"context_tokens": 16}
    assert edited(context, "sku", "l4-24gb")["parse"] == BASE | {"skus": ["l4-24gb"]}
    assert edited(context, "model", "microsoft/phi-4")["parse"]["model"] == "microsoft/phi-4"
    assert edited(context, "why")["intent"] == "why"
    assert edited(context, "size") == {
        "intent": "size",
        "parse": {k: BASE[k] for k in ("model", "skus")},
        "ask": [],
        "choices": {},
    }
    assert edited(context, "nothing")["parse"] == BASE


def test_a_form_completes_a_request():
    context = {"intent": "size", "parse": {"users": 500, "slo": {"tpot_s": 0.1}}}
    made = filled(
        context, {"model": "microsoft/phi-4", "skus": "l4-24gb", "ttft_s": "1", "share": "0.05", "input_tokens": "7"}
    )
    assert made["parse"] == {
        "users": 500,
        "slo": {"tpot_s": 0.1, "ttft_s": 1.0},
        "model": "microsoft/phi-4",
        "skus": ["l4-24gb"],
        "concurrency": 25.0,
        "input_tokens": 7.0,
    }


def test_a_sizing_is_the_question_of_the_api():
    parse = {
        "model": "microsoft/phi-4",
        "skus": ["l4-24gb"],
        "request_rate": 5,
        "weights": "8bit",
        "tensor_parallel": 2,
        "slo": {"ttft_s": 1, "percentile": 0.99},
        "price": {"usd_per_gpu_hour": 0.7},
        "input_tokens": 10,
        "output_tokens": 20,
    }
    document = size_document(parse, ["l4-24gb"])
    assert document["demand"] == {"input_tokens": 10, "output_tokens": 20, "request_rate": 5}
    assert document["slo"] == {"percentile": 0.99, "ttft_s": 1, "tpot_s": None}
    assert document["constraints"]["formats"] == ["fp8", "w8a16"]
    assert document["usd_per_gpu_hour"] == {"l4-24gb": 0.7}
    assert document["deployment"] == {"tensor_parallel": 2}
    assert size_document({"model": "m", "request_rate": 1}, ["x"])["skus"] is None
