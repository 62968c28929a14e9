"""Procurement on the command line: examples, every open question by one command, files, and bad files by line."""

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from openpyxl import load_workbook

from planner.cli.main import main
from planner.cli.procurement_charts import lines, short, stacked, ticks, tornado
from planner.cli.procurement_files import escaped
from planner.cli.procurement_report import report

EXAMPLES = Path(__file__).parents[3] / "examples"
NAMES = ("rent_or_buy", "head_count", "shared_fleet")


def asked(capsys, *arguments, code=0):
    assert main([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", NAMES)
def test_examples_are_answered(name, capsys):
    answer = asked(capsys, "whatif", str(EXAMPLES / f"{name}.toml"))
    assert answer["best"]
    plan = answer["plan"]
    assert round(sum(plan["parts_usd"].values()), 2) == plan["total_usd"]
    assert round(sum(plan["by_period_usd"]), 2) == plan["spent_usd"]
    assert len(answer["sensitivity"]["tornado"]) >= 8
    assert answer["uncertainty"]["gpus_p90"] >= answer["uncertainty"]["gpus_p50"]
    assert all(row["works"] or row["broken"] for row in answer["options"])
    assert main(["whatif", str(EXAMPLES / f"{name}.toml")]) == 0
    assert answer["best"].split(" + ")[0] in capsys.readouterr().out.replace("\n", " ")


@pytest.mark.parametrize("name", NAMES)
def test_fleets_of_the_examples(name, capsys):
    answer = asked(capsys, "fleet", str(EXAMPLES / f"{name}.toml"), "--gap", "0.02")
    assert answer["status"] in {"optimal", "time_limit"}
    assert answer["lower_bound_usd"] <= answer["npv_usd"]
    working = [w["npv_usd"] for w in answer["plain_ways"] if w["works"]]
    assert answer["npv_usd"] <= min(working) * 1.02
    assert main(["fleet", str(EXAMPLES / f"{name}.toml"), "--gap", "0.05"]) == 0
    assert "present value" in capsys.readouterr().out


def fleets(answer):
    return {f["fleet"]: f for f in answer["fleets"]}


def test_which_of_three_fleets_holds_a_hundred_users_at_8k(capsys):
    found = fleets(asked(capsys, "whatif", "--model", "llama-3.3-70b", "--options", "8xh100,4xh200,4xmi300x",
                         "--in-flight", "100", "--context", "8k"))
    assert all(f["holds"] for f in found.values())
    assert found["4×mi300x-192gb"]["usd_per_hour"] is None
    assert all(f["unit"] == "request in flight" for f in found.values())


def test_rented_card_against_an_api(capsys):
    answer = asked(capsys, "whatif", "--model", "llama-3.3-70b", "--options", "1xh100", "--price", "2.5", "--measured",
                   "700", "--in", "1000", "--out", "1000", "--api", "0.6/0.8")
    use = answer["fleets"][0]["usd_per_million_output_tokens_by_use"]
    # 2.50 / (700 · 3600) · 1e6.
    assert use["1.0"] == 0.9921
    assert use["0.1"] == 9.921
    assert any("nothing fits 1 × h100-sxm-80gb" in line for line in answer["warnings"])
    assert answer["break_even"]["against_api"][0]["utilization"] == pytest.approx(2.5 / (700 * 3.6e-3 * 1.4), rel=1e-3)


def test_five_hundred_users_without_a_model_is_a_range(capsys):
    answer = asked(capsys, "whatif", "--users", "500", "--skus", "h100,l40s")
    facts = {m["fact"]: m for m in answer["missing"]}
    assert {"model", "input_tokens", "output_tokens", "in_flight_share"} <= set(facts)
    assert facts["in_flight_share"]["range"]["in_flight_low"] == 25
    assert facts["in_flight_share"]["range"]["in_flight_high"] == 50
    assert answer["best"] is None
    assert 1 <= answer["range"]["gpus_low"] < answer["range"]["gpus_high"] <= 64
    assert answer["range"]["workloads"][0]["spare_replicas"] == 1
    assert main(["whatif", "--users", "500", "--skus", "h100"]) == 0
    assert "over what is missing" in capsys.readouterr().out


def test_two_billion_tokens_a_month(capsys):
    answer = asked(capsys, "whatif", "--tokens-per-month", "2B", "--mix", "80/20", "--api", "0.6/0.8", "--skus", "h100")
    asked_of = answer["range"]["workloads"][0]
    assert asked_of["mean_tokens_per_s"] == pytest.approx(2e9 / 2_629_800, rel=1e-3)
    assert {r["usd_per_month"] for r in answer["range"]["rows"] if r["sku"] == "api"} == {1280.0}


def test_a_large_model_that_old_cards_cannot_hold(capsys):
    answer = asked(capsys, "whatif", "--model", "deepseek-r1", "--options", "8xa100-sxm-80gb,8xh200", "--in-flight",
                   "8", "--context", "8k")
    found = fleets(answer)
    assert not found["8×a100-sxm-80gb"]["holds"]
    assert "fp8" in found["8×a100-sxm-80gb"]["why"]
    assert found["8×h200-sxm-141gb"]["holds"]


def test_oversubscribed_prompts(capsys):
    found = fleets(asked(capsys, "whatif", "--model", "llama-3.3-70b", "--options", "1xh200:fp8,2xh200:fp8",
                         "--weights", "fp8", "--in-flight", "32", "--in", "16384", "--out", "512"))
    assert not found["1×h200-sxm-141gb"]["holds"]
    assert 8 <= found["1×h200-sxm-141gb"]["carries"] <= 13
    assert found["2×h200-sxm-141gb"]["holds"]


@pytest.mark.parametrize(("line", "part"), [
    (["--options", "h100"], "8xh100"), (["--options", "1xh100,1xh200", "--measured", "5"], "measured"),
    (["--price", "2.5", "--options", "1xh100,1xh200", "--rate", "1"], "of which SKU"),
    (["--rate", "1", "--mix", "a/b"], "mix"), (["--in-flight", "3", "--context", "1k", "--out", "2000"], "no prompt"),
    ([], "exactly one"), (["--rate", "1", "--users", "3"], "exactly one")])
def test_bad_options_are_refused_in_a_sentence(line, part, capsys):
    assert main(["whatif", "--model", "llama-3.1-8b", *line]) == 2
    assert part in capsys.readouterr().err


def test_a_missing_exchange_rate_is_a_missing_fact(tmp_path, capsys):
    path = tmp_path / "s.toml"
    path.write_text((EXAMPLES / "head_count.toml").read_text().replace("[exchange.EUR]", "[exchange.GBP]"))
    assert main(["whatif", str(path)]) == 3
    assert "EUR" in capsys.readouterr().err


def test_files_escape_formulas(tmp_path, capsys):
    path = tmp_path / "s.toml"
    text = (EXAMPLES / "head_count.toml").read_text()
    path.write_text(text.replace('name = "Internal assistant for 500 people"', 'name = "=1+1 <script>"')
                    .replace('source = "planning figure"', 'source = "@SUM(A1)"'))
    files = {kind: tmp_path / f"out.{kind}" for kind in ("csv", "xlsx", "html")}
    assert main(["whatif", str(path), *[x for k, f in files.items() for x in (f"--{k}", str(f))]]) == 0
    assert "Written" in capsys.readouterr().out
    cells = [cell for row in csv.reader(io.StringIO(files["csv"].read_text())) for cell in row]
    assert "'=1+1 <script>" in cells
    assert not [c for c in cells if re.match(r"[=+@]|-[^0-9.]", c)]
    book = load_workbook(files["xlsx"])
    assert book["Summary"]["B2"].value == "'=1+1 <script>"
    values = [cell for page in book for row in page for cell in row]
    assert not [c for c in values if c.data_type == "f"]
    total = next(r for r in book["Money over the horizon"].values if r[0] == "total less resale")
    assert isinstance(total[1], float)
    page = files["html"].read_text()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "http" not in page.replace("http://www.w3.org", "")
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ET.fromstring(svg)  # noqa: S314 - the page is our own
    assert page.count("<svg") >= 3
    assert "@media print" in page


def test_comparison_names_what_differs(tmp_path, capsys):
    cheaper = tmp_path / "b.toml"
    cheaper.write_text((EXAMPLES / "head_count.toml").read_text().replace("card_price = 8500", "card_price = 17000"))
    answer = asked(capsys, "whatif", str(EXAMPLES / "head_count.toml"), "--against", str(cheaper))
    other = answer["against"]
    assert other["npv_difference_usd"] < 0
    parts = other["attribution_usd"]
    assert parts["performance"] == pytest.approx(0.0, abs=0.01)
    assert sum(parts.values()) == pytest.approx(answer["plan"]["total_usd"] - other["total_usd"], abs=0.05)


BAD = """name = "x"
currency = "US"
horizon_months = 12
colour = "red"

[[workloads]]
id = "chat"
model = "llama-3.1-8b"
[workloads.demand]
request_rate = 3
growth = 0.1

[[prices]]
sku = "h100"
kind = "on_demand"
price_per_gpu_hour = -2.0

[[prices]]
sku = "h100"
kind = "purchase"
"""


def test_every_problem_of_a_file_is_listed_with_its_line(tmp_path, capsys):
    path = tmp_path / "bad.toml"
    path.write_text(BAD)
    assert main(["whatif", str(path)]) == 2
    text = capsys.readouterr().err
    for line, part in ((2, "currency"), (4, "colour"), (11, "growth"), (16, "price_per_gpu_hour"), (18, "card_price")):
        assert re.search(rf"bad\.toml:{line}: .*{part}", text), (line, part, text)
    assert "5 problems" in text


def test_a_missing_currency_is_named(tmp_path, capsys):
    path = tmp_path / "s.json"
    path.write_text('{\n  "workloads": [\n    {"demand": {"users": 5},\n     "headroom": -1}\n  ]\n}')
    assert main(["fleet", str(path)]) == 2
    text = capsys.readouterr().err
    assert "s.json:1: currency: Field required" in text
    assert "s.json:4: workloads.0.headroom" in text


def test_files_that_extend_each_other_in_a_circle(tmp_path, capsys):
    for name, base in (("a", "b"), ("b", "c"), ("c", "a")):
        (tmp_path / f"{name}.toml").write_text(f'extends = "{base}.toml"\ncurrency = "USD"\n')
    assert main(["whatif", str(tmp_path / "a.toml")]) == 2
    assert "a.toml → b.toml → c.toml → a.toml" in capsys.readouterr().err


def test_a_variant_extends_its_base(tmp_path, capsys):
    base = tmp_path / "base.toml"
    base.write_text((EXAMPLES / "head_count.toml").read_text())
    (tmp_path / "more.toml").write_text('extends = "base.toml"\nname = "variant"\n[exchange.EUR]\nusd = 2.16\n')
    answer = asked(capsys, "whatif", str(tmp_path / "more.toml"))
    assert answer["name"] == "variant"
    single = asked(capsys, "whatif", str(base))
    assert answer["plan"]["npv_usd"] == pytest.approx(2 * single["plan"]["npv_usd"], abs=0.5)


def hourly(tmp_path, text):
    (tmp_path / "load.csv").write_text(text)
    path = tmp_path / "s.toml"
    path.write_text('currency = "USD"\nhorizon_months = 2\n[candidates]\nskus = ["h100"]\n[[workloads]]\n'
                    'model = "llama-3.1-8b"\ninput_tokens = 500\noutput_tokens = 100\n[workloads.demand]\n'
                    'hourly_csv = "load.csv"\n')
    return str(path)


def test_demand_by_the_hour_from_a_csv(tmp_path, capsys):
    rows = "\n".join(f"{hour},{1 + (hour % 24 == 12) * 99}" for hour in range(168))
    answer = asked(capsys, "whatif", hourly(tmp_path, "hour,request_rate\n" + rows + "\n"))
    assert answer["plan"]["workloads"][0]["peak_first"] == 100.0
    assert answer["plan"]["utilization_by_hour"][0]["mean"] < 0.1


@pytest.mark.parametrize(("text", "part"), [
    ("hour,load\n1,2\n", "load.csv:1: a column request_rate"), ("request_rate\n", "load.csv:1: there is no row"),
    ("request_rate\n1\n-2\nx\n", "load.csv:3: request_rate"), ("request_rate\n1\nnan\n", "load.csv:3: request_rate")])
def test_bad_demand_files(text, part, tmp_path, capsys):
    assert main(["whatif", hourly(tmp_path, text)]) == 2
    assert part in capsys.readouterr().err


def test_a_million_rows_are_refused_by_their_number(tmp_path, capsys):
    assert main(["whatif", hourly(tmp_path, "request_rate\n" + "1\n" * 1_000_000)]) == 2
    assert "more than 175,680 hourly rows" in capsys.readouterr().err


def test_hundreds_of_bad_rows_are_counted(tmp_path, capsys):
    assert main(["whatif", hourly(tmp_path, "request_rate\n" + "x\n" * 300)]) == 2
    assert "280 more rows" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "text", "part"), [
    ("s.toml", "currency = \n", "s.toml:1: cannot be read"), ("s.json", "{\n\n,}", "s.json:3: not JSON"),
    ("s.json", "[1]", "one object"), ("s.json", '{"a": NaN}', "NaN"), ("s.toml", "extends = 3\n", "must name a file"),
    ("s.toml", 'extends = "none.toml"\n', "none.toml:1: cannot be read"), ("s.toml", "#" * 2_000_001, "larger than")])
