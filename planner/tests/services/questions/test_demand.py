"""Demands in tokens are planned for, a speed next to users is each one's, and no load is invented."""

from __future__ import annotations

import pytest

from planner.bootstrap import Planner
from planner.config import settings
from planner.services.parse import Parsed
from planner.services.questions.demand import loaded

DAY = 86400


@pytest.fixture(scope="module")
def planner():
    made = Planner(settings({"HOME": "/nonexistent"}))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("we need 200 million tokens per day with qwen3-32b, which gpu", 200e6 / DAY / 2000),
        ("200M tokens/day with qwen3-32b on h100, 3k in 1k out, how many", 200e6 / DAY / 4000),
        ("200 million output tokens per day with qwen3-32b, how many h100", 200e6 / DAY / 1000),
        ("200 million input tokens per day with qwen3-32b, 4k in 200 out, how many h100", 200e6 / DAY / 4000),
        ("need 10M tokens per hour from qwen3-32b, how many h100", 10e6 / 3600 / 2000),
        ("50 million tokens per week, qwen3-32b, which gpu", 50e6 / (7 * DAY) / 2000),
        ("how many h100 for 2 million tok/min with qwen3-32b", 2e6 / 60 / 2000),
        ("73B tokens a year with qwen3-32b, how many h100", 200e6 / DAY / 2000),
        ("6B tokens a month with qwen3-32b, how many h100", 200e6 / DAY / 2000),
        ("how many h200 for llama 3.3 70b fp8 at 5000 tok/s output", 5.0),
        ("how many h200 for llama 3.3 70b fp8 at 5000 output tok/s, 2k/500", 10.0),
        ("need ~2k tok/s total from gpt-oss-120b, 1k in 1k out. how many mi300x", 2.0),
        ("how many h100 for 20k input tokens/s of qwen3-32b, 4k in 200 out", 5.0),
    ],
)
def test_tokens_asked_for_are_requests_per_second(planner, text, rate):
    parsed = planner.grammar.read(text)
    assert parsed.intent == "size"
    assert "request_rate" not in parsed.parse
    assert loaded(parsed)["request_rate"] == pytest.approx(rate)


def test_a_sizing_carries_the_tokens_and_says_how(planner):
    reply = planner.answering.reply(planner.grammar.read("how many h200 for llama 3.3 70b fp8 at 5000 tok/s output"))
    best = reply.sizing["options"][0]
    assert best["max_rate_per_replica"] * best["replicas"] >= 5.0
    said = "“5000 tok/s” of 1,000 answer tokens a request, spread evenly: 5.00 requests/s"
    assert said in reply.assumptions
    assert said in reply.defaults
    assert not any("in flight" in text for text in reply.assumptions)


def test_a_plan_is_loaded_with_the_tokens_said(planner):
    parsed = planner.grammar.read("can 1 h100 do 900 million tokens per day with qwen3-32b fp8?")
    reply = planner.answering.reply(parsed)
    assert reply.outcomes[0].document["workload"]["request_rate"] == pytest.approx(900e6 / DAY / 2000)


def test_tokens_next_to_another_load_are_said_to_be_unused(planner):
    reply = planner.answering.reply(planner.grammar.read("how many h200 for llama 3.3 70b fp8, 64 clients, 5000 tok/s"))
    assert any("“5000 tok/s” is not used" in text for text in reply.assumptions)


@pytest.mark.parametrize(
    "text",
    [
        "2B tokens a month, llama-3.1-8b on 1 h100 at 2/h vs $0.5 per million api",
        "why is llama-3.1-8b on 1 h100 memory bound at 2B tokens a month",
        "best batch for llama-3.1-8b on 1 h100 with 2B tokens a month",
        "monthly bill of llama-3.1-8b on 1 h100, 2B tokens a month",
    ],
)
def test_tokens_of_a_month_are_the_load_whatever_is_asked(planner, text):
    parsed = planner.grammar.read(text)
    assert parsed.intent in {"cost", "why", "batch"}
    reply = planner.answering.reply(parsed)
    assert reply.outcomes[0].document["workload"]["request_rate"] == pytest.approx(2e9 / (30 * DAY) / 2000)
    assert any("2b tokens a month" in text for text in reply.defaults)


