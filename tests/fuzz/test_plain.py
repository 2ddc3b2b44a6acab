"""Tokens of PLAIN that no client would send, and users files that nobody would write."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from doorkeeper.authn.contract import AuthenticationContext, Failure, Success
from doorkeeper.authn.password_records import FIELD_BYTES_MAX, MEMORY_BYTES_MAX
from doorkeeper.authn.passwords import PlainUsers
from doorkeeper.authn.plain import PlainMechanism
from doorkeeper.authn.users_file import is_user_name, read
from testkit.fuzzing import fuzz

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET = "hush\x01\x02"
USERS = PlainUsers({"alice": SECRET})
CONTEXT = AuthenticationContext("A", "SASL_PLAINTEXT", "127.0.0.1")
RECORD = "$scrypt$ln=14,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$" + "A" * 43
SEEDS = (
    f"\0alice\0{SECRET}".encode(),
    b"alice\0alice\0x",
    b"\0\0\0\0",
    f"# c\nalice:{RECORD}\nb:$pbkdf2-sha512$10000$AAECAwQFBgcICQoLDA0ODw${'A' * 86}\n".encode(),
)
MODULES = (
    "doorkeeper.authn.plain",
    "doorkeeper.authn.password_records",
    "doorkeeper.authn.users_file",
)
FILE = Path(tempfile.gettempdir()) / "fuzzed-users.txt"


def token(data: bytes) -> None:
    """Take a token: alice with her password gets in, all else is refused without a trace of it."""
    step = PlainMechanism(USERS, CONTEXT).step(data)

    assert isinstance(step, (Success, Failure))
    if isinstance(step, Success):
        assert data in (f"\0alice\0{SECRET}".encode(), f"alice\0alice\0{SECRET}".encode())
    else:
        assert SECRET not in f"{step.text}{step.reason}"


def file(data: bytes) -> None:
    """Read a file: records within their bounds, or an error that names a line or a byte."""
    FILE.write_bytes(data)
    told, records = "", {}
    try:
        records = read(FILE)
    except ValueError as error:
        told = str(error)
    assert not told or told.startswith((f"{FILE} line ", f"{FILE}: not UTF-8 at byte "))
    assert "\n" not in told
    for name, record in records.items():
        assert is_user_name(name)
        assert 128 * record.block * record.work * (not record.digest) <= MEMORY_BYTES_MAX
        assert 0 < len(record.salt) <= FIELD_BYTES_MAX
        assert 0 < len(record.hash) <= FIELD_BYTES_MAX


@pytest.mark.slow
@pytest.mark.parametrize("target", [token, file])
def test_any_bytes_are_read_or_refused(
    target: Callable[[bytes], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is raised, nothing is let in that should not be, and nothing secret is told."""
    # The process that tries has its file there.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    fuzz(target, SEEDS, modules=MODULES)
