"""Mixers side by side in one layer: attention and a state-space branch reading the same normed stream.

References
----------
Falcon-H1, arXiv 2507.22448, §2 (parallel hybrid mixer).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.core.architecture.layer import Mixer
from planner.core.architecture.parts import Core, KvCache, Matrix, State


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelMixers:
    """Several mixers whose outputs add up."""

    mixers: tuple[Mixer, ...]

    def matrices(self) -> tuple[Matrix, ...]:
        """Those of every branch; kernels keep apart by branch."""
        return tuple(replace(matrix, name=f"{matrix.name}_{i}" if i else matrix.name,
                             kernel=f"{matrix.kernel}_{i}" if i else matrix.kernel)
                     for i, mixer in enumerate(self.mixers) for matrix in mixer.matrices())

    def vectors(self) -> int:
        """Those of every branch [1]."""
        return sum(mixer.vectors() for mixer in self.mixers)

    def caches(self) -> tuple[KvCache, ...]:
        """Those of every branch."""
        return tuple(cache for mixer in self.mixers for cache in mixer.caches())

    def state(self) -> State | None:
        """The state of the branch that has one."""
        return next((state for mixer in self.mixers if (state := mixer.state()) is not None), None)

    def cores(self) -> tuple[Core, ...]:
        """Those of every branch."""
        return tuple(core for mixer in self.mixers for core in mixer.cores())

    @property
    def label(self) -> str:
        """The kinds as people call them."""
        return " + ".join(mixer.label for mixer in self.mixers)
