"""How problems of a configuration read."""

from doorkeeper.config.entry import Problem
from doorkeeper.config.errors import ConfigError


def test_an_error_has_a_line_for_each_problem() -> None:
    """The text of a ConfigError lists its problems in order."""
    error = ConfigError([Problem("f", "a", "x"), Problem("f", "b", "y")])

    assert str(error) == "f: a: x\nf: b: y"
