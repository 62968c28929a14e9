"""Feed-forward parts: gated and plain MLPs, and mixtures of experts.

References
----------
Shazeer, GLU Variants Improve Transformer, arXiv 2002.05202; Fedus et al., Switch Transformers, arXiv 2101.03961;
DeepSeekMoE, arXiv 2401.06066 (shared experts).
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.architecture.parts import Matrix, Module, Shard


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseFeedForward:
    """An MLP every token passes through: gate, up and down, or up and down."""

    hidden: int
    intermediate: int
    gated: bool = True
    bias: bool = False
    module: Module = Module.MLP
    prefix: str = ""
    """Kernel name prefix where a layer has several (``shared_``)."""
    inputs: int | None = None
    """Input width where it is not ``hidden`` (latent experts)."""

    def matrices(self) -> tuple[Matrix, ...]:
        """Gate and up as one kernel, then down."""
        width = self.hidden if self.inputs is None else self.inputs
        up_kernel = self.prefix + ("gate_up" if self.gated else "up")
        ups = [Matrix(name=self.prefix + name, module=self.module, inputs=width, outputs=self.intermediate,
                      shard=Shard.COLUMN, units=self.intermediate, kernel=up_kernel,
                      biases=self.intermediate if self.bias else 0)
               for name in (("gate", "up") if self.gated else ("up",))]
        down = Matrix(name=self.prefix + "down", module=self.module, inputs=self.intermediate, outputs=width,
                      shard=Shard.ROW, units=self.intermediate, kernel=self.prefix + "down",
                      biases=width if self.bias else 0)
        return (*ups, down)


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureOfExperts:
    """A router that sends each token to ``experts_per_token`` of ``experts`` MLPs, beside shared experts."""

    hidden: int
    experts: int
    experts_per_token: int
    expert: DenseFeedForward
    """One expert; its matrices belong to :attr:`Module.EXPERTS`."""
    shared: DenseFeedForward | None = None
    shared_gate: bool = False
    """A scalar gate (hidden × 1) weighs the shared expert."""
    router_biases: int = 0
    router_elements: int | None = None
    """Router parameters where they are not hidden × experts."""
    latent: int | None = None
    """Width experts work in, reached by one down- and one up-projection (latent MoE)."""
    extra_parameters: int = 0
    """Other parameters of the block (per-expert scales, norms of a latent)."""

    def matrices(self) -> tuple[Matrix, ...]:
        """What every token passes: router, shared experts and latent projections, without the routed experts."""
        rows = [Matrix(name="router", module=Module.ROUTER, inputs=self.hidden, outputs=self.experts,
                       shard=Shard.REPLICATED, kernel="router", biases=self.router_biases, always_16bit=True)]
        if self.latent is not None:
            rows += [Matrix(name="latent_down", module=Module.MLP, inputs=self.hidden, outputs=self.latent,
                            shard=Shard.REPLICATED, kernel="latent_down"),
                     Matrix(name="latent_up", module=Module.MLP, inputs=self.latent, outputs=self.hidden,
                            shard=Shard.REPLICATED, kernel="latent_up")]
        if self.shared is not None:
            rows += self.shared.matrices()
            if self.shared_gate:
                rows.append(Matrix(name="shared_gate", module=Module.ROUTER, inputs=self.hidden, outputs=1,
                                   shard=Shard.REPLICATED, kernel="router", always_16bit=True))
        return tuple(rows)

    @property
    def expert_elements(self) -> int:
        """Elements of one routed expert, biases included [1]."""
        return sum(m.elements + m.biases for m in self.expert.matrices())