def test_a_speed_somebody_measured_is_no_load(planner):
    parsed = planner.grammar.read("why do I only get 20 tok/s with qwen3-32b on 1 h100")
    assert "request_rate" not in loaded(parsed)


@pytest.mark.parametrize("first", ["qwen3-32b on 1 h100, 16 clients", "qwen3-32b on 1 h100",
                                   "qwen3-32b on 1 h100, 16 clients, 50 tok/s each"])
@pytest.mark.parametrize("then", ["and 30 tok/s?", "and at 30 tps?"])
def test_a_bare_speed_in_a_thread_is_each_users(planner, first, then):
    before = planner.grammar.read(first)
    context = {"intent": before.intent, "parse": before.parse, "demand": before.demand}
    parsed = planner.grammar.read(then, context)
    assert (parsed.intent, parsed.parse["slo"]) == ("plan", {"tpot_s": pytest.approx(1 / 30)})


def test_a_bare_speed_in_a_thread_on_all_users_is_of_all(planner):
    before = planner.grammar.read("how many h200 for llama 3.3 70b fp8 at 5000 tok/s output")
    context = {"intent": before.intent, "parse": before.parse, "demand": before.demand}
    parsed = planner.grammar.read("and 150 tok/s on h100?", context)
    assert loaded(parsed)["request_rate"] == pytest.approx(0.15)


def test_a_demand_without_its_words_counts_prompt_and_answer():
    parsed = Parsed(intent="size", parse={"model": "m", "tokens_per_month": 2592e6})
    assert loaded(parsed)["request_rate"] == pytest.approx(0.5)


def test_a_demand_stays_in_its_thread(planner):
    first = planner.grammar.read("how many h200 for llama 3.3 70b fp8 at 5000 tok/s output")
    context = {"intent": first.intent, "parse": first.parse, "demand": first.demand}
    assert loaded(planner.grammar.read("and h100?", context))["request_rate"] == pytest.approx(5.0)


@pytest.mark.parametrize(
    "text",
    [
        "how many users at 30 tok/s on 8xh100 llama 3.1 70b 8k/1k",
        "llama 3.3 70b on 4 h100, 64 clients, 30 tok/s",
        "64 concurrent users at 30 tokens per second, llama 3.3 70b on 4 h100",
        "how many concurrent requests can 4 h100 take with llama 3.3 70b at 30 tps",
        "which gpu for qwen3-32b, 40 users, 30 tok/s",
        "8 h100 llama 3.1 70b: can 50 people get 30 tok/s?",
        "does 4 h100 give 64 users 30 tok/s with llama 3.3 70b",
    ],
)
def test_a_speed_next_to_users_is_each_ones(planner, text):
    assert planner.grammar.read(text).parse["slo"] == {"tpot_s": pytest.approx(1 / 30)}


@pytest.mark.parametrize(
    "text",
    [
        "why does qwen3-32b with 8 clients only get 20 tok/s on h100",
        "qwen3-32b on 1 h100, 8 clients, 150 tok/s in total",
        "qwen3-32b on 1 h100, 64 clients, 2000 tok/s",
        "why do 8 clients get 20 tok/s with qwen3-32b on h100",
        "we measured 90 tok/s with 8 clients for qwen3-32b on 1 h100",
    ],
)
def test_a_speed_seen_or_of_all_is_no_target(planner, text):
    assert "slo" not in planner.grammar.read(text).parse


def test_the_answer_to_how_many_users_is_within_the_speed(planner):
    reply = planner.answering.reply(planner.grammar.read("how many users at 30 tok/s on 8xh100 llama 3.1 70b 8k/1k"))
    assert "in flight meet the targets" in reply.verdict


