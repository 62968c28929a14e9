"""Exact weight bytes from safetensors fronts, and hostile fronts refused."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from planner.catalog.importers.safetensors import read_header, read_index, read_path, read_stream
from planner.catalog.importers.tensor_names import module_of
from planner.core.errors import AdapterError, InvalidQuantity


def _file(tensors: dict[str, Any], tail: bytes = b"") -> bytes:
    header = json.dumps(tensors).encode()
    return len(header).to_bytes(8, "little") + header + tail


def _tensors() -> dict[str, Any]:
    return {
        "__metadata__": {"format": "pt"},
        "model.embed_tokens.weight": {"dtype": "BF16", "shape": [8, 4], "data_offsets": [0, 64]},
        "model.layers.0.self_attn.q_proj.weight": {"dtype": "F8_E4M3", "shape": [4, 4], "data_offsets": [64, 80]},
        "model.layers.0.mlp.experts.0.down_proj.weight": {"dtype": "F4", "shape": [4, 4], "data_offsets": [80, 88]},
        "model.norm.weight": {"dtype": "F32", "shape": [], "data_offsets": [88, 92]},
    }


def test_bytes_by_module_and_dtype() -> None:
    found = read_header(_file(_tensors(), b"\0" * 92))
    assert (found.total_bytes, found.tensors, found.files) == (92, 4, 1)
    assert found.bytes_by_module == {"embedding": 64, "attention": 16, "experts": 8, "norm": 4}
    assert found.bytes_by_dtype == {"BF16": 64, "F8_E4M3": 16, "F4": 8, "F32": 4}
    assert found.elements_by_dtype["F4"] == 16


def test_a_folder_is_one_checkpoint(tmp_path: Path) -> None:
    for name in ("a.safetensors", "b.safetensors"):
        (tmp_path / name).write_bytes(_file(_tensors(), b"\0" * 92))
    found = read_path(tmp_path)
    assert (found.total_bytes, found.tensors, found.files) == (184, 8, 2)
    assert read_path(tmp_path / "a.safetensors").total_bytes == 92
    with pytest.raises(AdapterError, match=r"no \.safetensors"):
        read_path(tmp_path / "empty" if (tmp_path / "empty").mkdir() is None else tmp_path)
    with pytest.raises(AdapterError, match="missing"):
        read_path(tmp_path / "missing.safetensors")


def test_index() -> None:
    found = read_index({"metadata": {"total_size": 141107412992.0},
                        "weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})
    assert (found.total_bytes, found.tensors, found.files) == (141_107_412_992, 2, 2)


@pytest.mark.parametrize(("index", "pointer"), [
    ({}, "/weight_map"), ({"weight_map": {}}, "/weight_map"), ({"weight_map": [1]}, "/weight_map"),
    ({"weight_map": {"a": "b"}}, "/metadata/total_size"),
    ({"weight_map": {"a": "b"}, "metadata": {"total_size": -1}}, "/metadata/total_size"),
    ({"weight_map": {"a": "b"}, "metadata": {"total_size": True}}, "/metadata/total_size"),
    ({"weight_map": {"a": "b"}, "metadata": {"total_size": 1e300}}, "/metadata/total_size"),
])
def test_a_bad_index_is_refused_by_field(index: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidQuantity) as caught:
        read_index(index)
    assert caught.value.pointer == pointer


@pytest.mark.parametrize("data", [
    b"", b"1234567", (10**12).to_bytes(8, "little"), (1).to_bytes(8, "little") + b"{", _file({})[:-1],
    (5).to_bytes(8, "little") + b"hello", (2).to_bytes(8, "little") + b"[]",
    (200_000).to_bytes(8, "little") + b"[" * 200_000,
])
def test_a_bad_front_is_refused(data: bytes) -> None:
    with pytest.raises(AdapterError):
        read_header(data)


@pytest.mark.parametrize("entry", [
    5, {"dtype": "F7", "shape": [1], "data_offsets": [0, 1]}, {"dtype": "U8", "shape": [-1], "data_offsets": [0, 1]},
    {"dtype": "U8", "shape": "1", "data_offsets": [0, 1]}, {"dtype": "U8", "shape": [1], "data_offsets": [0]},
    {"dtype": "U8", "shape": [1] * 20, "data_offsets": [0, 1]}, {"dtype": "U8", "shape": [2], "data_offsets": [0, 1]},
    {"dtype": "U8", "shape": [2**50, 2**50], "data_offsets": [0, 1]},
    {"dtype": "U8", "shape": [True], "data_offsets": [0, 1]},
])
def test_a_bad_tensor_is_named(entry: Any) -> None:
    with pytest.raises(AdapterError, match="weird"):
        read_header(_file({"weird": entry}))


def test_a_stream_reads_no_further_than_its_header() -> None:
    class Counting(io.BytesIO):
        taken = 0

        def read(self, size: int | None = -1) -> bytes:
            data = super().read(size)
            self.taken += len(data)
            return data

    stream = Counting(_file(_tensors(), b"\0" * 10_000_000))
    read_stream(stream)
    assert stream.taken < 2000
    with pytest.raises(AdapterError):
        read_stream(io.BytesIO(b"abc"))


@pytest.mark.parametrize(("name", "kind"), [
    ("lm_head.weight", "head"), ("model.layers.3.mlp.shared_experts.up_proj.weight", "shared_experts"),
    ("model.layers.3.mlp.gate.weight", "router"), ("model.layers.3.mlp.gate_proj.weight", "mlp"),
    ("model.layers.3.mlp.experts.7.gate_proj.weight", "experts"), ("visual.blocks.0.attn.qkv.weight", "vision"),
    ("mtp.layers.0.mlp.up_proj.weight", "mtp"), ("blk.3.ffn_gate_exps.weight", "experts"),
    ("blk.3.ffn_gate_inp.weight", "router"), ("token_embd.weight", "embedding"), ("output.weight", "head"),
    ("output_norm.weight", "norm"), ("transformer.h.0.attn.c_attn.weight", "attention"), ("foo", "other"),
    ("backbone.layers.0.mixer.in_proj.weight", "attention"), ("audio_tower.conv.weight", "audio"),
])
def test_module_names(name: str, kind: str) -> None:
    assert module_of(name) == kind
