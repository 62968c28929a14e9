"""Documents of our own are read strictly: a field that no form has is refused by its name, never silently dropped."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from typing import Any

from planner.core.errors import InvalidQuantity, UnknownField

_SHOWN, _LONGEST = 8, 60
_UNIT = re.compile(r"(_bytes|_flop)?(_per_s|_bytes|_w|_hz)?$")
_TEXTS = ("id", "name", "notes")


def require_known(document: Mapping[str, Any], known: Collection[str], what: str, hint: str | None = None) -> None:
    """Refuse the fields of a document that its form does not have, and texts that are none."""
    unknown = [str(name) for name in document if name not in known]
    if unknown:
        first = unknown[0]
        shown = ", ".join(name[:_LONGEST] for name in unknown[:_SHOWN])
        verb = "is not a field" if len(unknown) == 1 else "are not fields"
        meant = hint or (f"Did you mean {close}?" if (close := _closest(first, known)) else
                         "Fields are: " + ", ".join(known) + ".")
        raise UnknownField(f"{shown} {verb} of {what}.", hint=meant, pointer=_pointer(first))
    for name in _TEXTS:
        if document.get(name) is not None and not isinstance(document[name], str):
            raise InvalidQuantity(f"{name} must be text.", pointer=f"/{name}")
    aliases = document.get("aliases") or ()
    if not isinstance(aliases, list | tuple) or not all(isinstance(alias, str) for alias in aliases):
        raise InvalidQuantity("aliases must be a list of texts.", pointer="/aliases")


def _closest(name: str, known: Collection[str]) -> str | None:
    """The known field that a name was probably meant to be; its unit may have been left out or another."""
    bare = {_UNIT.sub("", field): field for field in known} | {field: field for field in known}
    found = difflib.get_close_matches(name, bare, n=1) or difflib.get_close_matches(_UNIT.sub("", name), bare, n=1)
    return bare[found[0]] if found else None


def _pointer(name: str) -> str:
    return "/" + name[:_LONGEST].replace("~", "~0").replace("/", "~1")
