"""Entries of a configuration, and how problems with them read."""

from doorkeeper.config.entry import Entry, Problem


def test_an_entry_does_not_print_its_value() -> None:
    """It may be a password."""
    assert repr([Entry("a", "s3cret", "f line 1")]) == "[Entry(a, f line 1)]"


def test_a_problem_is_one_line_with_its_place() -> None:
    """A problem reads source, key, text; what is empty is left out."""
    assert str(Problem("a.properties line 3", "node.id", "is odd")) == (
        "a.properties line 3: node.id: is odd"
    )
    assert str(Problem("", "", "is odd")) == "is odd"
