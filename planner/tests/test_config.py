"""The environment: what is read, what is refused, what is documented."""

import re
from pathlib import Path

import pytest

from planner.config import BadSetting, UnsafeBind, loopback, settings
from planner.core.errors import InvalidQuantity

ROOT = Path(__file__).resolve().parents[2]


def test_defaults_serve_this_machine_only():
    found = settings({"HOME": "/home/someone"})
    assert found.database_url == "sqlite:////home/someone/.local/share/planner/planner.sqlite3"
    assert (found.host, found.port, found.allowed_hosts) == ("127.0.0.1", 8000, ("localhost", "127.0.0.1", "[::1]"))
    assert (found.embedded_worker, found.upgrade_on_start, found.answer_cache_entries) == (True, True, 4096)


def test_what_the_environment_says():
    found = settings({"PLANNER_DATABASE_URL": "postgresql://x", "PLANNER_PORT": "0", "PLANNER_EMBEDDED_WORKER": "No",
                      "PLANNER_ALLOWED_HOSTS": " Planner.example , ", "PLANNER_LOG_LEVEL": "WARNING"})
    assert (found.database_url, found.port, found.embedded_worker) == ("postgresql://x", 0, False)
    assert found.allowed_hosts[-1] == "planner.example"
    assert found.log_level == "warning"
    assert settings({"XDG_DATA_HOME": "/data"}).database_url == "sqlite:////data/planner/planner.sqlite3"


@pytest.mark.parametrize(("name", "value", "error"), [
    ("PLANNER_PORT", "http", BadSetting), ("PLANNER_PORT", "70000", InvalidQuantity),
    ("PLANNER_EMBEDDED_WORKER", "maybe", BadSetting), ("PLANNER_LOG_LEVEL", "loud", BadSetting),
    ("PLANNER_JOB_RESULT_DAYS", "0", InvalidQuantity), ("PLANNER_FLEET_SECONDS", "soon", BadSetting),
    ("PLANNER_FLEET_SECONDS", "nan", InvalidQuantity),
    ("PLANNER_SIZING_STEPS", "-1", InvalidQuantity), ("PLANNER_HOST", "0.0.0.0", UnsafeBind),  # noqa: S104 - refused
])
def test_what_cannot_be_used_is_refused_by_name(name, value, error):
    with pytest.raises(error) as refusal:
        settings({name: value})
    assert name.removeprefix("PLANNER_").lower() in refusal.value.detail.lower()
    assert refusal.value.hint


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]"])
def test_loopback_addresses(host):
    assert loopback(host) == host


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", ""])  # noqa: S104 - refused
def test_other_addresses_wait_for_keys(host):
    with pytest.raises(UnsafeBind):
        loopback(host)


def test_every_variable_is_documented():
    documented = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "planner").rglob("*.py")
                   if "tests" not in path.parts)
    assert {name for name in re.findall(r"PLANNER_[A-Z_]*[A-Z]\b", code) if f"`{name}`" not in documented} == set()
