"""`planner models` as a person types it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from planner.catalog.models import built_in_models
from planner.cli.commands.models import app
from planner.core.errors import AdapterError, InvalidQuantity, MissingFact

_RUNNER = CliRunner()


def _json(*arguments: str) -> Any:
    result = _RUNNER.invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_list_filters_by_family_and_text() -> None:
    rows = _json("list", "--family", "gpt-oss")["items"]
    assert [row["id"] for row in rows] == ["openai/gpt-oss-120b", "openai/gpt-oss-20b"]
    assert rows[0]["parameters"] == 116_829_156_672
    assert rows[0]["weights"] == "bf16 + mxfp4"
    found = _RUNNER.invoke(app, ["list", "--q", "llama-3.1-70b"])
    assert "70.6 B" in found.stdout


def test_show_resolves_names_and_says_what_counts() -> None:
    shown = _json("show", "deepseek-v3")
    assert shown["parameters"]["total"] == 671_026_419_200
    assert shown["parameters"]["components"]["mtp"] == 11_610_068_224
    assert shown["kv_bytes_per_token"]["bf16"] == 70_272
    text = _RUNNER.invoke(app, ["show", "qwen3-32b"]).stdout
    assert "32,762,123,264" in text
    assert "GQA" in text


def test_import_a_config(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(built_in_models().record("meta-llama/llama-3.1-8b")["config"]), encoding="utf-8")
    assert _json("import", str(path))["parameters"]["total"] == 8_030_261_248
    assert "8,030,261,248" in _RUNNER.invoke(app, ["import", str(path)]).stdout


def test_import_weights(tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 16}, "weight_map": {"a": "b"}}), encoding="utf-8")
    assert _json("import", str(index))["files"]["total_bytes"] == 16
    header = json.dumps({"lm_head.weight": {"dtype": "BF16", "shape": [4, 2], "data_offsets": [0, 16]}}).encode()
    (tmp_path / "m.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    assert _json("import", str(tmp_path / "m.safetensors"))["files"]["bytes_by_module"] == {"head": 16}
    assert "16.0 B" in _RUNNER.invoke(app, ["import", str(tmp_path)]).stdout


@pytest.mark.parametrize(("content", "error"), [
    ("not json", AdapterError), ("[1]", InvalidQuantity), ('{"model_type": "retnet"}', MissingFact)])
def test_import_refuses_what_it_cannot_read(tmp_path: Path, content: str, error: type[Exception]) -> None:
    path = tmp_path / "config.json"
    path.write_text(content, encoding="utf-8")
    assert isinstance(_RUNNER.invoke(app, ["import", str(path)]).exception, error)
    assert isinstance(_RUNNER.invoke(app, ["import", str(tmp_path / "none.json")]).exception, AdapterError)


def test_check_recounts_everything() -> None:
    found = _json("check")
    assert found["problems"] == []
    assert found["models"] == len(built_in_models().ids())
    assert found["exact"] + len(found["mismatches"]) + found["unpublished"] == found["models"]
    assert all(row["explanation"] for row in found["mismatches"])
    assert found["seconds"] > 0
    assert "equal the published total to the unit" in _RUNNER.invoke(app, ["check"]).stdout
