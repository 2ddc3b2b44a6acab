"""Who may ask."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.operations.http.credentials import (
    FILE_BYTES_MAX,
    Credentials,
    read_credentials,
)

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "a-token-of-some-length"


def basic(text: str) -> str:
    return f"Basic {base64.b64encode(text.encode()).decode()}"


def test_tokens_and_users_are_known() -> None:
    """By the scheme of the header, whose case does not count; names and passwords may be UTF-8."""
    known = Credentials([TOKEN, "another-token-of-ours"], ["prometheus:geheim-ü:x"])

    assert known.admit(f"Bearer {TOKEN}")
    assert known.admit("bearer another-token-of-ours")
    assert known.admit(basic("prometheus:geheim-ü:x"))


@pytest.mark.parametrize(
    "header",
    [
        *("", "Bearer", "Bearer ", "Basic", "Basic !!!", "Basic /w==", TOKEN, f"Digest {TOKEN}"),
        *(f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer prometheus:pw"),
        *(basic("prometheus:"), basic("prometheus"), basic(":pw"), basic("prometheus:PW")),
        *(basic(TOKEN), "Bearer \udcff\udcfe", "Basic \udcff", f"Bearer {TOKEN}\udcff"),
    ],
)
def test_others_are_not(header: str) -> None:
    """Nothing that is nearly right, empty or broken is, nor bytes that are no text."""
    assert not Credentials([TOKEN], ["prometheus:pw"]).admit(header)


def test_files_have_a_line_each(tmp_path: Path) -> None:
    """Empty lines and comments are left out, and spaces around a line."""
    tokens, users = tmp_path / "tokens", tmp_path / "users"
    tokens.write_text(f"# of Prometheus\n\n  {TOKEN}  \n")
    users.write_text("ops:pass word\n")

    known = read_credentials(tokens, users)

    assert known.admit(f"Bearer {TOKEN}")
    assert known.admit(basic("ops:pass word"))
    assert not known.admit("Bearer # of Prometheus")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "found no entry"),
        ("# only a comment\n", "found no entry"),
        ("short\n", "line 1: found 5 characters; allowed: a token of 16"),
        (f"{TOKEN}\nwith a space in the middle\n", "line 2"),
        ("x" * (FILE_BYTES_MAX + 1), f"found more than {FILE_BYTES_MAX} bytes"),
    ],
)
def test_a_file_of_tokens_that_is_wrong(tmp_path: Path, text: str, told: str) -> None:
    """The text names file and line, and never what stands there."""
    file = tmp_path / "tokens"
    file.write_text(text)

    with pytest.raises(ValueError, match=told) as caught:
        read_credentials(file, None)

    assert str(file) in str(caught.value)
    assert "short" not in str(caught.value)


@pytest.mark.parametrize("line", ["name", "name:", ":password"])
def test_a_file_of_users_that_is_wrong(tmp_path: Path, line: str) -> None:
    """Each line is a name and a password."""
    file = tmp_path / "users"
    file.write_text(f"ops:right\n{line}\n")

    with pytest.raises(ValueError, match="line 2: allowed: name:password"):
        read_credentials(None, file)
