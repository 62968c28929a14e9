"""Speed without a clock: work is counted, or times taken in turn are compared, so that a slow machine fails nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

Run = Callable[[], object]


def lines(function: Run) -> int:
    """How many lines of Python are run in this thread while a function does its work [1]."""
    found = 0

    def note(_: FrameType, event: str, __: object) -> Any:
        nonlocal found
        found += event == "line"
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        function()
    finally:
        sys.settrace(before)
    return found


def times_as_long(function: Run, other: Run, *, enough: float, rounds: int = 12) -> float:
    """How many times as long one takes as another: least times of runs in turn, until the ratio is small enough [1].

    Whatever else the machine does only ever adds to a time, so the least of several is nearest to the code's own.
    """
    slow = quick = float("inf")
    for _ in range(rounds):
        quick, slow = min(quick, _seconds(other)), min(slow, _seconds(function))
        if slow <= enough * quick:
            break
    return slow / quick


def _seconds(function: Run) -> float:
    begun = time.process_time()
    function()
    return time.process_time() - begun
