import json

from typer.testing import CliRunner

from planner.cli.commands.skus import app

RUN = CliRunner()


def test_list_prints_every_sku_and_can_be_narrowed():
    everything = json.loads(RUN.invoke(app, ["list", "--json"]).stdout)["items"]
    amd = json.loads(RUN.invoke(app, ["list", "--vendor", "amd", "--json"]).stdout)["items"]
    assert len(everything) >= 62
    assert 0 < len(amd) < len(everything)
    table = RUN.invoke(app, ["list", "--vendor", "google"])
    assert table.exit_code == 0
    assert "tpu-v6e-32gb" in table.stdout


def test_show_names_every_source_of_an_aliased_sku():
    record = json.loads(RUN.invoke(app, ["show", "H100", "--json"]).stdout)
    assert record["id"] == "h100-sxm-80gb"
    assert record["provenance"]["memory_basis"] == "runtime"
    assert record["link_bytes_per_s"] == 450e9
    text = RUN.invoke(app, ["show", "v100-sxm-16gb"]).stdout
    for part in ("bandwidth", "peak fp16", "source", "conflict"):
        assert part in text


def test_a_part_without_links_shows_none():
    record = json.loads(RUN.invoke(app, ["show", "m4-max", "--json"]).stdout)
    assert record["links"] == {"scale_up": None, "host": None, "network": None}
    assert RUN.invoke(app, ["list", "--vendor", "apple"]).exit_code == 0
