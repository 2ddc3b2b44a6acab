"""How a command that cannot go on says so."""

import pytest

from doorkeeper.cli.failures import fail


def test_each_problem_is_one_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """The lines begin with the program's name; the status is 1."""
    with pytest.raises(SystemExit) as caught:
        fail(["one", ValueError("two\nlines")])

    captured = capsys.readouterr()
    assert captured.err == "doorkeeper: one\ndoorkeeper: two lines\n"
    assert captured.out == ""
    assert caught.value.code == 1


def test_what_a_server_says_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    """Characters that do not print are written as escapes."""
    with pytest.raises(SystemExit):
        fail(["no \x1b[31mway"])

    assert capsys.readouterr().err == "doorkeeper: no \\x1b[31mway\n"
