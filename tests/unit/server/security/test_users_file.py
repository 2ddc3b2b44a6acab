"""The users file: its lines, its problems, and new versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import astuple, replace

from doorkeeper.server.security.password_records import PasswordRecord
from doorkeeper.server.security.users_file import HashedUsers, is_user_name, read, users_file
from testkit.edge import Log

if TYPE_CHECKING:
    from pathlib import Path


def record(password: str) -> PasswordRecord:
    """Return a record that is cheap to check."""
    empty = PasswordRecord("sha256", 10_000, 0, 0, bytes(16), bytes(32))
    return replace(empty, hash=empty.derive(password.encode()))


def written(path: Path, **users: str) -> Path:
    lines = [f"{name}:{record(password).text()}\n" for name, password in users.items()]
    path.write_text("# users\n\n" + "".join(lines))
    return path


def test_invalid_file_keeps_the_users(tmp_path: Path) -> None:
    path, log = written(tmp_path / "users.txt", alice="hush"), Log()
    file = users_file(path, log)
    before = file.value
    path.write_text("alice:secret-in-clear\n")

    assert file.current() is before

    problem = str(log.one("files not reloaded: the previous values stay in use").fields["problem"])
    assert problem.startswith(f"{path} line 1: not a password hash")
    assert "secret" not in problem
    path.unlink()
    assert file.current() is before
    assert "users.txt: cannot read: No such file" in str(log.lines[-1].fields["problem"])
    written(path, bob="hush")
    assert file.current().check("bob", "hush")


def test_all_invalid_lines_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "users.txt"
    good = record("x").text()
    path.write_text(f"a:{good}\na:{good}\n:{good}\n b:{good}\nsecret\n" + "secret:\n" * 9)

    with pytest.raises(ValueError, match="txt line 2: duplicate user") as told:
        read(path)

    parts = str(told.value).split("; ")
    assert "secret" not in str(told.value)
    assert "line 3: expected name:hash, without whitespace around the name" in str(told.value)
    assert parts[-1] == "and 3 more"


def test_invalid_utf_8_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "users.txt"
    path.write_bytes(b"abc\xff")

    with pytest.raises(ValueError, match="txt: byte 3 is not UTF-8"):
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
def test_unrepresentable_names_are_rejected(name: str) -> None:
    assert not is_user_name(name)


def test_unknown_user_costs_a_typical_check() -> None:
    dear = PasswordRecord("sha256", 20_000, 0, 0, bytes(16), bytes(32))
    users = HashedUsers({"a": dear, "b": record("x"), "c": dear})

    assert astuple(users._unknown)[:4] == astuple(dear)[:4]
    assert astuple(HashedUsers({})._unknown)[:4] == ("", 16384, 8, 1)
    assert not users.check("nobody", "")


def test_repr_hides_names_and_hashes() -> None:
    users = HashedUsers({"alice": record("hush")})
    users.cache_verified("alice", "hush")

    assert repr(users) == "HashedUsers(1 users)"
