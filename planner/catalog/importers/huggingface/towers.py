"""Vision and audio towers."""

from __future__ import annotations

from collections.abc import Mapping

from planner.core.architecture.model import Tower


def towers_of(config: Mapping[str, object], hidden: int) -> tuple[Tower, ...]:
    """The encoders a config describes."""
    del config, hidden
    return ()
