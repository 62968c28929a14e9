"""Timers of asynchronous devices against a device made of counters: what is captured, replayed and divided."""

import contextlib
from types import SimpleNamespace

import pytest
import torch

from planner.calibration import device, timers
from planner.calibration.processor import ProcessorTimer, ThreadTimer


class FakeCuda:
    """A device whose every launch takes 10 µs; a graph replays the launches that were captured."""

    def __init__(self, *, captures=True):
        self.captures, self.now, self.capturing, self.captured = captures, 0.0, False, 0
        self.synchronised = 0

    def launch(self, _slot):
        if self.capturing:
            self.captured += 1
        else:
            self.now += 1e-5

    @contextlib.contextmanager
    def graph(self, _graph):
        if not self.captures:
            raise RuntimeError("operation not permitted when stream is capturing")
        self.capturing = True
        yield
        self.capturing = False

    def CUDAGraph(self):  # noqa: N802 - the name it stands for
        def replay():
            self.now += 1e-5 * self.captured

        return SimpleNamespace(replay=replay)

    def Event(self, enable_timing):  # noqa: N802 - as above
        assert enable_timing
        event = SimpleNamespace(at=0.0)
        event.record = lambda: setattr(event, "at", self.now)
        event.synchronize = lambda: None
        event.elapsed_time = lambda other: (other.at - event.at) * 1e3
        return event

    def Stream(self):  # noqa: N802 - as above
        return SimpleNamespace(wait_stream=lambda _: None)

    def current_stream(self):
        return SimpleNamespace(wait_stream=lambda _: None)

    def synchronize(self):
        self.synchronised += 1

    device = stream = staticmethod(lambda _: contextlib.nullcontext())


@pytest.mark.parametrize("captures", [True, False])
def test_seconds_are_per_launch_with_graphs_and_without(monkeypatch, captures):
    cuda = FakeCuda(captures=captures)
    monkeypatch.setattr(timers, "torch", SimpleNamespace(cuda=cuda))
    sample = timers.CudaTimer(None).sampler(cuda.launch, 4)
    assert sample().seconds == pytest.approx(1e-5)
    assert not sample().disturbed
    if captures:
        assert cuda.captured in (200, 201)  # 2 ms of work in one replay, all buffers visited


def test_many_buffers_are_all_visited_in_one_graph(monkeypatch):
    cuda = FakeCuda()
    monkeypatch.setattr(timers, "torch", SimpleNamespace(cuda=cuda))
    timers.CudaTimer(None).sampler(cuda.launch, 230)
    assert cuda.captured == 230


def test_graphs_can_be_left_out(monkeypatch):
    cuda = FakeCuda()
    monkeypatch.setattr(timers, "torch", SimpleNamespace(cuda=cuda))
    timer = timers.CudaTimer(None)
    timer.graphs = False
    assert timer.sampler(cuda.launch, 2)().seconds == pytest.approx(1e-5)
    assert cuda.captured == 0


def test_metal_is_timed_between_barriers(monkeypatch):
    barriers, turns = [], []
    monkeypatch.setattr(torch.mps, "synchronize", lambda: barriers.append(1))
    sample = timers.MetalTimer().sampler(turns.append, 3)
    assert [sample().seconds >= 0 for _ in range(4)] == [True] * 4
    assert (len(barriers), turns) == (8, [1, 2, 0, 1])


def test_each_kind_has_its_timer(monkeypatch):
    assert isinstance(timers.timer_for("cuda:1"), timers.CudaTimer)
    assert isinstance(timers.timer_for("mps"), timers.MetalTimer)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert isinstance(timers.timer_for("cpu"), ThreadTimer)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    assert isinstance(timers.timer_for("cpu"), ProcessorTimer)


def test_a_cuda_device_is_described_by_its_driver(monkeypatch):
    traits = SimpleNamespace(name="NVIDIA H200", L2_cache_size=52428800, major=9, minor=0, uuid="abc")
    cuda = SimpleNamespace(is_available=lambda: True, device_count=lambda: 8, get_device_properties=lambda _: traits,
                           mem_get_info=lambda _: (140 * 2**30, 141 * 2**30))
    fake = SimpleNamespace(cuda=cuda, __version__="2.9")
    answers = {"-i": "NVIDIA H200, 570.1, 1980, 3201, 1980, [N/A], 700.00, 31\n", "--query": "12\n77\n"}
    monkeypatch.setattr(device, "_smi", lambda *a: answers["-i"] if a[0] == "-i" else answers["--query"])
    monkeypatch.setattr(device, "require_torch", lambda: fake)
    found = device.open_device("auto")
    assert (found.spec, found.name, found.driver, found.capability) == ("cuda:0", "NVIDIA H200", "570.1", (9, 0))
    assert (found.clock_hz, found.power_w, found.power_limit_w, found.temperature_c) == (1.98e9, None, 700.0, 31.0)
    assert (found.count, found.other_processes, found.memory_bytes) == (8, 1, 141 * 2.0**30)


def test_a_metal_device_is_described():
    fake = SimpleNamespace(backends=SimpleNamespace(mps=SimpleNamespace(is_available=lambda: True)), __version__="2.9")
    assert device._mps(fake).kind == "mps"