@pytest.mark.parametrize(
    "text",
    ["TTFT for a 32k prompt on llama 70b tp8 h100?", "prefill time for 100k prompt on qwen3-32b h200"],
)
def test_the_first_token_alone_is_of_one_request(planner, text):
    parsed = planner.grammar.read(text)
    assert "concurrency" not in parsed.parse
    reply = planner.answering.reply(parsed)
    assert reply.outcomes[0].document["workload"]["concurrency"] == 1
    assert any(text.startswith("1 request in flight") for text in reply.defaults)


def test_a_load_said_stands_beside_the_first_token(planner):
    parsed = planner.grammar.read("TTFT for a 32k prompt on llama 3.3 70b tp8 h100 with 8 clients?")
    assert loaded(parsed)["concurrency"] == 8


@pytest.mark.parametrize(
    "text", ["llama 3.1 70b tp8 h100 single user speed", "qwen3-32b on h100, one user, 8k ctx: how fast"]
)
def test_a_single_user_is_one_in_flight(planner, text):
    assert loaded(planner.grammar.read(text))["concurrency"] == 1


def follow(planner, first, then):
    before = planner.grammar.read(first)
    return planner.grammar.read(then, {"intent": before.intent, "parse": before.parse, "demand": before.demand})


@pytest.mark.parametrize(("text", "said"), [
    ("llama 8b on l4 at 30 tok/s", "30 tok/s"), ("qwen3-32b on 1 h100, 40 tok/s, ttft under 1s", "40 tok/s"),
    ("does llama 8b reach 100 tokens/s on l4", "100 tokens/s"), ("how many h100 for llama 70b at 30 tps", "30 tps")])
def test_a_bare_speed_is_each_users_and_the_verdict_says_so(planner, text, said):
    parsed = planner.grammar.read(text)
    assert 1 / parsed.parse["slo"]["tpot_s"] == pytest.approx(float(said.split()[0]))
    assert "tokens_per_s" not in parsed.demand
    verdict = planner.answering.reply(parsed).verdict
    assert f"“{said}” is read as each user's; for all users together say “{said} in total”." in verdict


@pytest.mark.parametrize(("text", "rate"), [
    ("serve 3000 tok/s of llama 70b on h100", 3.0), ("how many h100 for 50k tok/s of llama 70b", 50.0),
    ("llama 8b on 1 h100, 3000 tok/s total", 3.0), ("serve 100 tok/s of llama 8b on 1 l4", 0.1),
    ("llama 8b on 1 h100 at 30 tok/s in total", 0.03), ("100 tok/s of llama 8b on 1 l4", 0.1)])
def test_a_volume_is_of_all_users_and_needs_no_word_on_it(planner, text, rate):
    parsed = planner.grammar.read(text)
    assert "slo" not in parsed.parse
    assert loaded(parsed)["request_rate"] == pytest.approx(rate)
    assert "is read as" not in planner.answering.reply(parsed).verdict


def test_a_speed_that_may_have_been_meant_either_way_is_said_to_be_of_all(planner):
    parsed = planner.grammar.read("llama 70b on 8xh100 at 300 tok/s")
    assert "“300 tok/s” is read as of all users together; for each one say “300 tok/s per user”." in (
        planner.answering.reply(parsed).verdict)


def test_a_speed_beside_a_price_is_what_is_bought(planner):
    parsed = planner.grammar.read("llama 8b on a rented h100 at 2.50/h, 70 tok/s. cheaper than the api?")
    assert (parsed.intent, "slo" in parsed.parse, parsed.demand["tokens_per_s"]) == ("cost", False, 70)


