"""Imports between modules form no cycle, those for type checking included."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGES = ("doorkeeper", "doorkeeper_wire", "doorkeeper_schemas", "doorkeeper_pipeline")


def cycle_in(imports: Mapping[str, set[str]]) -> str:
    """Return one cycle as "a -> b -> a", each module importing the next; empty if there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        # Each module of the exception is imported by the next.
        return " -> ".join(reversed(error.args[1]))
    return ""


def test_imports_are_acyclic() -> None:
    grimp = pytest.importorskip("grimp", reason="installed with import-linter, by make check")
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=False, cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}

    assert cycle_in(imports) == ""


def test_cycle_is_named_in_import_order() -> None:
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": set()}) == ""
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": {"b"}}) in {
        "b -> c -> d -> b",
        "c -> d -> b -> c",
        "d -> b -> c -> d",
    }
