"""A layer: one mixer (or none) and its feed-forwards (or none), with the norms between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from planner.core.architecture.feedforward import DenseFeedForward, MixtureOfExperts
from planner.core.architecture.parts import Core, KvCache, Matrix, State


class Mixer(Protocol):
    """What mixes tokens: softmax, latent, sparse or linear attention, or a state-space recurrence."""

    def matrices(self) -> tuple[Matrix, ...]:
        """Projections applied to every token."""
        ...

    def vectors(self) -> int:
        """Parameters outside matrices [1]."""
        ...

    def caches(self) -> tuple[KvCache, ...]:
        """What it keeps per token."""
        ...

    def state(self) -> State | None:
        """What it keeps per sequence."""
        ...

    def cores(self) -> tuple[Core, ...]:
        """What it does with cached tokens."""
        ...

    @property
    def label(self) -> str:
        """The kind as people call it."""
        ...


FeedForward = DenseFeedForward | MixtureOfExperts


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One block of the decoder; equal layers compare equal and are counted, not repeated."""

    mixer: Mixer | None
    feedforwards: tuple[FeedForward, ...] = ()
    """Applied to the same token stream; a dense MLP beside a mixture of experts is two entries."""
    norm_parameters: int = 0
    """Weights and biases of the block's own norms, residual scales and mixing vectors [1]."""
    norms: int = 2
    """Normalisations over the hidden stream, for their traffic."""
    embedding_parameters: int = 0
    """Per-layer embedding tables (read one row per token, kept in memory) [1]."""
    unused_parameters: int = 0
    """Stored with the weights and loaded, but never read (projections of layers that reuse a cache) [1]."""
    extra_matrices: tuple[Matrix, ...] = ()
    """Projections of the block outside mixer and feed-forward (per-layer inputs, residual mixers)."""

    def matrices(self) -> tuple[Matrix, ...]:
        """Every matrix all tokens pass, routed experts excluded."""
        mixer = () if self.mixer is None else self.mixer.matrices()
        return (*mixer, *(m for f in self.feedforwards for m in f.matrices()), *self.extra_matrices)

    @property
    def mixtures(self) -> tuple[MixtureOfExperts, ...]:
        """Its mixtures of experts."""
        return tuple(f for f in self.feedforwards if isinstance(f, MixtureOfExperts))
