"""Environment → Settings, read once; every other module is handed what it needs."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from planner.core.errors import DomainError, InvalidQuantity

LOG_LEVELS = ("debug", "info", "warning", "error")
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


class UnsafeBind(DomainError):  # noqa: N818 - read as the refusal it is
    """The service has no keys yet, so it answers this machine only."""

    code = "unsafe_bind"
    title = "The service only listens on this machine"


class BadSetting(DomainError):  # noqa: N818 - as above
    """An environment variable does not hold what it should."""

    code = "bad_setting"
    title = "A setting is not usable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything the environment decides; docs/settings.md lists each variable."""

    database_url: str
    """SQLAlchemy URL; SQLite in the user's data folder unless told otherwise."""
    host: str = "127.0.0.1"
    port: int = 8000
    allowed_hosts: tuple[str, ...] = LOOPBACK_NAMES
    """Host header names answered; anything else is refused (DNS rebinding)."""
    answer_cache_entries: int = 4096
    """Plan answers kept in memory; 0 turns the cache off."""
    embedded_worker: bool = True
    """`planner serve` starts a worker process beside itself."""
    upgrade_on_start: bool = True
    """`planner serve` migrates the database before it answers."""
    job_result_days: float = 7.0
    """Days a finished job's result is kept."""
    fleet_seconds: float = 8.0
    """Longest a fleet question is optimised while its caller waits [s]; longer ones become jobs."""
    sizing_steps: int = 650_000
    """Simulated steps a sizing answered at once may take to verify its picks; some eight seconds [1]."""
    log_level: str = "info"
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The variables the settings were read from, for adapters with settings of their own (Slack)."""


def settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from the environment and refuse, by name, what cannot be used."""
    env = os.environ if environment is None else environment
    host = env.get("PLANNER_HOST", "127.0.0.1")
    extra = tuple(name.strip().lower() for name in env.get("PLANNER_ALLOWED_HOSTS", "").split(",") if name.strip())
    return Settings(
        database_url=env.get("PLANNER_DATABASE_URL") or default_database_url(env),
        host=loopback(host),
        port=_whole(env, "PLANNER_PORT", 8000, 0, 65535),
        allowed_hosts=LOOPBACK_NAMES + extra,
        answer_cache_entries=_whole(env, "PLANNER_ANSWER_CACHE_ENTRIES", 4096, 0, 10_000_000),
        embedded_worker=_flag(env, "PLANNER_EMBEDDED_WORKER", default=True),
        upgrade_on_start=_flag(env, "PLANNER_UPGRADE_ON_START", default=True),
        job_result_days=float(_whole(env, "PLANNER_JOB_RESULT_DAYS", 7, 1, 3650)),
        fleet_seconds=_number(env, "PLANNER_FLEET_SECONDS", 8.0, 0.01, 60.0),
        sizing_steps=_whole(env, "PLANNER_SIZING_STEPS", 650_000, 0, 1_000_000_000),
        log_level=_one_of(env, "PLANNER_LOG_LEVEL", "info", LOG_LEVELS),
        environment=dict(env),
    )


def default_database_url(env: Mapping[str, str]) -> str:
    """Return the URL of a SQLite file in the user's data folder, the same from whichever folder one starts."""
    root = Path(env.get("XDG_DATA_HOME") or Path(env.get("HOME") or Path.home()) / ".local" / "share")
    return f"sqlite:///{root / 'planner' / 'planner.sqlite3'}"


def loopback(host: str) -> str:
    """Return the host unchanged when only this machine can reach it, else refuse to bind it."""
    name = host.strip("[]").lower()
    try:
        local = name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        local = False
    if not local:
        raise UnsafeBind(f"host={host} would let other machines in, and the service has no keys yet.",
                         hint="Use --host 127.0.0.1 and reach it through an SSH tunnel or an authenticating proxy.")
    return host


def _whole(env: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = env.get(name, str(default))
    try:
        value = int(text)
    except ValueError:
        raise BadSetting(f"{name} must be a whole number, got {text!r}.",
                         hint=f"For example {name}={default}.") from None
    return int(_within(name, value, default, low, high))


def _number(env: Mapping[str, str], name: str, default: float, low: float, high: float) -> float:
    text = env.get(name, str(default))
    try:
        value = float(text)
    except ValueError:
        raise BadSetting(f"{name} must be a number, got {text!r}.", hint=f"For example {name}={default:g}.") from None
    return _within(name, value, default, low, high)


def _within(name: str, value: float, default: float, low: float, high: float) -> float:
    if not low <= value <= high:
        raise InvalidQuantity(f"{name} must lie between {low} and {high}, got {value}.",
                              hint=f"The default is {default}.")
    return value


def _one_of(env: Mapping[str, str], name: str, default: str, known: tuple[str, ...]) -> str:
    value = env.get(name, default).strip().lower()
    if value not in known:
        raise BadSetting(f"{name} must be one of {', '.join(known)}, got {value!r}.", hint=f"The default is {default}.")
    return value


def _flag(env: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = env.get(name, "1" if default else "0").strip().lower()
    if text in {"1", "true", "yes", "on"}:
        return True
    if text in {"0", "false", "no", "off"}:
        return False
    raise BadSetting(f"{name} must be 1 or 0, got {text!r}.", hint=f"For example {name}=0.")
