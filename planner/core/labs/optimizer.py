r"""The optimizer step as a memory workload: bytes of state per parameter, work, sharding.

Adam with fp32 master weights reads master, gradient and two moments (16 bytes) and writes both moments, the master and
the 16-bit parameter (14 bytes): 30 bytes for about 12 FLOP.

References
----------
Kingma, Ba, Adam, arXiv 1412.6980; Shazeer, Stern, Adafactor, arXiv 1804.04235; Dettmers et al., 8-bit Optimizers,
arXiv 2110.02861; Jordan et al., Muon, 2024, and Liu et al., arXiv 2502.16982 (five Newton-Schulz steps of three n×n
products); Rajbhandari et al., ZeRO, arXiv 1910.02054 (sharded state).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from planner.core.errors import InvalidQuantity
from planner.core.execution.roofline import time_overlapped
from planner.core.hardware.chip import Chip
from planner.core.labs.inputs import positive, whole

MASTER = 4.0
"""fp32 master weight [byte]."""
PARAMETER = 2.0
"""16-bit parameter that the forward pass reads [byte]."""
FP32_GRADIENT, BF16_GRADIENT = 4.0, 2.0
"""Gradient [byte]."""
MUON_FLOP = 30.0
"""Five iterations of three n×n products of 2n³ FLOP each, over n³ [FLOP]."""
MUON_BYTES = 4.0
"""State moved per element of an n×n matrix [byte]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimizer:
    """One update rule."""

    name: str
    moment_bytes: float
    """Bytes of optimizer state kept per parameter beside the master weight; read and written [byte]."""
    work: float
    """[FLOP] per parameter, counted from the update rule."""


OPTIMIZERS: Mapping[str, Optimizer] = {o.name: o for o in (
    Optimizer(name="sgd", moment_bytes=0.0, work=2.0),
    Optimizer(name="momentum", moment_bytes=4.0, work=4.0),
    Optimizer(name="adafactor", moment_bytes=0.0, work=10.0),  # row and column means weigh nothing per parameter
    Optimizer(name="adafactor_momentum", moment_bytes=4.0, work=12.0),
    Optimizer(name="adam", moment_bytes=8.0, work=12.0),
    Optimizer(name="adam_8bit", moment_bytes=2.0, work=12.0),
)}
_SPELLING = re.compile(r"[\s-]+")
_ALIASES = {"adamw": "adam", "8_bit_adam": "adam_8bit", "8bit_adam": "adam_8bit", "adam8bit": "adam_8bit",
            "adam_8_bit": "adam_8bit", "adamw_8bit": "adam_8bit", "sgd_momentum": "momentum"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerReport:
    """One optimizer step on one rank."""

    optimizer: str
    bytes_per_parameter: float
    work_per_parameter: float
    work: float
    """W of this rank [FLOP]."""
    traffic: float
    """Q at this rank's memory [byte]."""
    time: float
    """[s], a bound from below."""
    bound: str
    state_bytes: float
    """Kept on this rank: masters, moments, gradients and parameters [byte]."""
    state_fits: bool
    """Within the chip's memory, nothing else counted."""
    network: float
    """Bytes this rank sends: gradients scattered, parameters gathered [byte]."""
    network_time: float | None
    """[s] over the link that spans the shards; None without sharding."""

    @property
    def intensity(self) -> float:
        """W/Q [FLOP/byte]."""
        return self.work / self.traffic


def optimizer_report(chip: Chip, params: float, optimizer: str, *, shards: int = 1,
                     gradient_bytes: float = FP32_GRADIENT, matrix_size: int = 4096) -> OptimizerReport:
    """One step of an optimizer over ``params`` parameters spread over ``shards`` ranks.

    Parameters
    ----------
    chip : Chip
        The SKU.
    params : float
        Parameters in all [1].
    optimizer : str
        sgd, momentum, adafactor, adafactor_momentum, adam, adam_8bit or muon.
    shards : int
        Ranks that share state and update (ZeRO) [1].
    gradient_bytes : float
        4 for fp32 gradients, 2 for bf16 [byte].
    matrix_size : int
        n, edge of the square matrices Muon orthogonalises [1].

    Returns
    -------
    OptimizerReport
        Per rank; sharding divides memory traffic and moves bytes to the network.

    Raises
    ------
    InvalidQuantity
        The optimizer is unknown, or a number is out of range.
    """
    positive(params=params)
    whole(shards=shards, matrix_size=matrix_size)
    if gradient_bytes not in (FP32_GRADIENT, BF16_GRADIENT):
        raise InvalidQuantity(f"gradient_bytes must be 4 or 2, got {gradient_bytes:g}.", pointer="/gradient_bytes")
    local = params / shards
    per_byte, per_flop, kept, pipe = _rule(_SPELLING.sub("_", optimizer.strip().lower()), gradient_bytes, matrix_size)
    W, Q = per_flop * local, per_byte * local
    peak = chip.peak(pipe if chip.peaks.get(pipe) else "bf16")
    sent = (shards - 1) / shards * params * (gradient_bytes + PARAMETER)
    state = local * (kept + gradient_bytes) + params * PARAMETER  # every rank keeps the parameters it computes with
    return OptimizerReport(
        optimizer=optimizer, bytes_per_parameter=per_byte, work_per_parameter=per_flop, work=W, traffic=Q,
        time=float(time_overlapped(W, Q, peak, chip.bandwidth)),
        bound="compute" if W / peak >= Q / chip.bandwidth else "memory", state_bytes=state,
        state_fits=state <= chip.memory_bytes, network=sent,
        network_time=sent / chip.link(shards).bytes_per_s if shards > 1 else None)


def _rule(name: str, gradient: float, matrix_size: int) -> tuple[float, float, float, str]:
    """Bytes moved, FLOP and bytes kept per parameter (gradient apart), and the pipe of the arithmetic."""
    if name == "muon":
        return MUON_BYTES, MUON_FLOP * matrix_size, MASTER + 4.0, "bf16"
    rule = OPTIMIZERS.get(_ALIASES.get(name, name))
    if rule is None:
        raise InvalidQuantity(f"optimizer {name!r} is not known.", pointer="/optimizer",
                              hint="Known: " + ", ".join(OPTIMIZERS) + ", muon.")
    read = MASTER + gradient + rule.moment_bytes
    written = rule.moment_bytes + MASTER + PARAMETER
    return read + written, rule.work, MASTER + rule.moment_bytes, "fp32"