def test_unreadable_files(name, text, part, tmp_path, capsys):
    (tmp_path / name).write_text(text)
    assert main(["whatif", str(tmp_path / name)]) == 2
    assert part in capsys.readouterr().err


def test_a_missing_demand_file_is_named_where_it_is_asked_for(tmp_path, capsys):
    path = Path(hourly(tmp_path, "request_rate\n1\n"))
    (tmp_path / "load.csv").unlink()
    assert main(["whatif", str(path)]) == 2
    assert "s.toml:10: load.csv cannot be read" in capsys.readouterr().err


def test_cells():
    assert [escaped(c) for c in ("=1", "+1", "-1", "@x", "\t=1", "plain", -1.5, None)] == [
        "'=1", "'+1", "'-1", "'@x", "'\t=1", "plain", -1.5, None]


def test_charts_hold_degenerate_data():
    assert lines("t", "x", []) == ""
    assert stacked("t", "x", []) == ""
    assert tornado("t", 1.0, [("a", 1.0, 1.0, "0", "1")]) == ""
    assert "svg" in lines("t", "x", [("flat", [(0.0, 0.0), (1.0, 0.0)])])
    assert ticks(1.0, 1.0) == [1.0]
    assert [short(v) for v in (0.5, 1500, 2e6, 3e9)] == ["0.5", "1.5k", "2M", "3B"]


def test_a_report_without_a_plan():
    page = report({"name": "n", "horizon_months": 1, "months_per_period": 1, "as_of": None, "missing": [
        {"fact": "model", "why": "it matters"}]})
    assert "it matters" in page
