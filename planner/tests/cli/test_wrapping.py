import io

import pytest
from rich.console import Console

from planner.cli.procurement_rows import Sheet
from planner.cli.procurement_tables import _fleet_lines, _table
from planner.cli.tables import table
from planner.cli.wrapping import EDGE, GAP, column_widths, folded

REPLICAS = Sheet(title="Replicas", heads=("workload", "SKU", "layout", "load each", "TPOT [s]", "limit"), rows=[
    ["autocomplete", "h200-sxm-141gb", "tp2 pp2 dp4", 1.234, 0.05, "kv_capacity"],
    ["nightly summaries", "rtx-pro-6000-blackwell-96gb", "tp1", 20.4, 0.02, "tpot"]])


def words(text):
    return set(text.replace("\n", " ").split())


@pytest.mark.parametrize("width", [60, 80, 120])
def test_tables_fit_and_break_no_word(width):
    screen = Console(width=width, record=True, file=io.StringIO())
    screen.print(_table(REPLICAS, width))
    shown = screen.export_text()
    assert max(len(line) for line in shown.splitlines()) <= width
    assert {"autocomplete", "nightly", "summaries", "[s]", "layout"} <= words(shown)
    for piece in ("sxm-", "141gb", "blackwell-", "96gb", "capacity"):
        assert piece in shown


def test_words_stay_whole_and_long_ones_break_where_they_are_joined():
    assert folded("h200-sxm-141gb purchase + h200-sxm-141gb on_demand", 14) == [
        "h200-sxm-141gb", "purchase +", "h200-sxm-141gb", "on_demand"]
    assert folded("h200-sxm-141gb", 9) == ["h200-sxm-", "141gb"]
    assert folded("request/s", 5) == ["request/s"]
    assert folded("decode.tokens_per_s", 10) == ["decode.", "tokens_", "per_s"]
    assert folded("12.345", 3) == ["12.345"]
    assert folded("", 5) == [""]


def test_widths_narrow_the_widest_first_and_keep_words_as_long_as_they_can():
    lines = [("a name of many words", "12"), ("h100-sxm-80gb", "3")]
    assert column_widths(lines, 80) == [20, 2]
    assert column_widths(lines, 15 + 2 * GAP + EDGE) == [13, 2]
    assert column_widths(lines, 9 + 2 * GAP + EDGE) == [7, 2]
    assert sum(column_widths(lines, 6)) == 2


@pytest.mark.parametrize("width", [60, 80, 200])
def test_any_table_takes_the_width_at_hand(width):
    rows = table("A sweep", "workload.concurrency", "serving.output_tokens_per_s", "cost.usd_per_million_output_tokens",
                 "fit.kv_capacity_tokens")
    rows.add_row("engine=vllm gpu=h100-sxm-80gb model=meta-llama/llama-3.1-70b", "12.34", "1,234", "123,456")
    screen = Console(width=width, record=True, file=io.StringIO())
    screen.print(rows)
    shown = screen.export_text()
    assert max(len(line) for line in shown.splitlines()) <= width
    assert "…" not in shown
    assert {"12.34", "1,234", "123,456"} <= words(shown)
    for piece in ("workload.", "concurrency", "million_", "capacity_", "h100-", "80gb", "meta-", "3.1-70b"):
        assert piece in shown


def test_one_unit_is_not_units():
    line = {"offer": "node", "kind": "purchase", "gpus_per_unit": 1, "units_by_period": [1, 2]}
    assert "(purchase, 1 GPU each): 1 unit in the first period, 2 in the last, at most 2." in str(
        _fleet_lines({"plan": {"fleet": [line]}})[0])
