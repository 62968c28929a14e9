"""The labs as questions and answers: names become chips, core does the arithmetic, fields get the contract's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.core.errors import InvalidQuantity
from planner.core.hardware.chip import Chip
from planner.core.labs.attention import AttentionShape, Latent, attention_report
from planner.core.labs.diagnosis import diagnose
from planner.core.labs.explorer import RooflinePoint, explore_intensity, explore_kernel, roofs
from planner.core.labs.fusion import FusedGroup, chained, fusion_report
from planner.core.labs.gemm import GemmReport, gemm_report
from planner.core.labs.head import head_report
from planner.core.labs.inputs import ElementType, boundaries, element_type
from planner.core.labs.layer import LayerShape, layer_budget
from planner.core.labs.optimizer import optimizer_report
from planner.core.labs.questions import Measured
from planner.services.catalog import CatalogService
from planner.services.plan.answer import Profiles

Body = Mapping[str, Any]
Document = dict[str, Any]


class LabService:
    """Answers the labs' questions; each takes a complete document, such as a validated request body."""

    def __init__(self, catalog: CatalogService, profiles: Profiles) -> None:
        self._catalog = catalog
        self._profiles = profiles

    def _chip(self, body: Body, workspace: str) -> tuple[Chip, list[str]]:
        subject = body["sku"]
        if isinstance(subject, str):
            found = self._catalog.sku(subject, workspace)
            return found.value, list(found.warnings)
        return self._catalog.read("sku", subject), []

    def _about(self, body: Body, workspace: str) -> tuple[Chip, ElementType, Document]:
        chip, warnings = self._chip(body, workspace)
        dtype = element_type(body["dtype"])
        return chip, dtype, {"sku": chip.id, "dtype": dtype.name, "warnings": warnings}

    def roofline(self, body: Body, workspace: str) -> Document:
        """Return a point under the roof, and every boundary's ridge."""
        chip, dtype, about = self._about(body, workspace)
        work, traffic, intensity = body["flop"], body["bytes"], body["intensity_flop_per_byte"]
        at = body["boundary"]
        if intensity is not None and work is None and traffic is None:
            point = explore_intensity(chip, dtype, intensity, at=at)
        elif intensity is None and work is not None and traffic is not None:
            point = explore_kernel(chip, dtype, work, traffic, at=at, overlap=body["overlap"])
        else:
            raise InvalidQuantity("Give either intensity_flop_per_byte alone, or flop and bytes together.",
                                  pointer="/intensity_flop_per_byte" if work is None or traffic is None else "/flop")
        return about | point_fields(point) | {"boundaries": [
            {"boundary": roof.boundary.name, "bandwidth_bytes_per_s": roof.boundary.bandwidth,
             "ridge_flop_per_byte": roof.ridge, "estimate": roof.boundary.estimate} for roof in roofs(chip, dtype)]}

    def diagnose(self, body: Body, workspace: str) -> Document:
        """Return a measured kernel's position, causes, ordered questions and levers."""
        chip, dtype, about = self._about(body, workspace)
        found = diagnose(chip, dtype, Measured(
            work=body["flop"], traffic=body["bytes"], time=body["time_s"], kernels=body["kernels"],
            algorithmic=body["bytes_algorithmic"], blocks=body["grid_blocks"], in_flight=body["bytes_in_flight"],
            stream=body["stream_bytes_per_s"]))
        return about | {
            "position": found.position, "roof_fraction": found.roof_fraction, "cause": found.causes[0].name,
            "explanation": found.causes[0].sentence,
            "causes": [{"cause": c.name, "sentence": c.sentence, "factor": c.factor} for c in found.causes],
            "intensity_flop_per_byte": found.intensity, "ridge_flop_per_byte": found.ridge,
            "flop_per_s": found.performance, "bytes_per_s": found.bandwidth,
            "questions": [{"question": q.question, "verdict": q.verdict, "evidence": q.evidence}
                          for q in found.questions],
            "levers": [{"change": lever.change, "helps": lever.helps, "why": lever.why} for lever in found.levers]}

    def gemm(self, body: Body, workspace: str) -> Document:
        """Return a matrix product under all three accountings of traffic."""
        chip, dtype, about = self._about(body, workspace)
        report = gemm_report(chip, dtype, body["m"], body["n"], body["k"], tile=tuple(body["tile"]),
                             absorption=body["l2_absorption"])
        return about | gemm_fields(report, chip)

    def fusion(self, body: Body, workspace: str) -> Document:
        """Return a chain of element-wise operations, cut where asked, against the fully split one."""
        chip, dtype, about = self._about(body, workspace)
        operations = chained([(op["name"], op["flop"], op["reads"], op["writes"]) for op in body["operations"]])
        report = fusion_report(chip, dtype, body["elements"], operations, body["boundaries"])
        groups = [_group_fields(group) for group in report.groups]
        spilled = [", ".join(group.operations) for group in report.groups if group.spills]
        about["warnings"] += [f"Fusing {names} keeps more than 64 KiB alive in a 256-thread block: registers may spill."
                              for names in spilled]
        return about | {
            "kernels": report.kernels, "flop": report.work, "bytes": report.traffic,
            "intensity_flop_per_byte": report.work / report.traffic, "time_s": report.time,
            "split": {"kernels": len(operations), "bytes": report.split_traffic, "time_s": report.split_time,
                      "intensity_flop_per_byte": report.work / report.split_traffic},
            "speedup": report.split_time / report.time, "groups": groups}

    def attention(self, body: Body, workspace: str) -> Document:
        """Return an attention's work, traffic and least time."""
        chip, dtype, about = self._about(body, workspace)
        rank, rope = body["kv_lora_rank"], body["rope_head_dim"]
        if (rank is None) != (rope is None):
            raise InvalidQuantity("A latent cache needs both kv_lora_rank and rope_head_dim.",
                                  pointer="/rope_head_dim" if rope is None else "/kv_lora_rank")
        shape = AttentionShape(
            seq=body["seq"], heads=body["heads"], kv_heads=body["kv_heads"] or body["heads"], head_dim=body["head_dim"],
            causal=body["causal"], batch=body["batch"], latent=None if rank is None else Latent(rank=rank, rope=rope))
        report = attention_report(chip, dtype, shape, body["mode"], block_rows=body["block_rows"],
                                  skip_masked=body["skip_masked"])
        cost = report.cost
        return about | {
            "mode": cost.mode, "flop": cost.work, "flop_backward": report.backward_work, "bytes": cost.traffic,
            "bytes_compulsory": cost.compulsory, "bytes_scores": cost.score_traffic,
            "query_heads_per_kv_head": report.group,
            "intensity_flop_per_byte": report.intensity, "ridge_flop_per_byte": report.ridge,
            "fraction_of_peak": report.fraction_of_peak, "bound": report.bound, "time_s": report.time}

    def layer(self, body: Body, workspace: str) -> Document:
        """Return every operator of one layer with its work, traffic, bound and time."""
        chip, dtype, about = self._about(body, workspace)
        shape = LayerShape(d_model=body["d_model"], seq=body["seq"], batch=body["batch"], kv_heads=body["kv_heads"])
        profile = self._profiles.of(chip, body["engine"], body["calibration"], workspace)
        budget = layer_budget(chip, dtype, shape, body["regime"], flash=body["flash"], kv_cache=body["kv_cache"],
                              profile=profile)
        if not budget.calibrated:
            about["warnings"].append("Times are sums of datasheet bounds; real kernels land 1.3 to 2 times above them.")
        return about | {
            "regime": budget.regime, "flop": budget.work, "bytes": budget.traffic, "time_s": budget.time,
            "mfu": budget.model_flop_utilisation, "memory_bound_share": budget.memory_bound_share,
            "calibration": None if profile is None else profile.id,
            "rows": [{"name": row.name, "count": row.count, "flop": row.work, "bytes": row.traffic,
                      "intensity_flop_per_byte": row.intensity, "time_s": row.time, "share": row.time / budget.time,
                      "bound": row.bound} for row in budget.rows]}

    def optimizer(self, body: Body, workspace: str) -> Document:
        """Return one optimizer step on one rank."""
        chip, warnings = self._chip(body, workspace)
        report = optimizer_report(chip, body["params"], body["optimizer"], shards=body["shards"],
                                  gradient_bytes=float(body["gradient_bytes"]), matrix_size=body["matrix_size"])
        return {"sku": chip.id, "optimizer": report.optimizer, "warnings": warnings,
                "bytes_per_parameter": report.bytes_per_parameter, "flop_per_parameter": report.work_per_parameter,
                "flop": report.work, "bytes": report.traffic, "intensity_flop_per_byte": report.intensity,
                "bound": report.bound, "time_s": report.time, "state_bytes": report.state_bytes,
                "state_fits": report.state_fits, "network_bytes": report.network, "network_time_s": report.network_time}

    def head(self, body: Body, workspace: str) -> Document:
        """Return the LM head's product and its cross-entropy, apart."""
        chip, dtype, about = self._about(body, workspace)
        report = head_report(chip, dtype, body["tokens"], body["d_model"], body["vocabulary"],
                             logit_bytes=body["logit_bytes"], chunk=body["chunk"])
        return about | {
            "flop": report.work, "bytes": report.traffic, "intensity_flop_per_byte": report.intensity,
            "time_s": report.time, "logits_bytes": report.logits_bytes,
            "loss": {"flop": report.loss_work, "bytes": report.loss_traffic, "time_s": report.loss_time,
                     "intensity_flop_per_byte": report.loss_intensity, "logits_bytes": report.loss_logits_bytes}}


