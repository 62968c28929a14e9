"""Engine versions that share an allocator: what each start-up reserves changed several times.

References
----------
vLLM release notes: V1 engine default in 0.8; CUDA-graph memory inside the budget by default since 0.21 (vLLM issue
45178); printed capacity of hybrids derived from concurrency since 0.21 (vLLM issue 51041). Activation coefficients by
version: Qwen3-14B start-up logs of 0.15 to 0.17 (llm-d-planner pull request 205).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from planner.core.errors import UnsupportedFormat

ENGINES = ("vllm", "sglang", "trtllm", "generic")


@dataclass(frozen=True, slots=True, kw_only=True)
class Era:
    """How versions of one engine cut the memory of a GPU."""

    engine: str
    budget: str
    """requested: share of the total less what is used; static: share of what was free before load, less weights;
    free: share of what is free after load."""
    logits_bytes: float
    """Peak of the sampler's profiling run per sequence and vocabulary entry; 0 where it is not profiled [byte]."""
    graphs_inside: bool
    """Captured graphs come out of the budget."""
    prompts_whole: bool = False
    """Profiles a whole prompt of the longest length, up to 32,768 tokens, beyond which it chunks."""
    prints_groups: bool = False
    """Prints blocks over groups times block tokens as its capacity."""
    state_blocks: int = 1
    """Blocks of recurrent state a sequence holds: two where prefixes are cached at block ends."""
    shares_memory: bool = True
    """Tensor-parallel groups use symmetric memory for their all-reduce."""


_V0 = Era(engine="vllm", budget="requested", logits_bytes=0.0, graphs_inside=False, prompts_whole=True,
          prints_groups=True, shares_memory=False)
_EARLY = Era(engine="vllm", budget="requested", logits_bytes=0.0, graphs_inside=False, prints_groups=True,
             shares_memory=False)
_MIDDLE = Era(engine="vllm", budget="requested", logits_bytes=37.0, graphs_inside=False, prints_groups=True)
_LATE = Era(engine="vllm", budget="requested", logits_bytes=14.2, graphs_inside=False, prints_groups=True)
_NOW = Era(engine="vllm", budget="requested", logits_bytes=14.2, graphs_inside=True, state_blocks=2)
_OTHERS = {
    "generic": Era(engine="generic", budget="requested", logits_bytes=14.2, graphs_inside=True, state_blocks=2),
    "sglang": Era(engine="sglang", budget="static", logits_bytes=0.0, graphs_inside=False),
    "trtllm": Era(engine="trtllm", budget="free", logits_bytes=0.0, graphs_inside=True),
}
# First version of each era, newest first.
_VLLM = (((0, 21), _NOW), ((0, 17), _LATE), ((0, 13), _MIDDLE), ((0, 8), _EARLY))


def era_of(engine: str, version: str | None = None) -> Era:
    """The era of an engine's version.

    Parameters
    ----------
    engine : str
        vllm | sglang | trtllm | generic.
    version : str or None
        As the engine prints it; None, dated and development builds count as the newest.

    Returns
    -------
    Era
        How it cuts memory.

    Raises
    ------
    UnsupportedFormat
        The engine is not known.
    """
    if engine in _OTHERS:
        return _OTHERS[engine]
    if engine != "vllm":
        raise UnsupportedFormat(f"Engine {engine!r} is not known.", hint="Known: " + ", ".join(ENGINES))
    minor = _minor(version or "")
    return _NOW if minor is None else next((era for first, era in _VLLM if (0, minor) >= first), _V0)


def knows(engine: str, version: str) -> bool:
    """Whether a version says which era of an engine it belongs to.

    Parameters
    ----------
    engine : str
        vllm | sglang | trtllm | generic.
    version : str
        As the engine prints it.

    Returns
    -------
    bool
        False where it counts as the newest for want of a number, and for engines of one era.
    """
    return engine not in _OTHERS and _minor(version) is not None


def _minor(version: str) -> int | None:
    """The second number of vLLM's 0.x versions, 0 for those that say V0."""
    text = version.lower()
    found = re.search(r"(?<![\d.])0\.(\d+)(?!\d|x|\.dev)", text)
    return 0 if "v0" in text else None if found is None else int(found.group(1))
