"""From load to replicas to whole units, with people, requests in flight and requests per second kept apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.core.errors import InvalidQuantity
from planner.core.quantities.arrays import Array, Numeric, require_fraction, require_non_negative, require_positive
from planner.core.quantities.units import SECONDS_PER_HOUR

ROUNDING = 1e-9
"""[1] Relative slack below which a quotient counts as whole: float noise must not buy a replica."""


MOST_REPLICAS = 1e6
"""[1] A layout that needs more is no candidate: one replica would be less than the solver's tolerance."""
COUNTABLE = 1e15
"""[1] Whole numbers a float still tells apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlightShare:
    """Share of named people with a request in flight at the busiest moment: an assumption with its range."""

    value: float
    low: float
    high: float
    source: str


CHAT_SHARE = InFlightShare(
    value=0.10, low=0.05, high=0.10,
    source="5-10 % of named chat users wait for an answer at the busiest moment ('LLM sizing 101, part 2: from tokens "
           "per second to GPU count', garagegeekblog.com/2026/05/07); the upper end is used; agents need their own")
"""Not a law: an assumption every answer that uses it must name, and that users should replace by their own log."""


def in_flight_of_users(users: float, share: float) -> float:
    """Requests in flight of a head count: N = users · share.

    Parameters
    ----------
    users : float
        People who may use the service [1], total.
    share : float
        Fraction of them waiting for an answer at the busiest moment [1].

    Returns
    -------
    float
        Requests in flight [1], total.
    """
    return float(require_positive("users", users)) * float(require_fraction("in_flight_share", share))


def rate_of_users(users: float, requests_per_hour: float) -> float:
    """Arrival rate of a head count: λ = users · requests per user-hour / 3600.

    Parameters
    ----------
    users : float
        People at the busiest hour [1], total.
    requests_per_hour : float
        Requests each sends in that hour [1/hour].

    Returns
    -------
    float
        Request rate [1/s], total.
    """
    sent = float(require_positive("requests_per_user_hour", requests_per_hour))
    return float(require_positive("users", users)) * sent / SECONDS_PER_HOUR


def rate_of_in_flight(in_flight: float, seconds_per_request: float) -> float:
    """Arrival rate that keeps that many requests in flight: Little's law, λ = N / E2E.

    Parameters
    ----------
    in_flight : float
        Requests in flight [1].
    seconds_per_request : float
        Time one request takes end to end [s].

    Returns
    -------
    float
        Request rate [1/s].

    References
    ----------
    Little, A proof for the queuing formula L = λW, Operations Research 9(3), 1961, doi:10.1287/opre.9.3.383.
    """
    seconds = require_positive("seconds_per_request", seconds_per_request)
    return float(require_non_negative("in_flight", in_flight) / seconds)


def required(load: Numeric, headroom: float) -> Array:
    """Load the fleet must be able to carry: peak · (1 + headroom).

    Parameters
    ----------
    load : float or ndarray
        Peak load [load], any shape.
    headroom : float
        Capacity kept free above the peak [1].

    Returns
    -------
    ndarray
        [load], same shape.
    """
    asked: Array = require_non_negative("load", load) * (1.0 + float(require_non_negative("headroom", headroom)))
    return asked


def replicas(load: Numeric, capacity: Numeric, headroom: float = 0.0, spare: int = 0) -> npt.NDArray[np.int64]:
    """Whole replicas that carry the load with headroom, plus spares where any run (N + k).

    Parameters
    ----------
    load : float or ndarray
        Peak load [load], any shape.
    capacity : float or ndarray
        Load one replica carries within the objective [load]; broadcast against ``load``.
    headroom : float
        Capacity kept free above the peak [1].
    spare : int
        Replicas that may fail without breaking the objective [1].

    Returns
    -------
    ndarray
        Replicas [1], same shape.

    Raises
    ------
    InvalidQuantity
        A negative load, headroom or spare count, or no capacity.
    """
    if spare < 0:
        raise InvalidQuantity(f"spare_replicas must be zero or more, got {spare}.", pointer="/spare_replicas")
    exact = required(load, headroom) / require_positive("capacity", capacity)
    whole = np.ceil(exact * (1.0 - ROUNDING))
    if whole.size and whole.max() > COUNTABLE:
        raise InvalidQuantity(f"The load takes {whole.max():.3g} replicas, more than can be counted.",
                              pointer="/workloads")
    return np.where(whole > 0, whole + spare, 0).astype(np.int64)


def slot(gpus: int, unit_gpus: int) -> int:
    """GPUs a replica takes out of units so that any mix of replicas packs without breaking a unit's fast links.

    Parameters
    ----------
    gpus : int
        GPUs of the replica [1].
    unit_gpus : int
        GPUs of one unit: a node, an instance or a rack-scale domain [1].

    Returns
    -------
    int
        The smallest member of the unit's chain of divisors (1, 2, 4, 8 for a node of 8) that holds the replica, or
        whole units when it spans several [1].

    Notes
    -----
    Sizes that divide one another pack perfectly in any order, so sums of slots are exact. A size off the chain (3 or 6
    of 8) is rounded up: a bound from above.
    """
    require_positive("gpus", gpus)
    require_positive("unit_gpus", unit_gpus)
    if gpus >= unit_gpus:
        return -(-gpus // unit_gpus) * unit_gpus
    size, rest, factor = 1, unit_gpus, 2
    while size < gpus:
        while rest % factor:
            factor += 1
        size, rest = size * factor, rest // factor
    return size
