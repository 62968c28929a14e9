import json

from planner.cli.main import main


def shown(capsys, *line):
    assert main(["skus", *line]) == 0
    return capsys.readouterr().out


def test_list_prints_every_sku_and_can_be_narrowed(capsys):
    everything = json.loads(shown(capsys, "list", "--json"))["items"]
    amd = json.loads(shown(capsys, "list", "--vendor", "amd", "--json"))["items"]
    assert len(everything) >= 62
    assert 0 < len(amd) < len(everything)
    assert "tpu-v6e-32gb" in shown(capsys, "list", "--vendor", "google")
    assert "rubin" in shown(capsys, "list")  # no published peak, still listed


def test_show_names_every_source_of_an_aliased_sku(capsys):
    record = json.loads(shown(capsys, "show", "H100", "--json"))
    assert record["id"] == "h100-sxm-80gb"
    assert record["provenance"]["memory_basis"] == "runtime"
    assert record["link_bytes_per_s"] == 450e9
    text = shown(capsys, "show", "v100-sxm-16gb")
    for part in ("bandwidth", "peak fp16", "source", "conflict"):
        assert part in text


def test_a_part_without_links_shows_none(capsys):
    assert "scale-up" not in shown(capsys, "show", "m4-max")


def test_an_unknown_sku_is_refused_with_candidates(capsys):
    assert main(["skus", "show", "h1000"]) == 2
    assert "h100" in capsys.readouterr().err


def test_ones_own_sku_is_listed_beside_the_built_in(capsys, tmp_path, monkeypatch):
    from planner.bootstrap import Planner  # noqa: PLC0415 - opens a database
    from planner.config import settings  # noqa: PLC0415 - as above
    from planner.services.ports import Caller  # noqa: PLC0415 - as above

    monkeypatch.setenv("PLANNER_DATABASE_URL", f"sqlite:///{tmp_path / 'own.sqlite3'}")
    planner = Planner(settings())
    planner.upgrade()
    planner.resources.create("sku", Caller(), {
        "id": "acme-1", "name": "Acme 1", "vendor": "acme", "memory_bytes": 8e10, "bandwidth_bytes_per_s": 2e12,
        "peak_flop_per_s": {"bf16": 1e15}}, None)
    planner.close()
    assert "acme-1" in shown(capsys, "list", "--vendor", "acme")
    assert "none" in shown(capsys, "show", "acme-1")
