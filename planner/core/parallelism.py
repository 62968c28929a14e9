"""How one replica spreads over GPUs: tensor, pipeline, attention-data and expert parallelism."""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.errors import InvalidLayout


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Sizes of the parallel groups; a replica has tensor·pipeline·data GPUs, experts spread over ``expert`` of them."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    """Attention data parallelism: each group of ``tensor`` ranks serves its own sequences."""
    expert: int = 1

    def __post_init__(self) -> None:
        """Refuse sizes that are no layout at all."""
        for name in ("tensor", "pipeline", "data", "expert"):
            value = getattr(self, name)
            if value < 1 or value != int(value):
                raise InvalidLayout(f"{name}_parallel must be a whole number of at least 1, got {value}.",
                                    pointer=f"/deployment/{name}_parallel")
        if self.expert > self.tensor * self.data or (self.tensor * self.data) % self.expert:
            raise InvalidLayout(
                f"expert_parallel={self.expert} must divide tensor_parallel·data_parallel = "
                f"{self.tensor * self.data}.", pointer="/deployment/expert_parallel",
                hint=f"Use a divisor of {self.tensor * self.data}, such as {self.tensor * self.data}.")

    @property
    def gpus(self) -> int:
        """GPUs of one replica [1]."""
        return self.tensor * self.pipeline * self.data
