"""Keeping worker processes alive: a process that ends is started again, and all end with their supervisor."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence

WATCH_S = 0.25
"""Between looks at the processes [s]."""
LEAVE_S = 5.0
"""A process told to leave has this long [s]."""
LONGEST_PAUSE_S = 30.0
"""A process that ends at once is started again ever later, up to this [s]."""


class _Watched:
    """One process and when it may be started again."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.started = 0.0
        self.pause = WATCH_S


class Supervisor:
    """Starts processes and watches over them from a thread."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], count: int = 1) -> None:
        self._command = list(command)
        self._environment = dict(environment)
        self._watched = [_Watched() for _ in range(count)]
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="supervisor")

    def start(self) -> None:
        """Start the processes."""
        for one in self._watched:
            self._launch(one)
        self._thread.start()

    def stop(self) -> None:
        """Tell the processes to leave and wait for them; what does not leave is killed with all it started."""
        self._leaving.set()
        self._thread.join()
        for one in self._watched:
            if one.process is not None and one.process.poll() is None:
                one.process.terminate()
        for one in self._watched:
            if one.process is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    one.process.wait(timeout=LEAVE_S)
                _end_group(one.process)

    @property
    def processes(self) -> list[int]:
        """Return the process ids."""
        return [one.process.pid for one in self._watched if one.process is not None]

    def _watch(self) -> None:
        while not self._leaving.wait(WATCH_S):
            for one in self._watched:
                if one.process is None or one.process.poll() is None:
                    continue
                alive = time.monotonic() - one.started
                one.pause = WATCH_S if alive > LONGEST_PAUSE_S else min(one.pause * 2, LONGEST_PAUSE_S)
                _end_group(one.process)
                if not self._leaving.wait(one.pause):
                    self._launch(one)

    def _launch(self, one: _Watched) -> None:
        one.started = time.monotonic()
        one.process = subprocess.Popen(self._command, env=self._environment, start_new_session=True)  # noqa: S603 - ours


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a process and of those it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
