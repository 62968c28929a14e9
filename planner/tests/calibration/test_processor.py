"""What is read from the operating system, on files of known content."""

import time

import pytest

from planner.calibration import processor
from planner.calibration.processor import Contention, ProcessorTimer, ThreadTimer


def test_the_largest_cache_counts(tmp_path):
    for i, size in enumerate(("32K", "2048K", "300M")):
        (tmp_path / f"index{i}").mkdir()
        (tmp_path / f"index{i}" / "size").write_text(size + "\n")
    assert processor.cache_bytes(tmp_path) == 300 * 2**20
    assert processor.cache_bytes(tmp_path / "none") == 64 * 2**20


def test_memory_and_clock(tmp_path):
    file = tmp_path / "meminfo"
    file.write_text("MemTotal:       1000 kB\nMemAvailable:    400 kB\n")
    assert processor.memory_bytes(file) == (1024000, 409600)
    file.write_text("MemTotal:       1000 kB\n")
    assert processor.memory_bytes(file) == (1024000, 1024000)
    assert processor.memory_bytes(tmp_path / "none")[0] > 1e8
    file.write_text("cpu MHz\t\t: 2000.0\ncpu MHz\t\t: 3000.0\n")
    assert processor.clock_hz(file) == 2.5e9
    assert processor.clock_hz(tmp_path / "none") is None
    file.write_text("nothing")
    assert processor.clock_hz(file) is None
    assert processor.processor_name()


def test_the_share_of_others_is_what_is_neither_idle_nor_ours(tmp_path):
    stat = tmp_path / "stat"
    stat.write_text("cpu  0 0 0 0 0 0 0 0 0 0\n")
    watch = Contention(stat)
    ticks = 10**9  # so much that this test's own processor time vanishes
    stat.write_text(f"cpu  {ticks} 0 0 {ticks} 0 0 0 {2 * ticks} 0 0\n")
    assert watch.share() == pytest.approx(0.75, abs=1e-3)
    assert Contention(tmp_path / "none").share() is None


def test_waiting_threads_are_added_up(tmp_path):
    for name, line in (("1", "5 1000000000 2"), ("2", "5 500000000 2"), ("3", "")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "schedstat").write_text(line)
    assert processor.waited_seconds(tmp_path) == 1.5


def test_a_sample_is_disturbed_when_threads_waited(monkeypatch):
    waits = iter([0.0, 1.0, 1.0, 1.0])
    monkeypatch.setattr(processor, "waited_seconds", lambda: next(waits))
    seen = []
    sample = ProcessorTimer().sampler(seen.append, 2)
    assert sample().disturbed
    quiet = sample()
    assert not quiet.disturbed
    assert quiet.seconds >= 0
    assert seen == [1, 0]


def test_one_thread_is_timed_by_its_own_processor_time():
    seen = []
    sleeping = ThreadTimer().sampler(lambda i: (seen.append(i), time.sleep(0.05)), 2)
    assert sleeping().seconds < 0.02  # waiting is not work
    busy = ThreadTimer().sampler(lambda _: sum(range(200_000)), 1)
    assert busy().seconds > 1e-4
    assert not busy().disturbed
    assert seen == [1]
