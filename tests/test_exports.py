"""What a package offers by ``__all__`` is what can be imported from it."""

from __future__ import annotations

import ast
import importlib
from typing import TYPE_CHECKING

import pytest

from testkit.checkout import COMPONENT_ROOTS, ROOT, modules, name_of

if TYPE_CHECKING:
    from pathlib import Path

PACKAGES = [path for path in modules() if path.name == "__init__.py"]


def import_name(path: Path) -> str:
    """Return the dotted name under which a package's ``__init__.py`` is imported."""
    parts = path.parent.relative_to(ROOT).parts
    assert parts[0] in COMPONENT_ROOTS
    return ".".join(parts[1:])


def statements_of(path: Path) -> list[ast.stmt]:
    """Return what stands in a file beside its docstring."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return body[1:] if body and isinstance(body[0], ast.Expr) else body


@pytest.mark.parametrize("path", PACKAGES, ids=name_of)
def test_packages_have_docstrings(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", PACKAGES, ids=name_of)
def test_exports_are_listed_once_and_exist(path: Path) -> None:
    """A package that imports or defines names lists the public ones in __all__, each once."""
    statements = statements_of(path)
    package = importlib.import_module(import_name(path))
    offered = getattr(package, "__all__", ())

    assert len(offered) == len(set(offered))
    assert [name for name in offered if not hasattr(package, name)] == []
    defined = {
        node.name
        for node in statements
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    }
    assert defined <= set(offered)
