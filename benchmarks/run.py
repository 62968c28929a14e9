"""Every speed figure of the planner as one table: `.venv/bin/python benchmarks/run.py [name …]`.

Targets of speed are held here and not in tests, which run on machines of any speed beside anything. Servers are pinned
to one core and asked from another where the machine has taskset; HTTP load comes from wrk where it is installed, else
from a generator in Python, which at high rates costs more than what it measures.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import in_process
import in_slack
import over_http
from figures import Figure

SUITES: dict[str, Callable[[], list[Figure]]] = {
    "start": in_process.start,
    "plan": in_process.plan,
    "sweep": in_process.sweep,
    "simulate": in_process.simulate,
    "size": in_process.size,
    "procurement": in_process.buy,
    "catalogue": in_process.catalogue,
    "parse": in_process.parse,
    "http": over_http.plans,
    "resources": over_http.resources,
    "slack": in_slack.answers,
}


def main() -> None:
    """Print the figures of the suites named, or of all."""
    wanted = sys.argv[1:] or list(SUITES)
    print(f"{'figure':<66}{'measured':>14}  {'must':>12}  held")
    failed = False
    for name in wanted:
        for figure in SUITES[name]():
            failed |= figure.held is False
            print(figure.line(), flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
