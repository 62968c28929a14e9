"""What an engine reserves beside weights before it cuts the KV pool.

References
----------
vLLM, gpu_worker.py and the memory-profiling run: requested = total × utilization, KV = requested − weights − peak
activation − non-torch (− CUDA graphs since 0.21). SGLang: mem_fraction_static of the memory before load. TensorRT-LLM:
a fraction of what is free after load. Coefficients: start-up logs of 59 vLLM 0.19 runs on H100 (llm-d-planner pull
request 205), fitted here.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.parallelism import Layout
from planner.core.quantities import numeric as num
from planner.core.quantities.arrays import Numeric
from planner.core.quantities.units import GIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Memory one GPU keeps from the KV pool."""

    activation_bytes: Numeric
    """Peak of the profiling run [byte]."""
    other_bytes: Numeric
    """Communicators, context, allocator and graphs inside the budget [byte]."""


ACTIVATION_FLOOR = 0.28 * GIB
"""Profiling-run activation that no setting removes [byte]."""
LOGITS_BYTES = 14.2
"""Per sequence and vocabulary entry: fp32 logits, sampler copies and sort buffers of the profiling run [byte]."""
NON_TORCH_SINGLE = 0.25 * GIB
"""Context and libraries of a lone GPU [byte]."""
NON_TORCH_GROUP = 2.1 * GIB
"""With a tensor-parallel communicator [byte]."""
GRAPHS = 1.0 * GIB
"""Captured graphs, inside the budget since vLLM 0.21 [byte]."""


def reservation(engine: str, layout: Layout, *, vocabulary: int, max_num_seqs: Numeric) -> Reservation:
    """What an engine keeps free of KV on each GPU.

    Parameters
    ----------
    engine : str
        vllm | sglang | trtllm | generic.
    layout : Layout
        The parallel layout.
    vocabulary : int
        V [1].
    max_num_seqs : float or ndarray
        Sequences of the profiling run [1].

    Returns
    -------
    Reservation
        Estimates, ±0.5 GiB on the logs they were fitted to.
    """
    activation = ACTIVATION_FLOOR + LOGITS_BYTES * max_num_seqs * vocabulary
    other = NON_TORCH_SINGLE if layout.tensor == 1 else NON_TORCH_GROUP
    return Reservation(activation_bytes=num.maximum(activation, 0.75 * GIB),
                       other_bytes=other + (GRAPHS if engine in {"vllm", "generic"} else 0.0))
