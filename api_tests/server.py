"""The service as a process of its own, as its users start it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import httpx


class Server:
    """`planner serve` on a free port."""

    def __init__(self, environment: dict[str, str], *arguments: str) -> None:
        self._environment = {**os.environ, **environment}
        self._arguments = arguments
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "planner.cli.main", "serve", "--port", "0", "--json",
                                         *self._arguments],
                                        env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self.process.stdout is not None
        self.url = json.loads(self.process.stdout.readline())["url"]

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=60)

    def kill(self) -> None:
        self.process.kill()
        self._reap()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self._reap()

    def _reap(self) -> None:
        self.process.wait(timeout=60)
        assert self.process.stdout is not None
        self.process.stdout.close()
