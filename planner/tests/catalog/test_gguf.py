"""GGUF fronts written by the reference package, read back as models; hostile fronts refused."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFWriter

from planner.catalog.importers.gguf import read_gguf, read_gguf_path
from planner.catalog.importers.gguf_reader import TYPES, read_front
from planner.core.architecture.cache import elements_per_token
from planner.core.architecture.parameters import count_parameters
from planner.core.architecture.parts import Module
from planner.core.errors import AdapterError, MissingFact

_HIDDEN, _WIDTH, _VOCABULARY = 256, 512, 1000


def _writer(path: Path, architecture: str, *, layers: int = 2, experts: int = 0) -> GGUFWriter:
    writer = GGUFWriter(path, architecture)
    writer.add_block_count(layers)
    writer.add_context_length(4096)
    writer.add_embedding_length(_HIDDEN)
    writer.add_feed_forward_length(_WIDTH)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_token_list([f"t{i}" for i in range(_VOCABULARY)])
    if experts:
        writer.add_expert_count(experts)
        writer.add_expert_used_count(2)
    return writer


def _tensor(writer: GGUFWriter, name: str, rows: int, columns: int, kind: GGMLQuantizationType) -> None:
    _, block, size = TYPES[int(kind)]
    data = np.zeros((rows, columns // block * size), dtype=np.uint8)
    if kind in (GGMLQuantizationType.F32, GGMLQuantizationType.F16):
        writer.add_tensor(name, np.zeros((rows, columns), dtype=np.float32 if kind == 0 else np.float16))
    else:
        writer.add_tensor(name, data, raw_dtype=kind)


def _norm(writer: GGUFWriter, name: str) -> None:
    writer.add_tensor(name, np.zeros(_HIDDEN, dtype=np.float32))


def _finish(writer: GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _llama(path: Path, *, tied: bool = False, experts: int = 0) -> Path:
    writer = _writer(path, "llama", experts=experts)
    four, six = GGMLQuantizationType.Q4_K, GGMLQuantizationType.Q6_K
    _tensor(writer, "token_embd.weight", _VOCABULARY, _HIDDEN, four)
    if not tied:
        _tensor(writer, "output.weight", _VOCABULARY, _HIDDEN, six)
    _norm(writer, "output_norm.weight")
    for i in range(2):
        for name, rows in (("attn_q", 256), ("attn_k", 128), ("attn_v", 128), ("attn_output", 256)):
            _tensor(writer, f"blk.{i}.{name}.weight", rows, _HIDDEN, four)
        _norm(writer, f"blk.{i}.attn_norm.weight")
        _norm(writer, f"blk.{i}.ffn_norm.weight")
        if experts:
            _tensor(writer, f"blk.{i}.ffn_gate_inp.weight", experts, _HIDDEN, GGMLQuantizationType.F32)
        for name, rows, columns in (("ffn_gate", _WIDTH, _HIDDEN), ("ffn_up", _WIDTH, _HIDDEN),
                                    ("ffn_down", _HIDDEN, _WIDTH)):
            suffix = "_exps" if experts else ""
            _tensor(writer, f"blk.{i}.{name}{suffix}.weight", rows * max(1, experts), columns, four)
    _finish(writer)
    return path


@pytest.mark.parametrize("tied", [False, True])
def test_a_llama_file_counts_to_its_tensors(tmp_path: Path, tied: bool) -> None:
    found = read_gguf_path(_llama(tmp_path / "tiny.gguf", tied=tied))
    assert found.model.id == "tiny"
    assert found.unexplained_elements == 0
    assert count_parameters(found.model).total == found.elements
    assert found.model.tied_embeddings is tied
    assert elements_per_token(found.model) == 2 * 2 * 2 * 64
    assert found.model.scheme.of(Module.ATTENTION) == "gguf:q4_k"
    if not tied:
        assert found.model.scheme.of(Module.HEAD) == "gguf:q6_k"
        assert found.bytes_by_type["q6_k"] == _VOCABULARY * _HIDDEN // 256 * 210
    assert found.total_bytes == sum(found.bytes_by_module.values())


def test_experts_make_it_a_mixture(tmp_path: Path) -> None:
    found = read_gguf_path(_llama(tmp_path / "moe.gguf", experts=8))
    assert found.model.family == "mixtral"
    assert found.unexplained_elements == 0
    counts = count_parameters(found.model)
    assert counts.active < counts.total


def test_latent_attention_from_key_lengths(tmp_path: Path) -> None:
    writer = _writer(tmp_path / "ds.gguf", "deepseek2", experts=8)
    writer.add_kv_lora_rank(32)
    writer.add_rope_dimension_count(16)
    writer.add_key_length(48)
    writer.add_value_length(32)
    writer.add_key_length_mla(80)
    writer.add_value_length_mla(64)
    writer.add_expert_feed_forward_length(64)
    writer.add_expert_shared_count(1)
    writer.add_leading_dense_block_count(1)
    _tensor(writer, "token_embd.weight", _VOCABULARY, _HIDDEN, GGMLQuantizationType.F16)
    _finish(writer)
    found = read_gguf_path(tmp_path / "ds.gguf")
    assert elements_per_token(found.model) == 2 * (32 + 16)
    assert found.model.family == "deepseek_v2"


def test_unknown_architecture_is_refused(tmp_path: Path) -> None:
    writer = _writer(tmp_path / "x.gguf", "retnet")
    _norm(writer, "output_norm.weight")
    _finish(writer)
    with pytest.raises(MissingFact, match="retnet"):
        read_gguf_path(tmp_path / "x.gguf")
    with pytest.raises(AdapterError):
        read_gguf_path(tmp_path / "none.gguf")


def test_per_layer_heads_are_refused_not_averaged(tmp_path: Path) -> None:
    writer = _writer(tmp_path / "h.gguf", "llama")
    writer.add_array("llama.attention.head_count_kv_unused", [1, 2])
    writer.kv_data[0]["llama.attention.head_count_kv"].value = [1, 2]
    writer.kv_data[0]["llama.attention.head_count_kv"].type = writer.kv_data[0][
        "llama.attention.head_count_kv_unused"].type
    writer.kv_data[0]["llama.attention.head_count_kv"].sub_type = writer.kv_data[0][
        "llama.attention.head_count_kv_unused"].sub_type
    _norm(writer, "output_norm.weight")
    _finish(writer)
    with pytest.raises(MissingFact, match="layer to layer"):
        read_gguf_path(tmp_path / "h.gguf")


def _front(*, version: int = 3, tensors: int = 0, keys: int = 0, tail: bytes = b"") -> io.BytesIO:
    return io.BytesIO(b"GGUF" + struct.pack("<IQQ", version, tensors, keys) + tail)


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def _info(dimensions: list[int], kind: int) -> bytes:
    return _text("w") + struct.pack(f"<I{len(dimensions)}QIQ", len(dimensions), *dimensions, kind, 0)


@pytest.mark.parametrize("stream", [
    io.BytesIO(b""), io.BytesIO(b"GGML1234"), _front(version=9), _front(tensors=10**9), _front(keys=10**9),
    _front(keys=1), _front(keys=1, tail=struct.pack("<Q", 2**60)), _front(keys=1, tail=_text("k") + b"\x63\0\0\0"),
    _front(keys=1, tail=_text("k") + struct.pack("<IIQ", 9, 4, 2**40)),
    _front(keys=1, tail=_text("k") + struct.pack("<IIQ", 9, 77, 1)),
    _front(keys=1, tail=_text("k") + struct.pack("<IIQ", 9, 9, 1) * 6),
    _front(keys=1, tail=_text("k") + struct.pack("<IQ", 8, 2**40)),
    _front(tensors=1, tail=_info([8], 99)), _front(tensors=1, tail=_info([33], 2)),
    _front(tensors=1, tail=_text("w") + struct.pack("<I", 200)), _front(tensors=1, tail=_info([2**40, 2**40], 0)),
])
def test_hostile_fronts_are_refused(stream: io.BytesIO) -> None:
    with pytest.raises(AdapterError):
        read_front(stream)


def test_small_lists_are_kept_and_long_ones_only_measured() -> None:
    long = struct.pack("<IIQ", 9, 0, 5000) + b"\0" * 5000
    short = struct.pack("<IIQ", 9, 8, 1) + _text("a")
    nested = struct.pack("<IIQ", 9, 9, 1) + struct.pack("<IQ", 4, 1) + struct.pack("<I", 7)
    front = read_front(_front(keys=3, tail=_text("l") + long + _text("s") + short + _text("n") + nested))
    assert front.lengths == {"l": 5000, "s": 1, "n": 1}
    assert front.metadata == {"s": ["a"], "n": [[7]]}


def test_bytes_per_type_agree_with_the_reference_package() -> None:
    from gguf.constants import GGML_QUANT_SIZES  # noqa: PLC0415 - only here

    for kind, (block, size) in GGML_QUANT_SIZES.items():
        if int(kind) in TYPES:
            assert TYPES[int(kind)][1:] == (block, size), kind
    with pytest.raises(AdapterError):
        read_gguf(io.BytesIO(b"nope"), id="x")
