"""``doorkeeper users-file``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.server.security.users_file import HashedUsers, read

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


def run(*words: object, password: str = "") -> Result:
    arguments = ["users-file", *(str(word) for word in words)]
    return CliRunner().invoke(doorkeeper, arguments, input=password)


def test_user_is_added_changed_and_removed(tmp_path: Path) -> None:
    file = tmp_path / "users.txt"

    added = run("set-password", file, "alice", password="hush-hush\n")
    assert (added.exit_code, added.output) == (0, f"{file}: alice added\n")
    assert HashedUsers(read(file)).check("alice", "hush-hush")

    changed = run("set-password", file, "alice", password="newer\n")
    assert changed.output == f"{file}: alice has a new password\n"
    assert HashedUsers(read(file)).check("alice", "newer")

    assert run("set-password", file, "bob", password="b\r\n").exit_code == 0
    assert run("list", file).output == "alice\nbob\n"
    assert run("remove", file, "alice").output == f"{file}: alice removed\n"
    assert run("list", file).output == "bob\n"


def test_errors_are_one_line(tmp_path: Path) -> None:
    """On stderr, with status 1."""
    file = tmp_path / "users.txt"
    for words, password, said in (
        (("list", file), "", "cannot read: No such file or directory"),
        (("remove", file, "x"), "", "cannot read: No such file or directory"),
        (("set-password", file, "x"), "", "the first line is empty; expected: the password"),
        (("set-password", file, " x"), "hush", "found the name ' x'; allowed: "),
    ):
        failed = run(*words, password=password)

        assert failed.exit_code == 1
        assert failed.stderr.startswith("doorkeeper: ")
        assert said in failed.stderr
        assert failed.stderr.count("\n") == 1
