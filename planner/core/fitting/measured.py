"""One measured serving run as the validation sees it, whatever file it came from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from planner.core.errors import InvalidLayout
from planner.core.parallelism import Layout


class Load(StrEnum):
    """How the run was loaded."""

    CLOSED = "closed"
    """A fixed number of requests in flight."""
    SINGLE = "single"
    """One request after the other."""
    STATIC = "static"
    """All prompts at once, decoded together to the end."""
    OFFLINE = "offline"
    """More requests than can run at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRow:
    """A run: what was deployed, what was asked of it, what was measured; SI units."""

    number: int
    """Position in the file, from 1."""
    model: str
    sku: str
    """The accelerator's label in the file."""
    engine: str
    """vllm | sglang | trtllm | generic."""
    engine_label: str
    weights: str
    """Weight format as the file labels it, in the planner's names."""
    expert_weights: str
    kv_cache: str
    """KV format the run used; ``auto`` where unknown."""
    input_tokens: float
    output_tokens: float
    concurrency: float
    """Requests in flight, or the batch of a static run; 0 where the file does not say."""
    load: Load
    tensor: int
    data: int
    expert: int
    pipeline: int = 1
    gpus: int = 1
    tpot: float | None = None
    """[s]."""
    ttft: float | None = None
    """[s]."""
    rate: float | None = None
    """Answer tokens per second and GPU [1/s]."""
    fixed_lengths: bool = True
    """Every request has the same lengths, so that requests finish together."""
    engine_call: bool = False
    """Timed inside the engine: no server, tokeniser or transport."""
    open_loop: bool = False
    """Requests arrive at a rate, whatever is answered."""
    source: str = ""
    group: str = ""
    """What is left out together when scoring."""
    date: str = ""
    speculative: bool = False
    problem: str = ""
    """Why the file's labels give no layout; empty when they do."""

    @property
    def layout(self) -> Layout:
        """The parallel layout.

        Raises
        ------
        InvalidLayout
            The labels contradict each other.
        """
        if self.problem:
            raise InvalidLayout(f"Row {self.number}: {self.problem}.")
        return Layout(tensor=self.tensor, pipeline=self.pipeline, data=self.data, expert=self.expert)

    @property
    def configuration(self) -> tuple[object, ...]:
        """Everything that was deployed and asked, without what was measured."""
        return (self.model, self.sku, self.engine_label, self.weights, self.expert_weights, self.kv_cache,
                self.input_tokens, self.output_tokens, self.concurrency, self.load, self.tensor, self.data,
                self.expert, self.pipeline)
