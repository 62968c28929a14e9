"""The published accuracy report, generated from the profiles that ship beside it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from planner.catalog.loader import catalog_root
from planner.core.errors import AdapterError

FILE = "accuracy.json"


@cache
def published_accuracy() -> dict[str, Any]:
    """The report as it was generated for this version."""
    path = catalog_root() / FILE
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AdapterError(f"The accuracy report cannot be read: {error}.",
                           hint="It is made by benchmarks/accuracy_report.py.") from error
    return found
