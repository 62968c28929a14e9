"""Exact weight bytes from safetensors: the index file of a sharded checkpoint, or the header of a file.

A header is at most 100 MB by the format's own rule; nothing beyond it is read, and every number in it is checked
against the others before it is believed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import BinaryIO

from planner.catalog.importers.tensor_names import module_of
from planner.core.errors import AdapterError, InvalidQuantity

MOST_HEADER_BYTES = 100_000_000  # MAX_HEADER_SIZE of the safetensors reference implementation
_MOST_TENSORS = 2_000_000
_MOST_DIMENSIONS = 16
_LARGEST = 2**53
# Bits per element of the format's dtype names (safetensors README and reference implementation).
_BITS = {"BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "I16": 16, "U16": 16, "F16": 16,
         "BF16": 16, "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64, "F4": 4,
         "F6_E2M3": 6, "F6_E3M2": 6}


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFiles:
    """What a checkpoint's tensors take on disk, which is what an engine loads."""

    total_bytes: int
    tensors: int
    files: int
    bytes_by_module: Mapping[str, int]
    """Empty where only an index is known."""
    bytes_by_dtype: Mapping[str, int]
    elements_by_dtype: Mapping[str, int]
    """Stored elements; packed formats hold several weights in one [1]."""


def read_index(document: Mapping[str, object]) -> WeightFiles:
    """The total of ``model.safetensors.index.json``: bytes, tensors and files, without formats."""
    metadata, names = document.get("metadata"), document.get("weight_map")
    size = metadata.get("total_size") if isinstance(metadata, Mapping) else None
    if not isinstance(names, Mapping) or not names:
        raise InvalidQuantity("A safetensors index needs a weight_map of tensor names to files.",
                              pointer="/weight_map")
    if len(names) > _MOST_TENSORS:
        raise InvalidQuantity(f"A weight_map of {len(names)} tensors is too long.", pointer="/weight_map")
    if isinstance(size, float) and size.is_integer():
        size = int(size)
    if isinstance(size, bool) or not isinstance(size, int) or not 0 < size < _LARGEST:
        raise InvalidQuantity("A safetensors index needs metadata.total_size in bytes.", pointer="/metadata/total_size")
    return WeightFiles(total_bytes=size, tensors=len(names), files=len({str(file) for file in names.values()}),
                       bytes_by_module={}, bytes_by_dtype={}, elements_by_dtype={})


def read_header(data: bytes) -> WeightFiles:
    """The tensors of one file, from its first bytes."""
    if len(data) < 8:
        raise AdapterError("A safetensors file starts with eight bytes of header length.")
    length = int.from_bytes(data[:8], "little")
    if not 2 <= length <= MOST_HEADER_BYTES:
        raise AdapterError(f"The safetensors header claims {length} bytes; at most {MOST_HEADER_BYTES} are allowed.")
    if len(data) < 8 + length:
        raise AdapterError(f"The safetensors header is cut: {len(data) - 8} of {length} bytes are there.")
    try:
        header = json.loads(data[8:8 + length])
    except (ValueError, RecursionError) as error:
        raise AdapterError(f"The safetensors header is not JSON: {error}.") from error
    if not isinstance(header, dict) or len(header) > _MOST_TENSORS:
        raise AdapterError("The safetensors header is not an object of tensors.")
    header.pop("__metadata__", None)
    return _summed(header.items(), files=1)


def read_stream(stream: BinaryIO) -> WeightFiles:
    """The tensors of an open file; only its header is read."""
    start = stream.read(8)
    length = int.from_bytes(start, "little") if len(start) == 8 else 0
    return read_header(start + stream.read(min(length, MOST_HEADER_BYTES + 1)))


def read_path(path: Path) -> WeightFiles:
    """The tensors of a file or of every ``*.safetensors`` in a folder."""
    files = sorted(path.glob("*.safetensors")) if path.is_dir() else [path]
    if not files:
        raise AdapterError(f"{path} holds no .safetensors file.")
    parts = []
    for file in files:
        try:
            with file.open("rb") as stream:
                parts.append(read_stream(stream))
        except OSError as error:
            raise AdapterError(f"{file.name}: {error}") from error
    return merged(parts)


def merged(parts: Iterable[WeightFiles]) -> WeightFiles:
    """Several files as one checkpoint."""
    files, tensors = 0, 0
    modules: Counter[str] = Counter()
    dtypes: Counter[str] = Counter()
    elements: Counter[str] = Counter()
    total = 0
    for part in parts:
        files, tensors, total = files + part.files, tensors + part.tensors, total + part.total_bytes
        modules.update(part.bytes_by_module)
        dtypes.update(part.bytes_by_dtype)
        elements.update(part.elements_by_dtype)
    return WeightFiles(total_bytes=total, tensors=tensors, files=files, bytes_by_module=dict(modules),
                       bytes_by_dtype=dict(dtypes), elements_by_dtype=dict(elements))


def _summed(tensors: Iterable[tuple[str, object]], *, files: int) -> WeightFiles:
    modules: Counter[str] = Counter()
    dtypes: Counter[str] = Counter()
    elements: Counter[str] = Counter()
    count = 0
    for name, entry in tensors:
        dtype, number, size = _tensor(name, entry)
        modules[module_of(name)] += size
        dtypes[dtype] += size
        elements[dtype] += number
        count += 1
    return WeightFiles(total_bytes=sum(dtypes.values()), tensors=count, files=files, bytes_by_module=dict(modules),
                       bytes_by_dtype=dict(dtypes), elements_by_dtype=dict(elements))


def _tensor(name: str, entry: object) -> tuple[str, int, int]:
    """Dtype, elements and bytes of one tensor, its offsets checked against its shape."""
    if not isinstance(entry, dict):
        raise AdapterError(f"Tensor {name[:80]!r} is not described by an object.")
    dtype, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if dtype not in _BITS:
        raise AdapterError(f"Tensor {name[:80]!r} has the unknown dtype {str(dtype)[:20]!r}.")
    if not isinstance(shape, list) or len(shape) > _MOST_DIMENSIONS or not all(_whole(side) for side in shape):
        raise AdapterError(f"Tensor {name[:80]!r} has no valid shape.")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(_whole(offset) for offset in offsets):
        raise AdapterError(f"Tensor {name[:80]!r} has no valid data_offsets.")
    number = prod(shape)
    size = offsets[1] - offsets[0]
    if number > _LARGEST or size != -(-number * _BITS[dtype] // 8):
        raise AdapterError(f"Tensor {name[:80]!r}: {size} bytes do not hold {shape} elements of {dtype}.")
    return str(dtype), number, size


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST
