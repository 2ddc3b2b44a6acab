"""The files of this checkout, as the tests that look at the source itself see them."""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPONENT_ROOTS = ("server", "protocol", "schemas", "pipeline", "broker")
GENERATED_MARK = "# Generated "


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


@cache
def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return all functions of a file, nested ones and methods too."""
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def name_of(path: Path) -> str:
    """Return a file's path from the root of the checkout, with slashes."""
    return path.relative_to(ROOT).as_posix()
