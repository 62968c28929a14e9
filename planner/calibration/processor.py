"""What the operating system tells about the processor: model, caches, clock, and who else is using it."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import resource
import time
from collections.abc import Callable
from pathlib import Path

from planner.calibration.timing import Sample, Sampler

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_STAT = Path("/proc/stat")
_CPUINFO = Path("/proc/cpuinfo")
_MEMINFO = Path("/proc/meminfo")
_TASKS = Path("/proc/self/task")
_LEAST = 1e-7  # [s] clocks may not advance over a kernel shorter than their step
_WAITED = 0.02  # a sample is disturbed when threads waited for more than this share of it
_SUFFIX = {"K": 2**10, "M": 2**20, "G": 2**30}
_CACHE_UNKNOWN = 64 * 2**20  # larger than the last-level cache of most desktop processors; only rotation depends on it


def processor_name() -> str:
    """The processor's own name."""
    if _CPUINFO.exists():
        found = re.search(r"^model name\s*:\s*(.+)$", _CPUINFO.read_text(), re.MULTILINE)
        if found:
            return found.group(1).strip()
    return platform.processor() or platform.machine()


def cache_bytes(folder: Path = _CACHES) -> float:
    """The last-level cache [byte]; a generous guess where the system does not say, used only to rotate past it."""
    sizes = []
    for file in folder.glob("index*/size"):
        number, suffix = re.sub(r"\D", "", text := file.read_text().strip()), text[-1:]
        if number:
            sizes.append(int(number) * _SUFFIX.get(suffix, 1))
    return float(max(sizes, default=_CACHE_UNKNOWN))


def memory_bytes(file: Path = _MEMINFO) -> tuple[float, float]:
    """Total and available memory [byte]; available is total where the system does not say."""
    if file.exists():
        rows = re.findall(r"^(\w+):\s+(\d+) kB$", file.read_text(), re.MULTILINE)
        table = {str(name): int(value) for name, value in rows}
        if "MemTotal" in table:
            total = table["MemTotal"] * 1024.0
            return total, table.get("MemAvailable", table["MemTotal"]) * 1024.0
    total = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return total, total


def clock_hz(file: Path = _CPUINFO) -> float | None:
    """The mean of the cores' clocks now [Hz]."""
    if not file.exists():
        return None
    clocks = [float(v) for v in re.findall(r"^cpu MHz\s*:\s*([\d.]+)$", file.read_text(), re.MULTILINE)]
    return 1e6 * sum(clocks) / len(clocks) if clocks else None


class Contention:
    """Watches how much of the machine other processes use while we measure."""

    def __init__(self, stat: Path = _STAT, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the first reading."""
        self._stat, self._clock = stat, clock
        self._start = self._read()

    def _read(self) -> tuple[float, float, float] | None:
        if not self._stat.exists():
            return None
        first = [int(v) for v in self._stat.read_text().splitlines()[0].split()[1:9]]
        idle = first[3] + first[4]
        usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        ticks = float(os.sysconf("SC_CLK_TCK"))
        return sum(first) / ticks, idle / ticks, sum(u.ru_utime + u.ru_stime for u in usage)

    def share(self) -> float | None:
        """Share of all processor time that others (or the hypervisor) took since the start; None where unknown."""
        now = self._read()
        if now is None or self._start is None or now[0] <= self._start[0]:
            return None
        total, idle, own = (b - a for a, b in zip(self._start, now, strict=True))
        return min(1.0, max(0.0, (total - idle - own) / total))


def waited_seconds(tasks: Path = _TASKS) -> float:
    """Time our threads were ready to run but had no processor, since they started [s]; zero where not told."""
    total = 0
    for file in tasks.glob("*/schedstat"):
        with contextlib.suppress(OSError, IndexError):  # a thread may end while we look
            total += int(file.read_text().split()[1])
    return total * 1e-9


class ThreadTimer:
    """Times kernels of one thread by that thread's own processor time: moments without a processor do not count."""

    def sampler(self, run: Callable[[int], object], rotations: int) -> Sampler:
        """A sampler over rotated buffers."""
        turn = 0

        def sample() -> Sample:
            nonlocal turn
            turn = (turn + 1) % rotations
            started = time.thread_time()
            run(turn)
            return Sample(seconds=max(time.thread_time() - started, _LEAST))

        return sample


class ProcessorTimer:
    """Times kernels that return when they are done; a sample is disturbed if our threads waited for a processor."""

    def sampler(self, run: Callable[[int], object], rotations: int) -> Sampler:
        """A sampler over rotated buffers."""
        turn = 0

        def sample() -> Sample:
            nonlocal turn
            turn = (turn + 1) % rotations
            before = waited_seconds()
            started = time.perf_counter()
            run(turn)
            seconds = time.perf_counter() - started
            return Sample(seconds=seconds, disturbed=waited_seconds() - before > _WAITED * seconds)

        return sample
