"""A GPU or accelerator SKU: dense peaks, memory, links and power, as its sheet and its runtime report them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.core.errors import MissingFact


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A connection of one chip: its kind and its rate in one direction."""

    kind: str
    """nvlink | infinity-fabric | pcie | network | …"""
    bytes_per_s: float
    """[byte/s], one direction."""
    domain: int = 1
    """Chips reachable over it without leaving it."""
    switched: bool = False
    """Every pair has the full rate (NVSwitch)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """One SKU. Peaks are dense; capacities are what the runtime reports where that is known."""

    id: str
    name: str
    vendor: str
    architecture: str
    """Family that efficiency profiles inherit by: hopper, blackwell, ampere, ada, cdna3, …"""
    memory_bytes: float
    """[byte] as the runtime reports it (cudaMemGetInfo total)."""
    bandwidth: float
    """[byte/s] datasheet memory bandwidth β."""
    peaks: Mapping[str, float]
    """[FLOP/s] dense π by pipe: fp32, tf32, bf16, fp16, fp8, int8, fp4."""
    scale_up: Link | None = None
    network: Link | None = None
    host: Link | None = None
    power_w: float | None = None
    """[W] board power limit."""
    multiprocessors: int | None = None
    clock_hz: float | None = None
    """[Hz] boost."""
    l2_bytes: float | None = None
    shared_memory_bytes: float | None = None
    """[byte] per multiprocessor."""
    boundaries: Mapping[str, float] = field(default_factory=dict)
    """[byte/s] estimates of on-chip boundaries: registers, shared_memory, l2."""
    gpus_per_node: int = 8

    def peak(self, pipe: str) -> float:
        """The dense peak of a pipe.

        Parameters
        ----------
        pipe : str
            bf16, fp8, …

        Returns
        -------
        float
            π [FLOP/s].

        Raises
        ------
        MissingFact
            The pipe does not exist here or no peak is published.
        """
        value = self.peaks.get(pipe)
        if not value:
            raise MissingFact(f"{self.name} has no published dense {pipe} peak.", fact=f"peak_flop_per_s.{pipe}",
                              hint="It has: " + ", ".join(sorted(k for k, v in self.peaks.items() if v)))
        return value

    def ridge(self, pipe: str) -> float:
        """The intensity at which a pipe's peak and the memory bandwidth meet.

        Parameters
        ----------
        pipe : str
            bf16, fp8, …

        Returns
        -------
        float
            π/β [FLOP/byte].
        """
        return self.peak(pipe) / self.bandwidth

    def link(self, chips: int) -> Link:
        """The fastest connection that reaches a whole group of chips.

        Parameters
        ----------
        chips : int
            Size of the group [1], two or more.

        Returns
        -------
        Link
            The scale-up link inside its domain, else the host bus inside a node, else the network.

        Raises
        ------
        MissingFact
            No connection that spans the group is catalogued.
        """
        if self.scale_up is not None and chips <= self.scale_up.domain:
            return self.scale_up
        if self.host is not None and chips <= self.gpus_per_node:
            return self.host
        if self.network is not None and chips <= self.network.domain:
            return self.network
        raise MissingFact(f"{self.name} has no catalogued link that spans {chips} chips.", fact="link_bytes_per_s",
                          hint="Give the SKU's link rate, or use fewer chips per replica.")
