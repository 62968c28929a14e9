"""All-reduce over the devices of one machine, in processes of its own: NCCL between GPUs, gloo between processors."""

from __future__ import annotations

import socket
import statistics
import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import distributed, multiprocessing

from planner.calibration.timing import Timing, median_interval
from planner.core.errors import AdapterError
from planner.core.fitting.kernel_points import KernelPoint

SIZES = tuple(2**i for i in range(14, 27, 2))
"""Bytes of a message: decode sends tens of kilobytes, prompts tens of megabytes."""
_REPEATS, _WARMUPS = 15, 3
_TIMEOUT_S = 120.0


def ask(message: int, ranks: int) -> KernelPoint:
    """What one all-reduce asks of a link: 2(p - 1)/p of the message each way (ring bound)."""
    return KernelPoint(kernel="all_reduce", dtype="fp32", shape=f"{ranks}x{message}", family=f"{ranks} ranks", work=0.0,
                       seconds=0.0, traffic=2.0 * (ranks - 1) / ranks * message, tokens=float(ranks), resident=True)


def all_reduce_timings(kind: str, ranks: int, sizes: Sequence[int] = SIZES) -> list[tuple[int, Timing]]:
    """The time of an all-reduce of each size, seen by rank 0; refused if its sums are wrong."""
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    port = _free_port()
    workers = [context.Process(target=_worker, args=(rank, ranks, kind, tuple(sizes), port, queue), daemon=True)
               for rank in range(ranks)]
    for worker in workers:
        worker.start()
    deadline = time.monotonic() + _TIMEOUT_S
    for worker in workers:
        worker.join(max(0.1, deadline - time.monotonic()))
    failed = [w for w in workers if w.exitcode != 0]
    for worker in failed:
        worker.terminate()
    if failed or queue.empty():
        raise AdapterError(f"The all-reduce over {ranks} {kind} ranks did not finish.")
    rows: list[tuple[int, list[float], bool]] = queue.get()
    if not all(right for _, _, right in rows):
        raise AdapterError(f"The all-reduce over {ranks} {kind} ranks computed a wrong sum, so it was not timed.")
    return [(size, _timing(samples)) for size, samples, _ in rows]


def _timing(samples: list[float]) -> Timing:
    middle, low, high = median_interval(samples)
    return Timing(seconds=middle, low=low, high=high, samples=len(samples), disturbed=0.0)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _worker(rank: int, ranks: int, kind: str, sizes: tuple[int, ...], port: int, queue: Any) -> None:  # noqa: ANN401 - a queue of processes
    """One rank; rank 0 reports."""
    device = torch.device(f"cuda:{rank}" if kind == "cuda" else "cpu")
    if kind == "cuda":
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(1)
    distributed.init_process_group("nccl" if kind == "cuda" else "gloo", init_method=f"tcp://127.0.0.1:{port}",
                                   rank=rank, world_size=ranks)
    rows = [_size(size, rank, ranks, device) for size in sizes]
    if rank == 0:
        queue.put(rows)
    distributed.destroy_process_group()


def _size(size: int, rank: int, ranks: int, device: torch.device) -> tuple[int, list[float], bool]:
    message = torch.full((size // 4,), float(rank + 1), device=device)
    distributed.all_reduce(message)
    right = bool((message == ranks * (ranks + 1) / 2).all())
    samples = []
    for turn in range(_WARMUPS + _REPEATS):
        message.fill_(1.0)
        distributed.barrier()
        _wait(device)
        started = time.perf_counter()
        distributed.all_reduce(message)
        _wait(device)
        if turn >= _WARMUPS:
            samples.append(time.perf_counter() - started)
    return size, samples if statistics.median(samples) > 0 else [1e-7] * len(samples), right


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
