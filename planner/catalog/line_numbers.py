"""On which line each field of a TOML or JSON text stands; the parsers of the standard library do not say."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

Pointer: TypeAlias = tuple[str | int, ...]

_KEY = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+))*)\s*=""")
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def toml_lines(text: str) -> dict[Pointer, int]:
    """Return the line of every table, array entry and key of a TOML text that parses; inline tables count as one."""
    found: dict[Pointer, int] = {}
    counts: dict[Pointer, int] = {}
    table: Pointer = ()
    quote = ""
    for number, line in enumerate(text.splitlines(), 1):
        if quote:
            quote = "" if quote in line else quote
            continue
        bare = line.strip()
        if bare.startswith("[") and "=" not in bare.partition("]")[0]:
            table = _table(bare, counts)
            found.setdefault(table, number)
        elif (match := _KEY.match(line)) is not None:
            found.setdefault((*table, *_split(match.group(1))), number)
        for mark in ('"""', "'''"):
            if line.count(mark) % 2:
                quote = mark
    return found


def _table(header: str, counts: dict[Pointer, int]) -> Pointer:
    """The pointer of a [table] or [[array]] header, indices of the arrays around it filled in."""
    array = header.startswith("[[")
    names = _split(header.split("#", maxsplit=1)[0].strip().strip("[]").strip())
    pointer: Pointer = ()
    for depth, name in enumerate(names):
        pointer = (*pointer, name)
        last = depth == len(names) - 1
        if last and array:
            counts[pointer] = counts.get(pointer, -1) + 1
        if pointer in counts:
            pointer = (*pointer, counts[pointer])
    return pointer


def _split(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in re.findall(r'"[^"]*"|\'[^\']*\'|[^.]+', dotted)]


@dataclass(slots=True)
class _Open:
    """An object or array being read."""

    pointer: Pointer
    index: int | None
    key: str | None = None
    expects_key: bool = field(default=False)


def json_lines(text: str) -> dict[Pointer, int]:
    """Return the line of every key and array entry of a JSON text that parses."""
    found: dict[Pointer, int] = {(): 1}
    stack: list[_Open] = []
    line, at = 1, 0
    for match in _TOKEN.finditer(text):
        line, at = line + text.count("\n", at, match.start()), match.start()
        mark = match.group()
        if mark in "}]":
            stack.pop()
        elif mark == ",":
            _next(stack[-1])
        elif mark == ":":
            stack[-1].expects_key = False
        elif stack and stack[-1].expects_key:
            stack[-1].key = mark[1:-1]
            found[(*stack[-1].pointer, mark[1:-1])] = line
        else:
            pointer = _here(stack)
            found.setdefault(pointer, line)
            if mark in "{[":
                stack.append(_Open(pointer, None if mark == "{" else 0, expects_key=mark == "{"))
    return found


def _next(top: _Open) -> None:
    if top.index is None:
        top.expects_key = True
    else:
        top.index += 1


def _here(stack: list[_Open]) -> Pointer:
    if not stack:
        return ()
    top = stack[-1]
    return (*top.pointer, top.key if top.index is None and top.key is not None else top.index or 0)
