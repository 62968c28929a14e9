from __future__ import annotations

from dataclasses import replace

import pytest

from planner.bootstrap import Planner
from planner.config import settings
from planner.services.plan.reading import question_of
from planner.services.questions.demand import loaded
from planner.services.questions.figures import FIGURES, figure_of, lookup, rate
from planner.services.questions.requests import Layout, load_words


@pytest.fixture(scope="module")
def planner():
    made = Planner(settings({"HOME": "/nonexistent"}))
    yield made
    made.close()


def reply(planner, text):
    parsed = planner.grammar.read(text)
    assert parsed.ask == ()
    return planner.answering.reply(parsed)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("llama-3.1-8b on 1 h100, 16 clients", "per user"),
        ("llama-3.1-8b on 1 l4, 500 rps, 1k in 500 out", "cannot keep up"),
        ("llama-3.1-8b on 1 h100, 4 clients, tpot < 500ms", "meets the target"),
        ("llama-3.1-8b on 1 h100, 200 clients, tpot < 2ms", "misses the target"),
        ("does llama-3.1-8b fit on 1 l4 with 400 concurrent at 8k", "only room for"),
        ("qwen3-32b bf16 on 1 l4, fits?", "Does not fit"),
        ("cost of llama-3.1-8b on m3 ultra", "No price is known"),
        ("cost of llama-3.1-8b on 1 l4 at 5/h vs 0.01 per million api", "cheaper at any load"),
        ("cost of llama-3.1-8b on 1 h100 at 1/h vs $90 per million api", "break-even"),
        ("qwen3-32b vs llama 3.3 70b bf16 on 1 l4", "None of these fits"),
        ("qwen3-32b bf16: 1 l4 or 1 h200?", "Only 1 × H200"),
        ("m3 ultra vs m4 max for llama-3.1-8b", "most per GPU"),
        ("llama-3.1-8b on 1 h100 with ttft < 1s", "meets the target at 64 requests in flight (assumed)"),
        ("llama-3.1-8b on 1 h100, ttft < 1s, 40 clients", "meets the target at 40 requests in flight: "),
        ("qwen3-32b on 1 h100, ttft < 1s", "64 requests in flight (assumed) at once"),
        ("qwen3-32b on 1 h100, ttft < 1s", "The target is missed."),
        ("why is qwen3-32b slow on 1 h100, 300 users", "at 30 requests in flight (assumed)"),
        ("h100 vs h200 for llama 70b", "at 64 requests in flight (assumed)."),
        ("cost of qwen3-32b on 1 h100 at 20 rps", "but cannot keep up with them"),
        ("2B tokens a month, llama-3.1-8b on 1 h100 at 2/h vs $0.5 per million api", "break-even is at 1.4"),
        ("cost per million tokens with llama-3.1-8b", "per million output tokens"),
        ("r1 on 16 h100, 8 clients", "Fits"),
        ("llama-3.1-8b on 1 l4, 400 clients, 4k ctx", "the others wait"),
        ("longest prompt for gpt-oss-20b on a 3090?", "up to 131,072 tokens"),
        ("fits? qwen3-32b fp8 on 1 h200 with 128k context", "up to 37"),
        ("fits? maverick int4 on 4 h100 at 1M ctx", "room for 1 request,"),
        ("max in flight at 30 tok/s each, llama 3.3 70b fp8 on 4 h100, 2k/300", "in flight meet the targets"),
        ("max in flight with tpot < 1ms, llama 3.3 70b fp8 on 4 h100", "No number in flight meets the targets"),
        ("llama-3.1-8b on 7 h100, 8 clients", "Fits"),
    ],
)
def test_verdicts(planner, text, words):
    assert words in reply(planner, text).verdict


def test_every_figure_is_the_plans(planner):
    found = reply(planner, "llama-3.1-8b on 1 h100, 16 clients at 2/h")
    plan = planner.plans.answer(question_of(found.outcomes[0].document))
    for name in FIGURES:
        figure = figure_of(found.outcomes[0].answer, name)
        assert figure.value == lookup(plan, figure.path)
    assert found.fits
    assert found.chart.series[1].label == "with fp8 weights"


