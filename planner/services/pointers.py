"""Where in a question a refusal points: what is refused inside a part of it is told from the question's own root."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from planner.core.errors import PlannerError


@contextmanager
def at(place: str, *, instead_of: str = "", beside: tuple[str, ...] = ()) -> Iterator[None]:
    """Make refusals of a part point into the question: `instead_of` is what the part calls itself.

    Pointers that start with the place already, or with one of those beside it, are left as they are.
    """
    try:
        yield
    except PlannerError as error:
        error.pointer = moved(error.pointer, place, instead_of, beside)
        raise


def rooted(pointer: str) -> str:
    """Return a JSON pointer; the core names a field of its own without the slash."""
    return pointer if pointer.startswith("/") or not pointer else f"/{pointer}"


def step_of(name: str) -> str:
    """Return a field's name as a step of a pointer (RFC 6901, section 3)."""
    return name.replace("~", "~0").replace("/", "~1")


def moved(pointer: str | None, place: str, instead_of: str = "", beside: tuple[str, ...] = ()) -> str | None:
    """Return a pointer under its new place."""
    if pointer is None:
        return None if instead_of else place
    if any(_inside(pointer, one) for one in (place, *beside)) or not _inside(pointer, instead_of):
        return pointer
    rest = pointer.removeprefix(instead_of)
    return place + (f"/{rest.lstrip('/')}" if rest.strip("/") else "")


def _inside(pointer: str, place: str) -> bool:
    return not place or pointer == place or pointer.startswith(f"{place}/")
