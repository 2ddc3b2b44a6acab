"""The search for secrets finds them, in whatever form."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from testkit.leaks import files_of, leaks

if TYPE_CHECKING:
    from pathlib import Path

SECRET = 'it\'s "quoted" ä\n'


@pytest.mark.parametrize(
    "output",
    [
        SECRET.encode(),
        f"name={SECRET!r} and more".encode(),
        b"Basic " + base64.b64encode(SECRET.encode()),
        SECRET.encode().hex().encode(),
        repr(SECRET.encode()).encode(),
        b"?password=it%27s%20%22quoted%22%20%C3%A4%0A",
        rb'{"event": "it\'s \"quoted\" \u00e4\n"}'.replace(rb"\'", b"'"),
        SECRET.encode("utf-16-le"),
    ],
)
def test_a_secret_is_found(output: bytes) -> None:
    """As it is, in base64, in hexadecimal, escaped by Python, JSON and URLs."""
    assert leaks([SECRET], {"log": b"before " + output + b" after"}) == [f"log: {SECRET!r}"]


def test_what_is_no_secret_is_not_found(tmp_path: Path) -> None:
    """Neither in texts nor in files; every file is read."""
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "file").write_bytes(b"nothing")

    files = files_of(tmp_path)

    assert list(files) == [f"{tmp_path.name}/below/file"]
    assert leaks([SECRET, b"\0\1\2"], files) == []
    assert leaks([b"thin"], files) == [f"{tmp_path.name}/below/file: b'thin'"]
