"""Why a server does not start."""

from doorkeeper.construction.errors import StartError


def test_problems_are_lines() -> None:
    """The text has one line for each problem."""
    error = StartError("a", "b")

    assert error.problems == ("a", "b")
    assert str(error) == "a\nb"
