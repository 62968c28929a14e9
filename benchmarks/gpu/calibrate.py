"""Everything a GPU can tell us in under six minutes: bandwidth, GEMV, split-KV decode, the suite, and verified steps.

Usage: python benchmarks/gpu/calibrate.py [--device cuda:0] [--save record.json]

The last lines are a short table; the exit status is 1 where a bound is missed. Nothing on the device is changed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import torch

from planner.calibration import record as records
from planner.calibration.device import Device, open_device
from planner.calibration.kernels import attention, gemm, split_kv, stream
from planner.calibration.kernels.attention import Heads
from planner.calibration.kernels.bench import Bench, Case, verify_result
from planner.calibration.kernels.gemm import Shape
from planner.calibration.plan import grid_for
from planner.calibration.suite import Suite
from planner.calibration.timers import timer_for
from planner.calibration.timing import Patience, measure
from planner.calibration.verify import verify
from planner.core.errors import PlannerError

SHARE_BOUND = 0.90  # of the measured copy bandwidth, for kernels that move at least 256 MB
LEFT_OUT_BOUND = 0.10  # median error on kernels left out of the fit
LARGE_BYTES = 256e6
SUITE_SECONDS = 170.0
PATIENCE = Patience(warmups=1, samples_min=7, samples_max=60, seconds_max=0.4, precision=0.01)
MATRICES = (Shape(name="8B head", outputs=128256, inputs=4096), Shape(name="70B down", outputs=8192, inputs=28672),
            Shape(name="70B gate_up", outputs=57344, inputs=8192))
CACHES = ((Heads(query=32, cached=8, key_dim=128, value_dim=128), 16, 8192),
          (Heads(query=32, cached=8, key_dim=128, value_dim=128), 64, 4096),
          (Heads(query=8, cached=1, key_dim=128, value_dim=128), 64, 8192),
          (Heads(query=16, cached=16, key_dim=128, value_dim=128), 16, 4096))


def rate(bench: Bench, case: Case) -> float:
    """Check a kernel, time it and return its traffic per second."""
    ready = case.build(bench)
    verify_result(case.label, ready)
    timing = measure(timer_for(bench.device.spec).sampler(ready.run, ready.rotations), PATIENCE)
    return (case.ask.traffic + case.ask.io_traffic) / timing.seconds


def headline(device: Device) -> list[tuple[str, str, bool]]:
    """GEMV and split-KV decode against the copy bandwidth measured beside them."""
    bench = Bench(device, "bf16")
    copy = max(rate(bench, c) for c in stream.cases("bf16", 1e9) if c.implementation == "copy")
    lines = [("copy bandwidth", f"{copy / 1e12:.3f} TB/s", True)]
    cases = [gemm.case(1, s, "bf16") for s in MATRICES]
    if split_kv.available():
        cases += [attention.decode_case(h, b, c, "bf16", "split_kv") for h, b, c in CACHES]
    else:
        lines.append(("split-KV decode", "Triton is not installed: not measured", False))
    for case in cases:
        if case.ask.traffic < LARGE_BYTES:
            continue
        try:
            share = rate(bench, case) / copy
        except PlannerError as error:
            lines.append((case.label, error.detail, False))
            continue
        lines.append((case.label, f"{share:.1%} of copy, {case.ask.traffic / 1e6:.0f} MB", share >= SHARE_BOUND))
    return lines


def versus_library(device: Device) -> list[tuple[str, str, bool]]:
    """Our split-KV kernel beside every library way on one decode shape, for the record."""
    bench = Bench(device, "bf16")
    heads, batch, context = CACHES[0]
    lines = []
    for way in attention.decoders("cuda", heads):
        case = attention.decode_case(heads, batch, context, "bf16", way)
        try:
            lines.append((f"decode by {way}", f"{rate(bench, case) / 1e12:.3f} TB/s", True))
        except (PlannerError, RuntimeError) as error:
            lines.append((f"decode by {way}", str(error).splitlines()[0][:80], way != "split_kv"))
    return lines


def suite(device: Device, save: Path | None) -> list[tuple[str, str, bool]]:
    """The full suite, its fits, and verified steps."""
    run = Suite(device, grid_for(device, quick=False), budget_s=SUITE_SECONDS, patience=PATIENCE).execute()
    fitted, missing = records.curves(run)
    document = records.document(run, quick=False, fitted=fitted, missing=missing)
    out = document["left_out_median_error"]
    dropped = sum(1 for row in document["rows"] if row["left_out"])
    lines = [("kernels timed", f"{len(run.measurements)}, {dropped} implausible, partial: {run.partial}", True),
             ("left-out kernels", "none" if out is None else f"{out:.1%} median error", (out or 1.0) <= LEFT_OUT_BOUND)]
    lines += [(f"curve {c.kernel} {c.dtype}", f"left out {c.left_out_error:.1%}" if c.left_out else "few shapes", True)
              for c in fitted]
    lines += [(f"skipped {s['label']}", s["reason"][:90], True) for s in document["skipped"]]
    if document["noise"]["reason"]:
        lines.append(("noise", document["noise"]["reason"], False))
    try:
        document["verify"] = verify(run, fitted, lambda *_: None)
        lines += [(f"step {s['model']} {s['kind']} {s['batch']}×{s['context_tokens']}",
                   f"{s['measured_s'] * 1e3:.3f} ms, predicted {s['error']:+.1%}", True)
                  for s in document["verify"]["steps"]]
        lines.append(("verified steps", f"{document['verify']['median_error']:.1%} median error",
                      document["verify"]["passed"]))
    except (PlannerError, RuntimeError) as error:
        lines.append(("verified steps", str(error).splitlines()[0][:120], False))
    if save is not None:
        save.write_text(json.dumps(document, indent=1))
    return lines


def main() -> int:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--save", type=Path, default=None)
    chosen = parser.parse_args()
    started = time.monotonic()
    try:
        device = open_device(chosen.device)
        with torch.inference_mode():
            lines = headline(device)
            torch.cuda.empty_cache()
            lines += versus_library(device)
            torch.cuda.empty_cache()
        lines += suite(device, chosen.save)
    except PlannerError as error:
        sys.stderr.write(f"{error.detail}\n{error.hint or ''}\n")
        return 1
    print(f"\n{device.name}, torch {device.torch}, driver {device.driver}, {time.monotonic() - started:.0f} s")
    for name, value, good in lines:
        print(f"{'ok  ' if good else 'MISS'} {name:44} {value}")
    return 0 if all(good for _, _, good in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
