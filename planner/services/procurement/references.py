"""Names inside a scenario: each entry called once, each name of another entry leading to one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.core.errors import InvalidQuantity
from planner.services.procurement.book import CLOUD

Fields = Mapping[str, Any]
KINDS = {"workloads": "workloads", "sites": "sites", "apis": "APIs"}


def check_references(document: Fields) -> None:
    """Refuse two entries of one name, APIs of unknown workloads, and workloads at sites that nothing is offered at."""
    for kind, word in KINDS.items():
        seen: set[str] = set()
        for place, entry in enumerate(document[kind]):
            if entry["id"] in seen:
                raise InvalidQuantity(f"Two {word} are called {entry['id']}.", pointer=f"/{kind}/{place}/id")
            seen.add(entry["id"])
    workloads = [workload["id"] for workload in document["workloads"]]
    for place, api in enumerate(document["apis"]):
        if api["workload"] not in workloads:
            raise InvalidQuantity(f"API {api['id']} serves the unknown workload {api['workload']}.",
                                  hint="Known: " + ", ".join(workloads), pointer=f"/apis/{place}/workload")
    sites = dict.fromkeys([*(s["id"] for s in document["sites"]), *(p["site"] for p in document["prices"]), CLOUD])
    for place, workload in enumerate(document["workloads"]):
        for index, site in enumerate(workload["sites"] or ()):
            if site not in sites:
                raise InvalidQuantity(f"{workload['id']} may run at {site}, which is neither a site nor where anything "
                                      "is offered.", hint="Known: " + ", ".join(sites),
                                      pointer=f"/workloads/{place}/sites/{index}")