def point_fields(point: RooflinePoint) -> Document:
    """Return a point in the contract's names."""
    return {"peak_flop_per_s": point.peak, "bandwidth_bytes_per_s": point.boundary.bandwidth,
            "ridge_flop_per_byte": point.ridge, "intensity_flop_per_byte": point.intensity,
            "attainable_flop_per_s": point.attainable, "fraction_of_peak": point.fraction_of_peak,
            "bound": point.bound, "time_s": point.time, "boundary": point.boundary.name,
            "boundary_is_estimate": point.boundary.estimate, "overlap": point.overlap}


def gemm_fields(report: GemmReport, chip: Chip) -> Document:
    """Return a matrix product's report in the contract's names."""
    rates = {edge.name: edge for edge in boundaries(chip)}
    peak = report.ridge * chip.bandwidth
    waves = report.waves
    return {
        "flop": report.work, "bytes_compulsory": report.compulsory, "bytes_tiled": report.tiled,
        "bytes_modelled": report.modelled, "intensity_flop_per_byte": report.work / report.modelled,
        "intensity_compulsory_flop_per_byte": report.work / report.compulsory,
        "intensity_tiled_flop_per_byte": report.work / report.tiled,
        "intensity_modelled_flop_per_byte": report.work / report.modelled,
        "ridge_flop_per_byte": report.ridge, "fraction_of_peak": report.fraction_of_peak, "bound": report.bound,
        "time_s": report.time,
        "corridor": {"l2_absorption": [0.0, 1.0], "bytes": [report.tiled, report.compulsory],
                     "time_s": list(report.corridor_time), "fraction_of_peak": list(report.corridor_fraction)},
        "waves": None if waves is None else {
            "tiles": waves.tiles, "multiprocessors": waves.multiprocessors, "waves": waves.waves,
            "last_wave_fraction": waves.last_wave_fraction, "efficiency": waves.efficiency},
        "tile_limits": {
            "accumulator_bytes": report.limits.accumulator_bytes,
            "shared_memory_bytes": report.limits.shared_memory_bytes, "fits": report.limits.fits,
            "square_tile_for_ridge": report.limits.square_tile_for_ridge},
        "levels": [{"boundary": name, "intensity_flop_per_byte": intensity,
                    "ridge_flop_per_byte": peak / rates[name].bandwidth, "estimate": rates[name].estimate}
                   for name, intensity in report.levels.items()],
        "binding": {"bound": report.binding.bound, "fraction_of_peak": report.binding.fraction_of_peak,
                    "attainable_flop_per_s": report.binding.attainable}}


def _group_fields(group: FusedGroup) -> Document:
    return {"operations": list(group.operations), "reads": list(group.reads), "writes": list(group.writes),
            "flop": group.work, "bytes": group.traffic, "time_s": group.time, "live_bytes_per_block": group.live_bytes,
            "register_pressure": group.spills}
