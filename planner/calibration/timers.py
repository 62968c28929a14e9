"""Timers for devices that work asynchronously: CUDA with graphs and events, and Metal with a barrier."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import torch

from planner.calibration.processor import ProcessorTimer, ThreadTimer
from planner.calibration.timing import Sample, Sampler, Timer

_GRAPH_SECONDS = 2e-3  # a replay this long hides the events' resolution of half a microsecond
_GRAPH_NODES_MAX = 256


class CudaTimer:
    """Times replays of a CUDA graph of several launches over rotated buffers; eager where capture is refused."""

    def __init__(self, device: torch.device) -> None:
        """Remember the device; every timing synchronises on it alone."""
        self._device = device
        self.graphs = True

    def sampler(self, run: Callable[[int], object], rotations: int) -> Sampler:
        """A sampler whose seconds are per launch."""
        with torch.cuda.device(self._device):
            side = torch.cuda.Stream()  # type: ignore[no-untyped-call, unused-ignore] # untyped in torch
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for slot in range(min(rotations, 3)):
                    run(slot)
            torch.cuda.current_stream().wait_stream(side)
            torch.cuda.synchronize()
            once = self._elapsed(lambda: run(0))
            launches = min(_GRAPH_NODES_MAX, max(rotations, math.ceil(_GRAPH_SECONDS / once)))
            return self._sampler(self._replay(run, rotations, launches), launches)

    def _replay(self, run: Callable[[int], object], rotations: int, launches: int) -> Callable[[], object]:
        def burst() -> None:
            for i in range(launches):
                run(i % rotations)

        if not self.graphs:
            return burst
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                burst()
        except RuntimeError:
            torch.cuda.synchronize()
            return burst
        return graph.replay

    def _sampler(self, replay: Callable[[], object], launches: int) -> Sampler:
        def sample() -> Sample:
            with torch.cuda.device(self._device):
                return Sample(seconds=self._elapsed(replay) / launches)

        return sample

    @staticmethod
    def _elapsed(run: Callable[[], object]) -> float:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call, unused-ignore] # untyped in torch
        start.record()
        run()
        end.record()
        end.synchronize()
        return max(float(start.elapsed_time(end)) * 1e-3, 1e-7)


class MetalTimer:
    """Times kernels between two barriers of the Metal queue."""

    def sampler(self, run: Callable[[int], object], rotations: int) -> Sampler:
        """A sampler over rotated buffers."""
        turn = 0

        def sample() -> Sample:
            nonlocal turn
            turn = (turn + 1) % rotations
            torch.mps.synchronize()
            started = time.perf_counter()
            run(turn)
            torch.mps.synchronize()
            return Sample(seconds=time.perf_counter() - started)

        return sample


def timer_for(spec: str) -> Timer:
    """The timer of a device."""
    kind = spec.partition(":")[0]
    if kind == "cuda":
        return CudaTimer(torch.device(spec))
    if kind == "mps":
        return MetalTimer()
    return ThreadTimer() if torch.get_num_threads() == 1 else ProcessorTimer()
