"""The front of a GGUF file: its metadata and its tensor list, read with bounds and without the weights.

References
----------
ggml, docs/gguf.md (versions 2 and 3: little-endian counts, typed key-value pairs, tensor infos); ggml-common.h (block
sizes and bytes of each tensor type).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import BinaryIO

from planner.core.errors import AdapterError

_MOST_BYTES = 256 * 2**20  # token lists of the largest vocabularies stay below 16 MB
_MOST_TENSORS = 1_000_000
_MOST_KEYS = 65_536
_LONGEST_KEY = 65_535  # gguf.md
_LONGEST_TEXT = 2**20 * 4
_LONGEST_LIST = 2**24
_KEPT_LIST = 4096  # longer lists are vocabularies: only their length is kept
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_TEXT, _LIST = 8, 9
# type id → (name, elements per block, bytes per block); ggml.h and ggml-common.h.
TYPES: Mapping[int, tuple[str, int, int]] = {
    0: ("f32", 1, 4), 1: ("f16", 1, 2), 2: ("q4_0", 32, 18), 3: ("q4_1", 32, 20), 6: ("q5_0", 32, 22),
    7: ("q5_1", 32, 24), 8: ("q8_0", 32, 34), 10: ("q2_k", 256, 84), 11: ("q3_k", 256, 110),
    12: ("q4_k", 256, 144), 13: ("q5_k", 256, 176), 14: ("q6_k", 256, 210),
    16: ("iq2_xxs", 256, 66), 17: ("iq2_xs", 256, 74), 18: ("iq3_xxs", 256, 98), 19: ("iq1_s", 256, 50),
    20: ("iq4_nl", 32, 18), 21: ("iq3_s", 256, 110), 22: ("iq2_s", 256, 82), 23: ("iq4_xs", 256, 136),
    24: ("i8", 1, 1), 25: ("i16", 1, 2), 26: ("i32", 1, 4), 27: ("i64", 1, 8), 28: ("f64", 1, 8),
    29: ("iq1_m", 256, 56), 30: ("bf16", 1, 2), 34: ("tq1_0", 256, 54), 35: ("tq2_0", 256, 66), 39: ("mxfp4", 32, 17),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufTensor:
    """One tensor of the list."""

    name: str
    shape: tuple[int, ...]
    type: str
    elements: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufFront:
    """Metadata and tensors; long lists are represented by their length."""

    metadata: Mapping[str, object]
    lengths: Mapping[str, int]
    """Length of every list."""
    tensors: tuple[GgufTensor, ...]


class _Bounded:
    """Reads a stream, and refuses to read more than a front can need."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._left = _MOST_BYTES

    def take(self, count: int) -> bytes:
        """Exactly ``count`` bytes."""
        if count > self._left:
            raise AdapterError("The GGUF front is larger than any real one.")
        data = self._stream.read(count)
        if len(data) != count:
            raise AdapterError("The GGUF file ends inside its front.")
        self._left -= count
        return data

    def number(self, form: str) -> int:
        """One whole number."""
        return int(struct.unpack(form, self.take(struct.calcsize(form)))[0])

    def text(self, longest: int) -> str:
        """One length-prefixed string."""
        length = self.number("<Q")
        if length > longest:
            raise AdapterError(f"A GGUF string claims {length} bytes; at most {longest} are allowed.")
        return self.take(length).decode("utf-8", errors="replace")


def read_front(stream: BinaryIO) -> GgufFront:
    """The metadata and tensor list at the start of a GGUF file."""
    source = _Bounded(stream)
    if source.take(4) != b"GGUF":
        raise AdapterError("Not a GGUF file: the first four bytes are not GGUF.")
    version = source.number("<I")
    if version not in (2, 3):
        raise AdapterError(f"GGUF version {version} is not supported; known: 2 and 3, little-endian.")
    tensors, keys = source.number("<Q"), source.number("<Q")
    if tensors > _MOST_TENSORS or keys > _MOST_KEYS:
        raise AdapterError(f"The GGUF file claims {tensors} tensors and {keys} keys, more than any real one.")
    metadata: dict[str, object] = {}
    lengths: dict[str, int] = {}
    for _ in range(keys):
        key = source.text(_LONGEST_KEY)
        kind = source.number("<I")
        if kind == _LIST:
            lengths[key], values = _list(source, depth=0)
            if values is not None:
                metadata[key] = values
        else:
            metadata[key] = _scalar(source, kind)
    return GgufFront(metadata=metadata, lengths=lengths, tensors=tuple(_tensor(source) for _ in range(tensors)))


def _scalar(source: _Bounded, kind: int) -> object:
    if kind == _TEXT:
        return source.text(_LONGEST_TEXT)
    form = _SCALARS.get(kind)
    if form is None:
        raise AdapterError(f"A GGUF value has the unknown type {kind}.")
    return struct.unpack(form, source.take(struct.calcsize(form)))[0]


def _list(source: _Bounded, *, depth: int) -> tuple[int, list[object] | None]:
    """Length, and the values where there are few."""
    kind, length = source.number("<I"), source.number("<Q")
    if length > _LONGEST_LIST or depth > 2:
        raise AdapterError(f"A GGUF list of {length} entries is longer than any real one.")
    if kind == _LIST:
        return length, [_list(source, depth=depth + 1)[1] for _ in range(length)]
    if kind in _SCALARS:
        form = _SCALARS[kind]
        data = source.take(struct.calcsize(form) * length)
        return length, None if length > _KEPT_LIST else [value for value, in struct.iter_unpack(form, data)]
    if kind != _TEXT:
        raise AdapterError(f"A GGUF list has the unknown element type {kind}.")
    texts: list[object] = []
    for _ in range(length):
        text = source.text(_LONGEST_TEXT)
        if length <= _KEPT_LIST:
            texts.append(text)
    return length, texts if length <= _KEPT_LIST else None


def _tensor(source: _Bounded) -> GgufTensor:
    name = source.text(_LONGEST_KEY)
    dimensions = source.number("<I")
    if dimensions > 8:
        raise AdapterError(f"Tensor {name[:80]!r} claims {dimensions} dimensions.")
    shape = tuple(source.number("<Q") for _ in range(dimensions))
    kind = source.number("<I")
    source.number("<Q")  # offset: the weights themselves are never read
    if kind not in TYPES:
        raise AdapterError(f"Tensor {name[:80]!r} has the unknown type {kind}.")
    form, block, size = TYPES[kind]
    elements = prod(shape)
    if elements > 2**53 or (shape and shape[0] % block):
        raise AdapterError(f"Tensor {name[:80]!r} of {shape} is not whole blocks of {form}.")
    return GgufTensor(name=name, shape=shape, type=form, elements=elements, bytes=elements // block * size)