def test_a_month_owned_against_an_api(planner):
    found = reply(planner, "2B tokens a month, llama-3.1-8b on 1 h100 at 2/h vs $0.5 per million api")
    assert found.lines == (
        "Kept for a month: $1,460, whatever the load.",
        "2,000,000,000 tokens a month from the API: $1,000.",
    )


@pytest.mark.parametrize(
    "text",
    [
        "budget 50k: what should we buy for llama-3.1-8b, 64 concurrent, ttft < 2s",
        "which gpu for llama-3.1-8b with 300 users at most 3 kW",
        "how many l4 for llama-3.1-8b tp2, 20 concurrent",
        "how many l40s for phi-4 at 5 rps, 8 bit, 500 in 100 out at 1/h",
    ],
)
def test_sizings_are_ranked(planner, text):
    found = reply(planner, text)
    options = found.sizing["options"]
    costs = [o["usd_per_hour"] for o in options if o["usd_per_hour"] is not None]
    assert options
    assert costs == sorted(costs)
    assert found.verdict.startswith(f"{options[0]['gpus']} × {options[0]['sku']}")
    assert found.lines


def test_a_replica_count_is_the_least_that_carries_the_load(planner):
    option = reply(planner, "how many l4 for llama-3.1-8b, 200 concurrent, tpot < 100ms").sizing["options"][0]
    assert option["max_concurrency_per_replica"] * option["replicas"] >= 200 * 1.2
    assert option["max_concurrency_per_replica"] * (option["replicas"] - 1) < 200 * 1.2


def test_what_nothing_carries_says_why(planner):
    found = reply(planner, "how many t4 for llama 3.1 405b, 20 concurrent")
    assert found.verdict == "No GPU asked about carries this."
    assert found.lines


def test_an_unreachable_target_rejects(planner):
    found = reply(planner, "how many l4 for llama-3.1-8b, 20 concurrent, tpot < 1ms")
    assert "no load of one replica meets the target" in found.lines[0]


def test_progress_is_reported(planner):
    seen = []
    parsed = planner.grammar.read("h100 vs l4 for phi-4")
    planner.answering.reply(parsed, "default", seen.append)
    assert seen[-1] == 1.0


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("dsv3 int4 on 2 h200, fits?", "It would fit on 4 × H200 SXM 141GB."),
        ("dsv3 bf16 on 8 h100, 64 clients", "It would fit with w4a16 weights."),
        ("llama 3.3 70b bf16 on 1 h100, fits?", "It would fit with w4a16 weights or on 2 × H100 SXM5 80GB."),
    ],
)
def test_what_does_not_fit_says_what_would(planner, text, remedy):
    found = reply(planner, text)
    assert remedy in found.lines
    assert {f.path for f in found.figures} == {"fit.weights_bytes", "fit.shortfall_bytes"}
    assert (found.limit, found.lever) == ("", "")


def test_what_would_fit_does_fit(planner):
    assert reply(planner, "dsv3 int4 on 4 h200, fits?").fits
    assert not reply(planner, "dsv3 int4 on 2 h200, fits?").fits
    assert reply(planner, "llama 3.3 70b w4a16 on 1 h100, fits?").fits


def test_nothing_tried_fits(planner):
    found = reply(planner, "kimi k2 w4a16 on 1 l4, fits?")
    assert not found.fits
    assert found.lines == ()


def test_most_in_flight_is_where_the_target_ends(planner):
    text = "max in flight at 30 tok/s each, llama 3.3 70b fp8 on 4 h100, 2k/300"
    most = int(reply(planner, text).verdict.split()[2])
    bears = f"llama 3.3 70b fp8 on 4 h100, 2k/300, 30 tok/s each, {most - 1} in flight"
    breaks = f"llama 3.3 70b fp8 on 4 h100, 2k/300, 30 tok/s each, {most + 4} in flight"
    assert "meets the target" in reply(planner, bears).verdict
    assert "misses the target" in reply(planner, breaks).verdict


@pytest.mark.parametrize("text", ["cost of llama 70b on h100", "cost of llama 70b on h100, 64 clients",
                                  "price per million tokens for qwen3-32b on h100 at 3 rps", "qwen3-32b on l4, cost?"])
def test_a_cost_without_a_count_is_of_the_cheapest_layout_that_carries_the_load(planner, text):
    found = reply(planner, text)
    outcome = found.outcomes[0]
    assert not outcome.answer["serving"]["saturated"]
    parse = loaded(planner.grammar.read(text))
    others = []
    for tensor in (1, 2, 4, 8):
        option = replace(outcome.option, layouts=(Layout(tensor=tensor, replicas=outcome.layout.replicas),))
        plan = planner.answering._solver.solve(option, "default").answer
        if plan["fit"]["fits"] and not plan["serving"]["saturated"]:
            others.append(plan["cost"]["usd_per_million_output_tokens"])
    assert outcome.answer["cost"]["usd_per_million_output_tokens"] == pytest.approx(min(others))
    assert load_words(parse) in found.verdict
    assert any(note.startswith("GPUs not said") for note in found.assumptions)


def test_without_a_price_a_gpu_is_chosen_for_its_tokens(planner):
    found = reply(planner, "gpt-oss-120b: h100 vs mi300x at 10 rps")
    notes = {note.split(" × ")[1].split(" ")[0]: note for note in found.assumptions if note.startswith("GPUs not said")}
    assert "least cost per token" in notes["h100-sxm-80gb"]
    assert "most tokens from a GPU" in notes["mi300x-192gb"]


def test_a_cost_without_a_load_says_what_full_gpus_cost(planner):
    line = next(line for line in reply(planner, "cost of llama 70b on h100").lines if line.startswith("Full"))
    assert "$0." in line
    assert not any(line.startswith("Full") for line in reply(planner, "cost of llama 70b on h100, 64 clients").lines)
    assert not any(line.startswith("Full") for line in reply(planner, "cost of llama 70b on 2 h100").lines)


def test_without_a_gpu_the_cheapest_token_is_found(planner):
    found = reply(planner, "cost per million tokens with llama-3.1-8b")
    others = [reply(planner, f"cost per million tokens with llama-3.1-8b on {sku}").figures[0].value
              for sku in ("h100", "a6000", "l40s")]
    assert found.figures[0].value < min(others)


def test_a_comparison_counts_the_gpus_it_compares(planner):
    lines = reply(planner, "h100 vs h200 for llama 70b").lines
    assert [line.split(":")[0] for line in lines] == ["H100 SXM5 80GB (4 GPUs)", "H200 SXM 141GB (2 GPUs)"]


def test_a_bill_without_a_monthly_volume(planner):
    assert "a month" in reply(planner, "monthly bill for 4 l40s running qwen3-14b at 0.95/h?").lines[0]


def test_models_on_counts_of_their_own_are_two_options(planner):
    found = reply(planner, "compare scout on 4 h100 to maverick on 8 h100, fp8, 64 concurrent")
    named = [(o.document["model"].split("-")[3], o.option.gpus) for o in found.outcomes]
    assert named == [("scout", 4), ("maverick", 8)]


def test_defaults_are_told_apart_from_what_was_said(planner):
    found = reply(planner, "llama-3.1-8b on 1 h100, 16 clients")
    assert found.defaults == ("prompt 1,000, answer 1,000 tokens",)


@pytest.mark.parametrize(
    "text",
    [
        "llama-3.1-70b tp4 h100 7k/1k c=32",
        "llama-3.1-70b tp4 h100 7k/1k c=32 at 30 tok/s per user",
        "4 h100 or 4 h200 for llama-3.1-70b, 7k/1k c=32",
    ],
)
def test_per_user_is_of_the_served_load(planner, text):
    found = reply(planner, text)
    answer = found.outcomes[0].answer
    served = f"{rate(1 / answer['serving']['tpot_s']['mean'])} per user"
    assert served != f"{rate(answer['decode']['tokens_per_s_per_user'])} per user"
    assert served in " ".join((found.verdict, *found.lines))
    figure = figure_of(answer, "user")
    assert f"{figure.text} per user" == served
    low, high = answer["intervals"]["serving.tpot_s.mean"]
    assert (figure.low, figure.high) == (rate(1 / high), rate(1 / low))


def test_per_user_without_a_served_load_is_of_the_step(planner):
    answer = dict(reply(planner, "llama-3.1-8b on 1 h100, 16 clients").outcomes[0].answer, serving=None)
    assert figure_of(answer, "user").value == answer["decode"]["tokens_per_s_per_user"]