def test_what_the_verdict_offers_works_in_the_thread(planner):
    parsed = follow(planner, "llama 8b on l4 at 30 tok/s", "30 tok/s in total")
    assert ("slo" in parsed.parse, loaded(parsed)["request_rate"]) == (False, pytest.approx(0.03))
    parsed = follow(planner, "qwen3-32b on 1 h100, 40 tok/s, ttft under 1s", "40 tok/s in total")
    assert parsed.parse["slo"] == {"ttft_s": 1}
    parsed = follow(planner, "llama 8b on 1 h100 at 300 tok/s", "300 tok/s per user")
    assert parsed.parse["slo"] == {"tpot_s": pytest.approx(1 / 300)}
    assert "request_rate" not in loaded(parsed)
    parsed = follow(planner, "llama 8b on l4 at 30 tok/s", "and on l40s?")
    assert (parsed.parse["slo"], parsed.demand) == ({"tpot_s": pytest.approx(1 / 30)}, {})


def test_so_many_tokens_are_planned_on_as_many_gpus_as_they_take(planner):
    reply = planner.answering.reply(planner.grammar.read("serve 20k tok/s of llama 70b on h100"))
    assert "20,000 tok/s in all" in reply.verdict
    assert any(note.startswith("GPUs not said") for note in reply.assumptions)


def test_totals_are_over_all_replicas(planner):
    reply = planner.answering.reply(planner.grammar.read("llama 8b on 16 h100, 64 clients"))
    figures = {figure.label: figure.value for figure in reply.figures}
    each = reply.outcomes[0].answer["serving"]
    assert reply.outcomes[0].layout.replicas == 2
    assert figures["Total"] == pytest.approx(2 * each["output_tokens_per_s"])
    assert figures["Per user"] == pytest.approx(each["tokens_per_s_per_user"])


def test_how_many_meet_the_targets_is_said_where_no_load_is(planner):
    reply = planner.answering.reply(planner.grammar.read("llama 8b on 1 h100 at 30 tok/s"))
    assert reply.verdict.startswith("Up to ")
    assert "in flight meet the targets" in reply.verdict


def test_a_smaller_speed_after_only_in_a_thread_is_each_users(planner):
    before = planner.grammar.read("how many h100 for qwen3 32b at 30 tok/s each for 40 users")
    context = {"intent": before.intent, "parse": before.parse, "demand": before.demand}
    for then in ("what if only 20 tok/s", "with just 20 tok/s"):
        assert planner.grammar.read(then, context).parse["slo"] == {"tpot_s": pytest.approx(1 / 20)}


def test_room_under_a_target_says_whether_it_is_kept(planner):
    alone = planner.answering.reply(planner.grammar.read("does llama 70b fit on 4 h100 at 20 tok/s per user"))
    assert "in flight meet the targets" in alone.verdict
    for speed, word in ((5, "met"), (500, "missed")):
        text = f"does llama 8b fit on 1 h100 for 32 clients at {speed} tok/s per user"
        assert f"The target is {word} at 32 requests in flight." in planner.answering.reply(
            planner.grammar.read(text)).verdict


def test_an_answer_of_one_token_has_no_speed_per_user(planner):
    for text in ("llama 8b on 1 h100, 500 in 1 out, 8 clients", "llama 8b on h100 vs h200, 500 in 1 out, 8 clients"):
        reply = planner.answering.reply(planner.grammar.read(text))
        assert "per user" not in " ".join((reply.verdict, *reply.lines))
        assert "Per user" not in {figure.label for figure in reply.figures}


@pytest.mark.parametrize("cap", ["under $10 per hour", "at most $10/h", "budget $7k a month", "below 10 usd an hour"])
def test_a_limit_on_the_bill_is_no_price_of_a_gpu(planner, cap):
    parsed = planner.grammar.read(f"which gpu for llama 3.3 70b {cap} with 50 users")
    assert parsed.intent == "size"
    assert "price" not in parsed.parse
    assert any(cap in note for note in parsed.notes)


def test_a_limit_on_each_gpu_is_its_price(planner):
    parsed = planner.grammar.read("cost of llama 8b on h100 under $2 per gpu hour")
    assert parsed.parse["price"] == {"usd_per_gpu_hour": 2}
