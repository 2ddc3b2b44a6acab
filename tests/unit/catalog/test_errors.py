"""Faults of a catalog as people read them."""

from __future__ import annotations

from doorkeeper.catalog.errors import CatalogError, Problem


def test_a_fault_names_file_line_and_place() -> None:
    """What is not known is left out."""
    assert str(Problem("c.yaml", 3, "topics[0].name", "wrong")) == "c.yaml:3: topics[0].name: wrong"
    assert str(Problem("c.yaml", 0, "", "cannot be read")) == "c.yaml: cannot be read"


def test_faults_are_told_in_the_order_of_the_file() -> None:
    """Whatever order they were found in; faults of one line keep theirs."""
    late, first, second = (
        Problem("c", 9, "", "late"),
        Problem("c", 2, "", "first"),
        Problem("c", 2, "", "second"),
    )

    error = CatalogError([late, first, second])

    assert error.problems == (first, second, late)
    assert str(error) == "c:2: first\nc:2: second\nc:9: late"
