"""Importing what users have: a config.json, a weight index, a GGUF file, a start-up log."""

from __future__ import annotations

import io
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request, Response

from planner.api.bodies import JsonRoute
from planner.api.dependencies import Services, Who, json_answer, problems
from planner.core.errors import InvalidQuantity
from planner.core.quantities.units import GIB
from planner.schemas.imports import EngineLogAnswer, EngineLogRequest, ModelFilesAnswer, WeightFilesAnswer
from planner.services.imports import learned_profile

router = APIRouter(prefix="/v1/import", tags=["import"], route_class=JsonRoute)
files = APIRouter(prefix="/v1/import", tags=["import"])
_Id = Annotated[str, Query(max_length=200, description="A name for it in the answer.")]
_GGUF_MEDIA = "application/octet-stream"


@router.post("/hf-config", operation_id="import_hf_config", response_model=ModelFilesAnswer, responses=problems())
async def hf_config(planner: Services, body: Annotated[dict[str, Any], Body()]) -> Response:
    """Read a Hugging Face config.json, as it is or as {"id", "config"}: parameters, cache per token, layers, formats.

    A field that could change the answer and is not understood is refused by name.
    """
    config, name = body, "imported"
    if isinstance(body.get("config"), dict) and not {"model_type", "architectures"} & set(body):
        config, name = body["config"], str(body.get("id") or name)
    return json_answer(planner.imports.config(config, name))


@router.post("/safetensors-index", operation_id="import_safetensors_index", response_model=WeightFilesAnswer,
             responses=problems())
async def safetensors_index(planner: Services, body: Annotated[dict[str, Any], Body()]) -> Response:
    """Read a model.safetensors.index.json, or the JSON header of a safetensors file: exact bytes as loaded."""
    return json_answer(planner.imports.weights(body))


@files.post("/gguf", operation_id="import_gguf", response_model=ModelFilesAnswer, responses=problems(),
            openapi_extra={"requestBody": {"required": True, "content": {
                _GGUF_MEDIA: {"schema": {"type": "string", "format": "binary"}}}}})
async def gguf(request: Request, planner: Services, id: _Id = "imported") -> Response:
    """Read the front of a GGUF file (its metadata and tensor list; the first 64 MB are enough): formats by tensor."""
    raw = await request.body()
    if not raw:
        raise InvalidQuantity("The body is empty; send the first bytes of a .gguf file.", pointer="")
    return json_answer({**planner.imports.gguf(io.BytesIO(raw)), "id": id})


@router.post("/engine-log", operation_id="import_engine_log", response_model=EngineLogAnswer,
             responses=problems(404, 409))
async def engine_log(body: EngineLogRequest, planner: Services, who: Who) -> Response:
    """Read a start-up log of vLLM, SGLang or TensorRT-LLM: its capacity, observed against predicted, line by line.

    learned is the reserve the log implies for this engine on this GPU beside the predicted one; save_as keeps it as a
    calibration that plans can name.
    """
    given = {"model": body.model, "gpu": body.sku, "weight_dtype": body.weights, "mem_util": body.memory_utilization,
             "max_num_seqs": body.max_num_seqs, "max_num_batched_tokens": body.max_num_batched_tokens,
             "total_gpu_gib": None if body.memory_bytes is None else body.memory_bytes / GIB}
    answer = planner.imports.log(body.text, {k: str(v) for k, v in given.items() if v is not None}, who.workspace)
    if body.save_as is not None:
        planner.resources.create("calibration", who, learned_profile(answer, body.save_as), None)
    return json_answer(answer)
