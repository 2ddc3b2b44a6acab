"""Faults of a catalog as people read them."""

from __future__ import annotations

from doorkeeper.catalog.errors import CatalogError, CatalogProblem


def test_a_fault_names_file_line_and_place() -> None:
    """What is not known is left out."""
    assert (
        str(CatalogProblem("c.yaml", 3, "topics[0].name", "wrong"))
        == "c.yaml:3: topics[0].name: wrong"
    )
    assert str(CatalogProblem("c.yaml", 0, "", "cannot be read")) == "c.yaml: cannot be read"


def test_faults_are_told_in_the_order_of_the_file() -> None:
    """Whatever order they were found in; faults of one line keep theirs."""
    late, first, second = (
        CatalogProblem("c", 9, "", "late"),
        CatalogProblem("c", 2, "", "first"),
        CatalogProblem("c", 2, "", "second"),
    )

    error = CatalogError([late, first, second])

    assert error.problems == (first, second, late)
    assert str(error) == "c:2: first\nc:2: second\nc:9: late"
