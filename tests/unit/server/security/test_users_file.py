"""The users file: its lines, its problems, and how it is read again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.security.password_records import PasswordRecord
from doorkeeper.server.security.users_file import HashedUsers, UsersFile, is_user_name, read

if TYPE_CHECKING:
    from pathlib import Path


def record(password: str) -> PasswordRecord:
    """Return a record that is cheap to check."""
    empty = PasswordRecord("sha256", 10_000, 0, 0, bytes(16), bytes(32))
    return empty._replace(hash=empty.derive(password.encode()))


def written(path: Path, **users: str) -> Path:
    lines = [f"{name}:{record(password).text()}\n" for name, password in users.items()]
    path.write_text("# users\n\n" + "".join(lines))
    return path


@pytest.fixture
def file(tmp_path: Path) -> UsersFile:
    return UsersFile(written(tmp_path / "users.txt", alice="hush"))


def changed(file: UsersFile, **users: str) -> None:
    """Write it anew; a later second than that of the last version."""
    before = file.path.stat().st_mtime
    written(file.path, **users)
    os.utime(file.path, (before + 7, before + 7))


def test_an_unchanged_file_is_not_read(file: UsersFile) -> None:
    """The users stay the very same."""
    before = file.users

    assert file.refresh() == ()
    assert file.users is before


def test_a_wrong_version_changes_nothing(file: UsersFile) -> None:
    """It is told once, and the next right one counts."""
    before = file.users
    file.path.write_text("alice:secret-in-clear\n")

    (problem,) = file.refresh()

    assert problem.startswith(
        f"the previous users remain in effect: {file.path} line 1: no password record"
    )
    assert "secret" not in problem
    assert file.users is before
    assert file.refresh() == ()
    changed(file, bob="hush")
    assert file.refresh() == ()
    assert file.users.check("bob", "hush")


def test_a_file_that_is_gone_changes_nothing(file: UsersFile) -> None:
    """The same, with the system's words."""
    file.path.unlink()

    (problem,) = file.refresh()

    assert problem.endswith("users.txt: cannot be read: No such file or directory")
    assert len(file.users) == 1


def test_all_wrong_lines_are_told(tmp_path: Path) -> None:
    """Each with its number; of many, the first."""
    path = tmp_path / "users.txt"
    good = record("x").text()
    path.write_text(f"a:{good}\na:{good}\n:{good}\n b:{good}\nsecret\n" + "secret:\n" * 9)

    with pytest.raises(ValueError, match="txt line 2: this user has a line already") as told:
        read(path)

    parts = str(told.value).split("; ")
    assert "secret" not in str(told.value)
    assert "line 3: no user's name before the last colon" in str(told.value)
    assert parts[-1] == "and 3 more"


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    """With the byte where it ends to be."""
    path = tmp_path / "users.txt"
    path.write_bytes(b"abc\xff")

    with pytest.raises(ValueError, match="txt: not UTF-8 at byte 3"):
        read(path)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "#a",
        "a\n",
        "a\u2028b",
    ],
)
def test_some_names_fit_into_no_line(name: str) -> None:
    """They are refused where a user is made, too."""
    assert not is_user_name(name)


def test_nobody_costs_what_most_cost() -> None:
    """An unknown name is checked against the usual kind of record; without users, against ours."""
    dear = PasswordRecord("sha256", 20_000, 0, 0, bytes(16), bytes(32))
    users = HashedUsers({"a": dear, "b": record("x"), "c": dear})

    assert users._unknown[:4] == dear[:4]
    assert HashedUsers({})._unknown[:4] == ("", 16384, 8, 1)
    assert not users.check("nobody", "")


def test_nothing_shows_in_print(file: UsersFile) -> None:
    """Neither names nor records."""
    file.users.cache_verified("alice", "hush")

    assert repr(file.users) == "HashedUsers(1 users)"
