"""A worker process whose jobs are slow on purpose: `python -m api_tests.job_worker`."""

import contextlib
import json
import time

from planner.services.worker import Outcome
from planner.worker import main


def count(request, caller, report):
    """Count to a number, telling after each step."""
    for number in range(request["to"]):
        report(number / request["to"], f"{number} of {request['to']}")
        time.sleep(request.get("step_s", 0.0))
    return Outcome(content=json.dumps({"counted": request["to"], "for": caller.name}).encode())


def silent(request, caller, report):
    """Sleep without ever reporting."""
    del caller, report
    time.sleep(request["seconds"])
    return Outcome(content=b"{}")


def deaf(request, caller, report):
    """Refuse every request to stop."""
    del caller, report
    end = time.monotonic() + request["seconds"]
    while time.monotonic() < end:
        with contextlib.suppress(BaseException):
            time.sleep(0.05)
    return Outcome(content=b"{}")


HANDLERS = {"count": count, "silent": silent, "deaf": deaf}

if __name__ == "__main__":
    main(HANDLERS)
