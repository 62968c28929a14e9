"""The quick calibration for real on this processor; needs torch, the machine to itself and two minutes."""

import json
import subprocess
import sys

import pytest


@pytest.mark.alone
@pytest.mark.timeout(320)
def test_this_machine_is_calibrated_and_its_steps_are_predicted():
    command = [sys.executable, "-m", "planner.cli.main", "calibrate", "--device", "cpu", "--quick", "--verify",
               "--threads", "1", "--seconds", "100", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=290, check=False)
    record = json.loads(done.stdout)
    assert record["ceilings"]["gemv_share_of_stream"]["fp32"] >= 0.75
    assert record["noise"]["noisy"] == (record["noise"]["reason"] is not None)
    if record["partial"]:  # too busy to time every kernel: said so, and not judged
        assert "time budget" in record["partial"]
        return
    # 10 % on an idle machine; others' use of the memory bus shows in the kernels, and is reported as noise.
    assert record["left_out_median_error"] <= (0.15 if record["noise"]["noisy"] else 0.10)
    proof = record["verify"]
    assert proof["passed"] == (proof["median_error"] <= proof["bound"])
    assert done.returncode == (0 if proof["passed"] else 1)
    # Memory that others slowed between the kernels and the steps is told; a quiet machine must pass.
    assert proof["passed"] or proof["noisy"] or record["noise"]["noisy"]
    assert proof["median_error"] <= 2 * proof["bound"]
