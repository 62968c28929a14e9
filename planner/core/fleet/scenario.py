"""The procurement question as plain values: workloads, candidates that can serve them, offers, sites and limits."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.core.errors import InvalidQuantity
from planner.core.fleet.calendar import Calendar
from planner.core.fleet.demand import Demand, Slices, slices
from planner.core.fleet.hosted import ApiOffer
from planner.core.fleet.offers import Offer, PoolKey
from planner.core.fleet.power import Site
from planner.core.fleet.sizing import slot
from planner.core.quantities.arrays import require_fraction, require_non_negative, require_positive

ANYWHERE = "any site"
"""Site of a pool whose units at different sites are interchangeable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One model's traffic with its own demand and safety margins."""

    id: str
    model: str
    demand: Demand
    unit: str = "request/s"
    """What demand and capacity count: request/s, or request in flight. Totals, not per replica."""
    input_tokens: float
    """[token] per request."""
    output_tokens: float
    """[token] per request."""
    rate_per_load: float = 1.0
    """Requests per second that one unit of load stands for [1/s]."""
    headroom: float = 0.0
    """Capacity kept free above the peak [1]."""
    spare: int = 0
    """Replicas that may fail (N + k) [1]."""
    sites: tuple[str, ...] | None = None
    """Sites it may run at; None is all."""
    spot_share: float = 1.0
    """Largest part of the required load that revocable units may carry [1]."""

    def __post_init__(self) -> None:
        """Refuse margins no fleet can keep."""
        require_non_negative("headroom", self.headroom)
        require_non_negative("spare_replicas", self.spare)
        require_fraction("max_spot_share", self.spot_share)
        require_positive("rate_per_load", self.rate_per_load)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One way to serve one workload: a SKU, a layout and a format with the load a replica carries in its objective."""

    id: str
    workload: str
    sku: str
    gpus: int
    """GPUs of one replica [1]."""
    capacity: float
    """Load one replica carries within the objective, median [load]."""
    capacity_low: float | None = None
    """5th percentile [load]."""
    capacity_high: float | None = None
    """95th percentile [load]."""
    layout: str = ""
    weights: str = ""
    prefill_gpu_s: float = 0.0
    """GPU-seconds of one request's prompt [s]."""
    decode_gpu_s: float = 0.0
    """GPU-seconds of one request's answer [s]."""
    limit: str = ""
    """What stops the replica from carrying more."""

    def __post_init__(self) -> None:
        """Refuse a replica without GPUs or without capacity."""
        require_positive("gpus", self.gpus)
        require_positive(f"capacity of {self.id}", self.capacity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Caps over the whole fleet; None is no cap."""

    budget_usd: float | None = None
    """All money spent over the horizon, residual not deducted [USD]."""
    capital_usd: float | None = None
    """Purchases and upfront payments [USD]."""
    gpus: int | None = None
    """GPUs at any moment [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Interchangeable units of one SKU at one site, seen from the replicas that run on them."""

    key: PoolKey
    offers: tuple[Offer, ...]

    @property
    def sku(self) -> str:
        """The SKU."""
        return self.key[0]

    @property
    def site(self) -> str:
        """The site."""
        return self.key[1]

    @property
    def unit_gpus(self) -> int:
        """GPUs per unit [1]."""
        return self.key[2]

    @property
    def availability(self) -> float:
        """Share of time a unit is there [1]."""
        return self.key[4]

    @property
    def firm(self) -> bool:
        """Nobody may take the units back."""
        return self.key[5]

    @property
    def label(self) -> str:
        """Short name for tables and constraints."""
        kind = "" if self.firm else " spot"
        return f"{self.sku}×{self.unit_gpus}{kind} @ {self.site}"

    def takes(self, candidate: Candidate) -> bool:
        """Whether a replica of the candidate fits on these units.

        Parameters
        ----------
        candidate : Candidate
            The replica.

        Returns
        -------
        bool
            True when the SKU matches and the replica spans no more units than the network joins.
        """
        return candidate.sku == self.sku and self.slot(candidate) <= self.unit_gpus * self.key[3]

    def slot(self, candidate: Candidate) -> int:
        """GPUs one replica takes here.

        Parameters
        ----------
        candidate : Candidate
            The replica.

        Returns
        -------
        int
            [1].
        """
        return slot(candidate.gpus, self.unit_gpus)

    def capacity(self, candidate: Candidate) -> float:
        """Load one replica carries here, the provider's interruptions included.

        Parameters
        ----------
        candidate : Candidate
            The replica.

        Returns
        -------
        float
            [load].
        """
        return candidate.capacity * self.availability


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything a procurement answer depends on."""

    calendar: Calendar
    workloads: tuple[Workload, ...]
    candidates: tuple[Candidate, ...]
    offers: tuple[Offer, ...]
    sites: tuple[Site, ...]
    apis: tuple[ApiOffer, ...] = ()
    limits: Limits = field(default_factory=Limits)
    blocks: int = 1
    """Load blocks per period."""
    power_fraction: float = 1.0
    """Mean draw of a running unit over its limit [1]; 1 bounds energy from above."""
    moments: Slices = field(init=False, compare=False, repr=False)
    """All periods cut into blocks, worked out once."""
    pools: tuple[Pool, ...] = field(init=False, compare=False, repr=False)
    """Offers grouped by what replicas can tell apart, in the order offers first name them."""

    def __post_init__(self) -> None:
        """Refuse names that lead nowhere or twice."""
        for name, items in (("workload", self.workloads), ("candidate", self.candidates), ("offer", self.offers),
                            ("site", self.sites), ("api", self.apis)):
            ids = [item.id for item in items]
            if len(ids) != len(set(ids)):
                twice = sorted({i for i in ids if ids.count(i) > 1})
                raise InvalidQuantity(f"Two {name} entries are called {', '.join(twice)}.", pointer=f"/{name}s")
        if not self.workloads:
            raise InvalidQuantity("A scenario needs at least one workload.", pointer="/workloads")
        self._check_references()
        object.__setattr__(self, "moments", slices([w.demand for w in self.workloads], self.calendar, self.blocks))
        groups: dict[PoolKey, list[Offer]] = {}
        for offer in self.offers:
            groups.setdefault(self._pool_key(offer), []).append(offer)
        pools = tuple(Pool(key=key, offers=tuple(offers)) for key, offers in groups.items())
        object.__setattr__(self, "pools", pools)

    def _pool_key(self, offer: Offer) -> PoolKey:
        """The offer's pool; equal units at different sites are one pool when no replica and no workload can tell.

        They can when a workload is tied to sites or a replica spans several units.
        """
        tied = any(w.sites is not None for w in self.workloads)
        spans = any(c.sku == offer.sku and c.gpus > offer.unit_gpus for c in self.candidates)
        site = offer.site if tied or spans else ANYWHERE
        return (offer.sku, site, offer.unit_gpus, offer.join_units, offer.availability, offer.firm)

    def _check_references(self) -> None:
        known_sites, known = {s.id for s in self.sites}, {w.id for w in self.workloads}
        for offer in self.offers:
            if offer.site not in known_sites:
                raise InvalidQuantity(f"Offer {offer.id} is at the unknown site {offer.site}.", pointer="/offers")
        for candidate in self.candidates:
            if candidate.workload not in known:
                raise InvalidQuantity(f"{candidate.id} serves the unknown workload {candidate.workload}.",
                                      pointer="/candidates")
        for api in self.apis:
            if api.workload not in known:
                raise InvalidQuantity(f"API {api.id} serves the unknown workload {api.workload}.", pointer="/apis")

    def site(self, name: str) -> Site:
        """The site of that id.

        Parameters
        ----------
        name : str
            Its id.

        Returns
        -------
        Site
            The site.
        """
        return next(s for s in self.sites if s.id == name)
