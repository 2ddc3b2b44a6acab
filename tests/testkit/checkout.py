"""The files of this checkout, as the tests that look at the source itself see them."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
COMPONENT_ROOTS = ("server", "protocol", "schemas", "pipeline", "broker")
GENERATED_MARK = "# Generated "

HOLDING = (ast.stmt, ast.excepthandler, ast.match_case)
"""Nodes that hold statements."""


def tracked_files() -> list[Path]:
    """Return the files that git tracks and that exist, sorted; skips where there is no git."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listed.decode().split("\0") if name]
    return sorted(path for path in paths if path.is_file())


def modules() -> list[Path]:
    """Return the Python files of the component roots, sorted."""
    return sorted(
        path
        for root in COMPONENT_ROOTS
        for path in (ROOT / root).rglob("*.py")
        if "__pycache__" not in path.parts
    )


def files_of_tests() -> list[Path]:
    """Return the Python files under tests/, sorted."""
    return sorted((ROOT / "tests").rglob("*.py"))


def is_generated(path: Path) -> bool:
    """Return whether the first line says that the file was generated."""
    with path.open(encoding="utf-8") as file:
        return file.readline().startswith(GENERATED_MARK)


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield all functions of a file, nested ones and methods too.

    Trees are not kept: those of all files are millions of objects, which each later collection of
    the process would visit.
    """
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"), filename=str(path))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        # No expression holds a function with a name.
        waiting += (each for each in ast.iter_child_nodes(node) if isinstance(each, HOLDING))


def name_of(path: Path) -> str:
    """Return a file's path from the root of the checkout, with slashes."""
    return path.relative_to(ROOT).as_posix()
