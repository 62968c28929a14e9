"""The importers, gathered for the import service."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from planner.catalog.importers.engine_log import read_engine_log
from planner.catalog.importers.gguf import read_gguf
from planner.catalog.importers.huggingface import read_config
from planner.catalog.importers.safetensors import WeightFiles, read_header, read_index
from planner.catalog.model_description import describe_model
from planner.services.imports import Readers

_LENGTH_BYTES = 8  # a safetensors file starts with the little-endian length of its header


def readers() -> Readers:
    """Every reader of users' files."""
    return Readers(config=lambda document, name: read_config(document, id=name), index=read_index, header=_header,
                   gguf=lambda stream: read_gguf(stream, id="imported"), log=read_engine_log, describe=describe_model)


def _header(document: Mapping[str, Any]) -> WeightFiles:
    text = json.dumps(document).encode()
    return read_header(len(text).to_bytes(_LENGTH_BYTES, "little") + text)
