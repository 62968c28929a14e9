"""Why a way lost, in words and in dollars that add up."""

import json
import re
from pathlib import Path

import pytest

from planner.cli.main import main

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize("name", ["head_count", "rent_or_buy", "shared_fleet"])
def test_drivers_add_up_to_the_difference_that_is_named(name, capsys):
    assert main(["whatif", str(EXAMPLES / f"{name}.toml"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    best = next(row for row in answer["options"] if row["id"] == answer["best"])
    told = 0
    for row in answer["options"]:
        if row is best or not row["works"] or not row.get("attribution_usd"):
            continue
        dearer = row["total_usd"] - best["total_usd"]
        assert sum(row["attribution_usd"].values()) == pytest.approx(dearer, abs=0.1 * len(row["attribution_usd"]))
        said = re.search(r"before discounting ([+-][\d,]+)", row["why"])
        assert float(said[1].replace(",", "")) == pytest.approx(dearer, abs=1.0)
        told += 1
    assert told >= 1
