"""Rules of the house that no linter knows: sizes, where powers of ten live, nothing keyed on one model or row."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "planner"
FILES = sorted(p for p in [*PACKAGE.rglob("*.py"), *(ROOT / "migrations").rglob("*.py")]
               if "static" not in p.parts and "__pycache__" not in p.parts)
PRODUCT = [p for p in FILES if "tests" not in p.parts]
LONGEST_FILE, LONGEST_BODY = 300, 40


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    return 0 if not body else (body[-1].end_lineno or 0) - body[0].lineno + 1


@pytest.mark.parametrize("path", FILES, ids=named)
def test_files_stay_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE


@pytest.mark.parametrize("path", [p for p in PRODUCT if "versions" not in p.parts], ids=named)
def test_functions_stay_short(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    long = {f.name: body_lines(f) for f in functions(tree) if body_lines(f) > LONGEST_BODY}
    assert not long


@pytest.mark.parametrize("path", [p for p in PRODUCT if "core" in p.parts and p.name != "units.py"], ids=named)
def test_binary_powers_are_written_in_one_place(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [node.lineno for node in ast.walk(tree)
             if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and isinstance(node.left, ast.Constant)
             and node.left.value == 2 and isinstance(node.right, ast.Constant) and node.right.value in {20, 30}]
    assert not found


@pytest.mark.parametrize("path", PRODUCT, ids=named)
def test_no_unfinished_work(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\b(TODO|FIXME|XXX)\b|raise NotImplementedError", text)


def model_names() -> frozenset[str]:
    """Ids and bare names of the catalogue that are long enough to mean one model."""
    ids = [f"{p.parent.name}/{p.stem}" for p in (ROOT / "models_catalog" / "models").rglob("*.json")]
    return frozenset(ids) | frozenset(i.split("/")[1] for i in ids)


SHOWN_AS_EXAMPLES = {"planner/services/procurement/gaps.py"}
"""Ends and middle of a range shown to someone whose question names no model."""


def test_nothing_is_keyed_on_a_model() -> None:
    """No constant outside docstrings, help texts and examples equals a catalogue model's name."""
    names = model_names()
    assert len(names) > 200
    offenders = []
    for path in PRODUCT:
        inner = path.is_relative_to(PACKAGE / "core") or path.is_relative_to(PACKAGE / "services")
        if inner and named(path) not in SHOWN_AS_EXAMPLES:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            offenders += [f"{named(path)}:{node.lineno} {node.value}" for node in ast.walk(tree)
                          if isinstance(node, ast.Constant) and isinstance(node.value, str)
                          and node.value.strip().lower() in names]
    assert not offenders


def test_no_profile_parameter_is_keyed_on_a_model() -> None:
    names = {n for n in model_names() if len(n) > 5}
    for path in (ROOT / "models_catalog" / "profiles").rglob("*.toml"):
        text = path.read_text(encoding="utf-8").lower()
        tables = re.findall(r"^\[([^\]]+)\]|^([\w.\"-]+)\s*=", text, re.MULTILINE)
        keys = " ".join(a or b for a, b in tables)
        assert not [n for n in names if n in keys], path


@pytest.mark.parametrize("path", [p for p in PRODUCT if "core" in p.parts], ids=named)
def test_core_dataclasses_are_frozen(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "dataclass":
                    words = {k.arg for k in decorator.keywords}
                    assert "slots" in words, f"{named(path)}:{node.lineno}"
