"""How problems of a configuration read."""

from doorkeeper.config.errors import ConfigError, Problem


def test_a_problem_is_one_line_with_its_place() -> None:
    """A problem reads source, key, text; what is empty is left out."""
    assert str(Problem("a.properties line 3", "node.id", "is odd")) == (
        "a.properties line 3: node.id: is odd"
    )
    assert str(Problem("", "", "is odd")) == "is odd"


def test_an_error_has_a_line_for_each_problem() -> None:
    """The text of a ConfigError lists its problems in order."""
    error = ConfigError([Problem("f", "a", "x"), Problem("f", "b", "y")])

    assert str(error) == "f: a: x\nf: b: y"
