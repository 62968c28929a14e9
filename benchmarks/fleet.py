"""How close fleets are proven in the time allowed: `python benchmarks/fleet.py [--seeds 1,2] [--limit 9] [name …]`.

Every instance is 3 models × 8 SKUs × 6 layouts × 12 quarters (``fleet_instances``); the last line sums up. Seconds
are of the wall; the processors' stand beside them, since two are used where they are free.
"""

from __future__ import annotations

import argparse
import time

from fleet_instances import FAMILY

from planner.core.fleet.checks import shortfalls
from planner.core.fleet.columns import columns
from planner.core.fleet.optimise import optimise
from planner.core.fleet.solver import warm_up


def main() -> None:
    """Print one line per instance: time, gap, bound and cost."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("names", nargs="*", metavar="name", help=", ".join(FAMILY))
    asked.add_argument("--seeds", default="1,2", help="Which draws.")
    asked.add_argument("--limit", type=float, default=9.0, help="Time limit [s].")
    given = asked.parse_args()
    warm_up()
    print(f"{'instance':<22}{'seed':>5}{'variables':>11}{'wall s':>8}{'CPU s':>8}{'gap':>9}{'bound USD':>14}"
          f"{'cost USD':>14}")
    gaps = []
    for name in given.names or FAMILY:
        for seed in (int(s) for s in given.seeds.split(",")):
            scenario = FAMILY[name](seed)
            wall, busy = time.monotonic(), time.process_time()
            found = optimise(scenario, gap=0.01, time_limit_s=given.limit)
            wall, busy = time.monotonic() - wall, time.process_time() - busy
            if found.plan is None or found.npv is None or found.gap is None or shortfalls(found.plan):
                print(f"{name:<22}{seed:>5}  {found.status} {found.conflict}", flush=True)
                continue
            gaps.append(found.gap)
            print(f"{name:<22}{seed:>5}{columns(scenario).count:>11,}{wall:>8.1f}{busy:>8.1f}{found.gap:>9.2%}"
                  f"{found.lower_bound or 0.0:>14,.0f}{found.npv:>14,.0f}", flush=True)
    print(f"{len(gaps)} solved, {sum(g <= 0.01 for g in gaps)} within 1 %, largest gap {max(gaps, default=0.0):.2%}")


if __name__ == "__main__":
    main()
