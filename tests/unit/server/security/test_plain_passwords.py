"""Who knows the passwords of PLAIN."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from doorkeeper.server.runtime.logger import NO_LOG
from doorkeeper.server.security.contract import AuthenticationContext
from doorkeeper.server.security.password_records import PasswordRecord
from doorkeeper.server.security.plain import FilePasswords, NotVerified, PlainUsers

if TYPE_CHECKING:
    from pathlib import Path

CONTEXT = AuthenticationContext("A", "SASL_PLAINTEXT", "10.0.0.7")


def line(name: str, password: str) -> str:
    empty = PasswordRecord("sha256", 10_000, 0, 0, bytes(16), bytes(32))
    return f"{name}:{replace(empty, hash=empty.derive(password.encode())).text()}\n"


@pytest.fixture
async def passwords(tmp_path: Path) -> AsyncIterator[FilePasswords]:
    path = tmp_path / "users.txt"
    path.write_text(line("alice", "hush") + line("both", "file"))
    jaas = PlainUsers({"bob": "bob-secret", "both": "jaas"})
    made = FilePasswords(path, jaas, NO_LOG, timeout_s=3600)
    yield made
    await made.close()


async def accepted(passwords: FilePasswords, name: str, password: str) -> tuple[bool, bool]:
    """Return the answer, and whether it came at once."""
    answer = passwords.accepts(name, password, CONTEXT)
    if isinstance(answer, bool):
        return answer, True
    return await answer, False


def test_login_module_passwords_are_compared_by_digest() -> None:
    users = PlainUsers({"a": "x", "b": "y" * 1000})

    assert users.accepts("a", "x")
    assert not users.accepts("a", "y")
    assert not users.accepts("c", "x")
    assert {len(digest) for digest in users._digests.values()} == {32}
    assert b"x" not in users._digests.values()
    assert repr(users) == "PlainUsers(2 users)"


async def test_verified_password_is_cached(passwords: FilePasswords) -> None:
    assert await accepted(passwords, "alice", "hush") == (True, False)
    assert await accepted(passwords, "alice", "hush") == (True, True)


async def test_wrong_passwords_take_constant_time(passwords: FilePasswords) -> None:
    for _ in range(2):
        for name in ("alice", "bob", "nobody"):
            assert await accepted(passwords, name, "wrong") == (False, False)


async def test_user_in_both_sources_has_two_passwords(passwords: FilePasswords) -> None:
    assert await accepted(passwords, "both", "jaas") == (True, True)
    assert await accepted(passwords, "both", "file") == (True, False)


async def test_replaced_file_clears_the_cache(passwords: FilePasswords, tmp_path: Path) -> None:
    before = passwords._file.value
    checking = passwords.accepts("alice", "hush", CONTEXT)
    assert isinstance(checking, Awaitable)
    (tmp_path / "users.txt").write_text(line("alice", "a newer one"))
    passwords.refresh()

    assert await checking
    assert before.was_verified("alice", "hush")
    assert not passwords._file.value.was_verified("alice", "hush")


async def test_password_check_times_out(tmp_path: Path) -> None:
    path = tmp_path / "users.txt"
    path.write_text(line("alice", "hush"))
    passwords = FilePasswords(path, PlainUsers({}), NO_LOG, timeout_s=0)

    with pytest.raises(NotVerified, match="no thread available to hash a password within 0 s"):
        await accepted(passwords, "alice", "hush")
    await passwords.close()


async def test_password_checks_do_not_block_the_loop(passwords: FilePasswords) -> None:
    checks = [asyncio.ensure_future(accepted(passwords, "alice", "wrong")) for _ in range(3)]
    turns = 0
    while not all(check.done() for check in checks):
        turns += 1
        await asyncio.sleep(0)

    assert turns > len(checks)
    assert [check.result() for check in checks] == [(False, False)] * len(checks)
