"""Changes of a users file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.security.users_file import (
    HashedUsers,
    delete_user,
    read,
    set_user,
    user_names,
)

if TYPE_CHECKING:
    from pathlib import Path

SALT = bytes(16)


def test_new_file_is_private(tmp_path: Path) -> None:
    file = tmp_path / "users.txt"

    assert set_user(file, "alice", "hush", SALT)

    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]
    assert HashedUsers(read(file)).check("alice", "hush")


def test_other_lines_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "users.txt"
    set_user(file, "bob", "x", SALT)
    bob = file.read_text()
    file.write_text(f"# ours\n\n{bob}# the end\n")
    file.chmod(0o640)

    assert set_user(file, "a:b c", "one", SALT)
    assert not set_user(file, "a:b c", "two", SALT)

    assert file.read_text().startswith(f"# ours\n\n{bob}# the end\na:b c:$scrypt$")
    assert user_names(file) == ["bob", "a:b c"]
    assert HashedUsers(read(file)).check("a:b c", "two")
    assert file.stat().st_mode & 0o777 == 0o640
    delete_user(file, "a:b c")
    assert file.read_text() == f"# ours\n\n{bob}# the end\n"


def test_file_behind_a_link_is_changed(tmp_path: Path) -> None:
    file, link = tmp_path / "users.txt", tmp_path / "link.txt"
    set_user(file, "alice", "one", SALT)
    link.symlink_to(file)

    set_user(link, "alice", "two", SALT)

    assert link.is_symlink()
    assert HashedUsers(read(file)).check("alice", "two")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_owner_of_the_file_stays(tmp_path: Path) -> None:
    """A server that is another user than the administrator reads it afterwards too."""
    file = tmp_path / "users.txt"
    set_user(file, "alice", "one", SALT)
    os.chown(file, 4321, 1234)

    set_user(file, "alice", "two", SALT)

    assert (file.stat().st_uid, file.stat().st_gid) == (4321, 1234)
    assert file.stat().st_mode & 0o777 == 0o600


def test_unknown_user_cannot_be_deleted(tmp_path: Path) -> None:
    file = tmp_path / "users.txt"
    set_user(file, "bob", "x", SALT)

    with pytest.raises(ValueError, match=r"users\.txt: no user 'alice'"):
        delete_user(file, "alice")


@pytest.mark.parametrize(("name", "password"), [("#a", "x"), ("", "x"), ("a", ""), ("a", "\0")])
def test_invalid_names_and_passwords_are_rejected(tmp_path: Path, name: str, password: str) -> None:
    with pytest.raises(ValueError, match=r"^found "):
        set_user(tmp_path / "users.txt", name, password, SALT)

    assert list(tmp_path.iterdir()) == []


def test_unwritable_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot write: No such file or directory"):
        set_user(tmp_path / "gone" / "users.txt", "a", "b", SALT)
