"""`planner calibrate` end to end on this processor, with a grid small enough for any machine."""

import json

import httpx
import pytest

from planner.calibration import plan, processor
from planner.cli.calibration_plot import residual_plot, residuals
from planner.cli.calibration_tables import verdicts
from planner.cli.commands import calibrate
from planner.cli.main import main
from planner.core.errors import AdapterError, MissingFact
from planner.schemas.calibration import CalibrationRecord
from planner.tests.calibration.test_suite import GRID


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(plan, "_processor_grid", lambda *_, **__: GRID)
    monkeypatch.setattr(calibrate, "QUICK_SECONDS", 20.0)
    monkeypatch.setattr(processor, "cache_bytes", lambda: 2.0**20)  # a small arena is enough to rotate past
    monkeypatch.setattr(processor, "memory_bytes", lambda: (2.0**26, 2.0**26))


def test_a_record_is_printed_and_saved_whole(capsys, tmp_path):
    file = tmp_path / "record.json"
    assert main(["calibrate", "--device", "cpu", "--quick", "--json", "--save", str(file)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert json.loads(file.read_text()) == printed
    assert CalibrationRecord.model_validate(printed).device.spec == "cpu"
    assert list(tmp_path.iterdir()) == [file]  # no half-written file is left


def test_the_table_says_what_to_make_of_it(capsys):
    assert main(["calibrate", "--device", "cpu", "--quick", "--sku", "h100", "--threads", "1"]) == 0
    text = capsys.readouterr().out
    assert "Memory:" in text
    assert "GEMV fp32" in text
    assert "datasheet" in text


def test_too_few_curves_to_verify_is_said_and_fails(capsys, monkeypatch):
    monkeypatch.setattr("planner.calibration.record.curves", lambda _: ([], []))
    assert main(["calibrate", "--device", "cpu", "--quick", "--verify"]) == 1
    assert "Not verified" in capsys.readouterr().out


def test_refusals(capsys, tmp_path):
    assert main(["calibrate", "--device", "abacus"]) == 2
    assert "abacus" in capsys.readouterr().err
    assert main(["calibrate", "--device", "cpu", "--quick", "--save", str(tmp_path / "no" / "record.json")]) == 1
    assert "could not be written" in capsys.readouterr().err
    assert main(["calibrate", "--device", "cpu", "--quick", "--upload", "http://127.0.0.1:9"]) == 2
    assert "--sku" in capsys.readouterr().err


def test_uploads_reach_the_service_or_say_why_not(monkeypatch, capsys):
    sent = {}

    def post(url, *, json, timeout):
        sent.update(json, url=url, timeout=timeout)
        return httpx.Response(201, json={"id": "cal-1"})

    monkeypatch.setattr(httpx, "post", post)
    document = {"measured_on": "2026-03-01T00:00:00+00:00", "device": {"name": "X"}}
    calibrate._upload("http://host/", "h100", document)
    assert sent["url"] == "http://host/v1/calibrations"
    assert sent["record"] == document
    assert "cal-1" in capsys.readouterr().err
    monkeypatch.setattr(httpx, "post", lambda *_, **__: httpx.Response(422, json={"detail": "no such SKU"}))
    with pytest.raises(AdapterError, match="no such SKU"):
        calibrate._upload("http://host", "h100", document)

    def refuse(*_, **__):
        raise httpx.ConnectError("refused")

    monkeypatch.setattr(httpx, "post", refuse)
    with pytest.raises(AdapterError, match="could not be reached"):
        calibrate._upload("http://host", "h100", document)


def test_shapes_of_a_model_on_one_rank():
    shapes = {(s.outputs, s.inputs) for s in calibrate._shapes("meta-llama/llama-3.1-70b", 4)}
    assert {(2560, 8192), (8192, 2048), (14336, 8192), (8192, 7168)} <= shapes
    assert calibrate._shapes(None, 1) == []


RECORD = {
    "device": {"name": "X"}, "measured_on": "2026-03-01T00:00:00+00:00", "partial": None, "left_out_median_error": 0.05,
    "noise": {"noisy": True, "reason": "The machine was not quiet: reasons."},
    "curves": [{"kernel": "gemv", "dtype": "fp32", "bandwidth_bytes_per_s": 1e9, "peak_flop_per_s": 1e9, "points": 9,
                "parameters": {"launch_s": 1e-6, "serial_s": 1e-12, "memory": 0.5}, "ramp": [], "median_error": 0.01}],
    "rows": [{"kernel": "gemv", "dtype": "fp32", "shape": "s", "work_flop": 1.0, "traffic_bytes": 1e6,
              "io_traffic_bytes": 0.0, "tokens": 1.0, "inputs": 10.0, "context": 1.0, "time_s": 2.001e-3,
              "left_out": left_out} for left_out in (None, "disturbed")]}


def test_residuals_are_predicted_over_measured(tmp_path):
    [(seconds, ratio)] = residuals(RECORD)["gemv fp32"]
    assert seconds == 2.001e-3
    assert ratio == pytest.approx(1.0, rel=1e-3)
    residual_plot(RECORD, tmp_path / "out.svg")
    assert "<svg" in (tmp_path / "out.svg").read_text()
    with pytest.raises(AdapterError, match="could not be written"):
        residual_plot(RECORD, tmp_path / "out.nothing")
    with pytest.raises(MissingFact, match="no residuals"):
        residual_plot({**RECORD, "curves": []}, tmp_path / "out.svg")


def test_verdicts_in_words():
    steps = [{"model": "dense", "kind": "decode", "batch": 1, "context_tokens": 8, "predicted_s": 1.1,
              "measured_s": 1.0, "error": 0.1}]
    result = {"steps": steps, "passed": False, "median_error": 0.1, "bound": 0.05}
    text = "\n".join(verdicts({**RECORD, "partial": "interrupted by the user", "verify": result}, None))
    assert "Partial: interrupted by the user" in text
    assert "Do not take these numbers" in text
    assert "1 of 2 rows" in text
    assert "FAILED" in text
    assert "+10.0%" in text
