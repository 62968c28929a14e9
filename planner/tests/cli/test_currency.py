"""Scenarios in another currency: converted at their own rate, and said to be."""

from pathlib import Path

import pytest

from planner.cli.main import main

EXAMPLE = Path(__file__).parents[3] / "examples" / "rent_or_buy.toml"
RATE = '\n[exchange.EUR]\nusd = 1.1\ndate = "2026-11-01"\nsource = "bank"\n'
NOTE = "The scenario states money in EUR; every sum of this answer is in USD, at 1 EUR = 1.1 USD (2026-11-01, bank)."


@pytest.mark.parametrize("command", ["whatif", "fleet"])
def test_another_currency_is_said_to_be_converted(command, tmp_path, capsys):
    text = EXAMPLE.read_text(encoding="utf-8")
    scenario, page = tmp_path / "euros.toml", tmp_path / "page.html"
    scenario.write_text(text.replace('currency = "USD"', 'currency = "EUR"') + RATE, encoding="utf-8")
    assert main([command, str(scenario), "--html", str(page)]) == 0
    assert NOTE in " ".join(capsys.readouterr().out.split())
    assert NOTE in page.read_text(encoding="utf-8")
    assert main([command, str(EXAMPLE), "--html", str(page)]) == 0
    assert "states money in" not in capsys.readouterr().out + page.read_text(encoding="utf-8")
