"""What all tests share: examples of a property may take as long as a slow machine needs; and what is left out.

Without torch the kernels' own tests are left out, and the summary says so; .ci/run insists on them.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

NEED_TORCH = [
    *(f"calibration/test_{name}.py" for name in (
        "collective", "device", "kernels", "real", "suite", "timers", "verify")),
    "cli/test_calibrate.py"]

without_torch = find_spec("torch") is None and not os.environ.get("TESTS_REQUIRE_TORCH")
collect_ignore = NEED_TORCH if without_torch else []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out."""
    if without_torch:
        terminalreporter.write_line(f"torch is not installed: {len(NEED_TORCH)} files of kernel tests were left out; "
                                    "pip install '.[test,calibrate]' runs them too.")
