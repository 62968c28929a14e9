"""Devices: found, refused in one sentence, described."""

import subprocess
import sys

import pytest

from planner.calibration import device
from planner.core.errors import AdapterError, InvalidQuantity

SMI = "NVIDIA H200, 570.1, 1980, 2619, 1980, 120.5, 700.00, 35\n"


def test_torch_is_installed_where_tests_run():
    assert device.require_torch().__version__.startswith("2.")


def test_no_torch_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(AdapterError, match="PyTorch is not installed") as caught:
        device.open_device("cpu")
    assert "calibrate" in caught.value.hint


def test_the_processor_is_described():
    opened = device.open_device("cpu")
    assert opened.kind == "cpu"
    assert opened.memory_bytes >= opened.free_bytes > 0
    assert opened.threads >= 1
    assert opened.name


@pytest.mark.parametrize("spec", ["tpu", "cpu:1", "cuda:x", "mps:0", ""])
def test_unknown_specs_are_refused(spec):
    with pytest.raises(InvalidQuantity, match="is not one of"):
        device.open_device(spec)


def test_absent_devices_are_refused(monkeypatch):
    torch = device.require_torch()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(AdapterError, match="No CUDA device"):
        device.open_device("cuda:0")
    with pytest.raises(AdapterError, match="no Metal device"):
        device.open_device("mps")
    assert device.open_device("auto").spec == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(AdapterError, match=r"no cuda:3"):
        device.open_device("cuda:3")


def test_the_vendor_tool_is_read(monkeypatch):
    monkeypatch.setattr(device.shutil, "which", lambda _: "/usr/bin/tool")
    monkeypatch.setattr(device.subprocess, "run",
                        lambda command, **_: subprocess.CompletedProcess(command, 0, stdout=SMI))
    reading = device.smi_reading("GPU-1")
    assert reading["driver_version"] == "570.1"
    assert reading["power.limit"] == "700.00"

    def late(command, **_):
        raise subprocess.TimeoutExpired(command, 10)

    monkeypatch.setattr(device.subprocess, "run", late)
    assert device.smi_reading("0") == {}
    monkeypatch.setattr(device.shutil, "which", lambda _: None)
    assert device.smi_reading("0") == {}
