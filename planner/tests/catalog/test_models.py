"""The model catalogue: lazy, complete, every error at once; and the library services read it through."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planner.catalog.check import check_models
from planner.catalog.loader import catalog_root
from planner.catalog.model_description import describe_model
from planner.catalog.model_library import ModelLibrary
from planner.catalog.models import ModelCatalog, built_in_models, record_problems, towers_of
from planner.core.architecture.model import Model, ModelCard
from planner.core.errors import AdapterError, InvalidQuantity, MissingFact, NotFound
from planner.services.ports import Entry
from planner.tests.effort import lines

_LLAMA = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
          "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 256}
_CARD = {"params": 7e9, "layers": 32, "kv_heads": 8, "head_dim": 128, "vocab": 32000}


def _record(**changes: Any) -> dict[str, Any]:
    return {"id": "Org/Name", "family": "llama", "config": _LLAMA, "parameters": {"published_total": None},
            "provenance": {"confidence": "high", "sources": ["x"]}, **changes}


def _catalog(folder: Path, **files: Any) -> ModelCatalog:
    for name, record in files.items():
        path = folder / "models" / "org" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(record if isinstance(record, str) else json.dumps(record), encoding="utf-8")
    return ModelCatalog(folder)


def test_the_whole_catalogue_reads() -> None:
    catalog = built_in_models()
    assert catalog.problems() == []
    assert len(catalog.models()) == len(catalog.ids()) >= 174
    assert catalog.ids() == tuple(sorted(catalog.ids()))
    assert all(model_id == model_id.lower() for model_id in catalog.ids())


def test_every_file_says_where_it_comes_from() -> None:
    for model_id in built_in_models().ids():
        about = built_in_models().record(model_id)["provenance"]
        assert about["sources"]
        assert about["confidence"] in {"high", "medium", "low"}
        assert isinstance(about["verbatim"], bool)


def test_listing_parses_no_model() -> None:
    code = ("import sys; from planner.catalog.models import built_in_models; built_in_models().aliases(); "
            "print(any('huggingface' in name or name == 'numpy' for name in sys.modules))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


class _Counted(ModelCatalog):
    """Counts the files it reads."""

    def __init__(self) -> None:
        super().__init__(catalog_root())
        self.read: list[str] = []

    def _read(self, model_id: str) -> Any:
        self.read.append(model_id)
        return super()._read(model_id)


def test_one_model_reads_one_file() -> None:
    built_in_models().model("qwen/qwen3-8b")  # imports done
    fresh = _Counted()
    assert lines(lambda: fresh.model("qwen/qwen3-32b")) < 3_000
    assert fresh.model("qwen/qwen3-32b") is fresh.model("qwen/qwen3-32b")
    assert fresh.read == ["qwen/qwen3-32b"]


def test_a_recount_reads_every_file_once() -> None:
    fresh = _Counted()
    assert check_models(fresh).models == len(fresh.ids())
    assert fresh.read == list(fresh.ids())


def test_every_error_of_every_file_is_reported_at_once(tmp_path: Path) -> None:
    catalog = _catalog(tmp_path, name=_record(), broken="{", other=_record(),
                       odd=_record(id="org/odd", config={**_LLAMA, "strange_field": 4}),
                       thin={"id": "org/thin", "extra": 1}, listed="[]")
    problems = catalog.problems()
    assert len(problems) == 5
    text = " ".join(problems)
    for part in ("broken", "strange_field", "not the file's path", "unknown key extra", "config is required",
                 "not a JSON object"):
        assert part in text
    with pytest.raises(AdapterError, match=r"5 error\(s\)"):
        catalog.models()
    found = check_models(catalog)
    assert (found.models, found.unpublished, len(found.problems)) == (1, 1, 5)


def test_unknown_ids_are_not_found() -> None:
    with pytest.raises(NotFound):
        built_in_models().record("org/none")


def test_towers_need_a_basis() -> None:
    tower = {"name": "vision", "kind": "vision", "parameters": 5, "basis": "card"}
    assert record_problems(_record(towers=[tower]), "org/name") == []
    assert record_problems(_record(towers=[{**tower, "basis": ""}]), "org/name")
    assert record_problems(_record(towers=[{"name": "vision"}]), "org/name")
    assert towers_of({"towers": [tower]})[0].parameters == 5


def test_the_library_speaks_the_port() -> None:
    library = ModelLibrary(built_in_models())
    assert "meta-llama/llama-3.1-70b" in library.ids()
    assert library.title("meta-llama/llama-3.1-70b") == "meta-llama/Llama-3.1-70B"
    assert library.document("meta-llama/llama-3.1-70b")["provenance"]["confidence"] == "high"
    assert isinstance(library.value("meta-llama/llama-3.1-70b"), Model)
    own = Entry(kind="model", id="mine/one", document={"aliases": ["uno"]})
    names = library.names([own])
    assert names.resolve("uno").id == "mine/one"
    assert names.resolve("Meta-Llama/Llama-3.1-70B").id == "meta-llama/llama-3.1-70b"


def test_a_users_config_or_card() -> None:
    library = ModelLibrary(built_in_models())
    read = library.read("mine/x", {"config": _LLAMA})
    assert isinstance(read, Model)
    card = library.read("mine/y", {**_CARD, "active_params": 1e9})
    assert card == ModelCard(id="mine/y", params=7e9, layers=32, kv_heads=8, head_dim=128, vocabulary=32000,
                             active_params=1e9)
    assert library.describe(card)["kv_bytes_per_token"]["bf16"] == 131_072
    assert library.describe(read)["parameters"]["total"] > 0


@pytest.mark.parametrize(("changes", "error", "pointer"), [
    ({"params": None}, MissingFact, "/params"), ({"layers": 1.5}, InvalidQuantity, "/layers"),
    ({"kv_heads": 0}, InvalidQuantity, "/kv_heads"), ({"head_dim": "128"}, InvalidQuantity, "/head_dim"),
    ({"vocab": True}, InvalidQuantity, "/vocab"), ({"params": float("nan")}, InvalidQuantity, "/params"),
    ({"active_params": 8e9}, InvalidQuantity, "/active_params"),
])
def test_a_bad_card_is_refused_by_field(changes: dict[str, Any], error: type[InvalidQuantity | MissingFact],
                                        pointer: str) -> None:
    with pytest.raises(error) as caught:
        ModelLibrary(built_in_models()).read("mine/y", {**_CARD, **changes})
    assert caught.value.pointer == pointer


def test_description_of_a_hybrid() -> None:
    found = describe_model(built_in_models().model("qwen/qwen3-next-80b-a3b-instruct"))
    assert {group["attention"]: group["count"] for group in found["layers"]} == {"gated DeltaNet": 36, "GQA": 12}
    assert found["kv_bytes_per_token"]["bf16"] == 12 * 2 * 2 * 256 * 2
    assert found["state_bytes_per_sequence"] > 0
    windowed = describe_model(built_in_models().model("openai/gpt-oss-20b"))
    assert windowed["kv_bytes_per_token"]["bf16"] == 2 * windowed["kv_bytes_per_further_token"]["bf16"]
    assert windowed["weights"] == {"default": "bf16", "experts": "mxfp4"}
