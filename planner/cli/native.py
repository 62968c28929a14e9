"""Keeping what native libraries print off a service's standard output.

HiGHS prints a line of its own (HighsMipSolverData::transformNewIntegerFeasibleSolution) with a bare printf whenever it
mends a whole-number solution, whatever log_to_console says; no option of scipy.optimize.milp reaches it.
"""

from __future__ import annotations

import os
import sys


def silence_native_output() -> None:
    """Send what native code prints from now on nowhere, in this process and those it starts; Python's prints go on.

    Once, before the process has threads: a descriptor swapped around each call would take other threads' output along.
    """
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    sys.stdout = os.fdopen(kept, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors, buffering=1)
