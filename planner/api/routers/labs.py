"""The labs: roofline, diagnosis, GEMM, fusion, attention, layer budget, optimizer step, LM head."""

from __future__ import annotations

from fastapi import APIRouter, Response

from planner.api.bodies import JsonRoute
from planner.api.dependencies import Services, Who, json_answer, problems
from planner.schemas.labs import (
    AttentionAnswer,
    AttentionRequest,
    DiagnoseAnswer,
    DiagnoseRequest,
    FusionAnswer,
    FusionRequest,
    GemmAnswer,
    GemmRequest,
    HeadAnswer,
    HeadRequest,
    LayerAnswer,
    LayerRequest,
    OptimizerAnswer,
    OptimizerRequest,
    RooflineAnswer,
    RooflineRequest,
)

router = APIRouter(prefix="/v1", tags=["labs"], route_class=JsonRoute)


@router.post("/roofline", operation_id="roofline", response_model=RooflineAnswer, responses=problems(404, 409))
async def roofline(body: RooflineRequest, planner: Services, who: Who) -> Response:
    """Place an intensity, or a kernel's work and traffic, under the roof of one boundary of a chip.

    boundary is memory (hbm), l2, shared_memory (smem), registers, scale_up (nvlink), host (pcie) or network; overlap
    "none" adds memory and arithmetic instead of taking the slower. On-chip rates are estimates and say so.
    """
    return json_answer(planner.labs.roofline(body.model_dump(), who.workspace))


@router.post("/diagnose", operation_id="diagnose", response_model=DiagnoseAnswer, responses=problems(404, 409))
async def diagnose(body: DiagnoseRequest, planner: Services, who: Who) -> Response:
    """Say where a measured kernel sits under the roof, what explains the gap, and which changes help or cannot.

    The more is given (launches, algorithmic bytes, grid, bytes in flight, a measured copy), the less stays open.
    """
    return json_answer(planner.labs.diagnose(body.model_dump(), who.workspace))


@router.post("/labs/gemm", operation_id="lab_gemm", response_model=GemmAnswer, responses=problems(404, 409))
async def gemm(body: GemmRequest, planner: Services, who: Who) -> Response:
    """Count a matrix product's compulsory, tiled and modelled traffic; the corridor spans no to full L2 absorption."""
    return json_answer(planner.labs.gemm(body.model_dump(), who.workspace))


@router.post("/labs/fusion", operation_id="lab_fusion", response_model=FusionAnswer, responses=problems(404, 409))
async def fusion(body: FusionRequest, planner: Services, who: Who) -> Response:
    """Cut a chain of element-wise operations into kernels; a boundary that is true goes through memory.

    reads and writes may count tensors (operands beyond the chain are then side inputs that operations share) or name
    them, which is exact.
    """
    return json_answer(planner.labs.fusion(body.model_dump(), who.workspace))


@router.post("/labs/attention", operation_id="lab_attention", response_model=AttentionAnswer,
             responses=problems(404, 409))
async def attention(body: AttentionRequest, planner: Services, who: Who) -> Response:
    """Count naive, flash or decode attention; kv_lora_rank with rope_head_dim makes the decode cache a latent."""
    return json_answer(planner.labs.attention(body.model_dump(), who.workspace))


@router.post("/labs/layer", operation_id="lab_layer", response_model=LayerAnswer, responses=problems(404, 409))
async def layer(body: LayerRequest, planner: Services, who: Who) -> Response:
    """List every operator of one transformer layer with its work, traffic, bound and time.

    calibration "ideal" sums datasheet bounds; "auto" takes the chip's measured efficiencies (prefill and decode).
    """
    return json_answer(planner.labs.layer(body.model_dump(), who.workspace))


@router.post("/labs/optimizer", operation_id="lab_optimizer", response_model=OptimizerAnswer,
             responses=problems(404, 409))
async def optimizer(body: OptimizerRequest, planner: Services, who: Who) -> Response:
    """Count an optimizer step's bytes and work on one rank; sharding moves bytes from memory to the network."""
    return json_answer(planner.labs.optimizer(body.model_dump(), who.workspace))


@router.post("/labs/head", operation_id="lab_head", response_model=HeadAnswer, responses=problems(404, 409))
async def head(body: HeadRequest, planner: Services, who: Who) -> Response:
    """Count the LM head's product and its cross-entropy apart; chunk fuses the loss and writes no logits."""
    return json_answer(planner.labs.head(body.model_dump(), who.workspace))
