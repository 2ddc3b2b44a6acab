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


def test_valid_tokens_and_users() -> None:
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
def test_invalid_credentials_are_rejected(header: str) -> None:
    assert not Credentials([TOKEN], ["prometheus:pw"]).admit(header)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_credential_files_have_one_entry_per_line(tmp_path: Path, mark: str) -> None:
    """A byte order mark is not part of the first name."""
    tokens, users = tmp_path / "tokens", tmp_path / "users"
    tokens.write_text(f"{mark}# of Prometheus\n\n  {TOKEN}  \n", encoding="utf-8")
    users.write_text(f"{mark}ops:pass word\n", encoding="utf-8")

    known = read_credentials(tokens, users)

    assert known.admit(f"Bearer {TOKEN}")
    assert known.admit(basic("ops:pass word"))
    assert not known.admit("Bearer # of Prometheus")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "found no entries"),
        ("# only a comment\n", "found no entries"),
        ("short\n", "line 1: found 5 characters; allowed: a token of 16"),
        (f"{TOKEN}\nwith a space in the middle\n", "line 2"),
        ("x" * (FILE_BYTES_MAX + 1), f"found more than {FILE_BYTES_MAX} bytes"),
    ],
)
def test_invalid_token_file_is_rejected(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "tokens"
    file.write_text(text)

    with pytest.raises(ValueError, match=told) as caught:
        read_credentials(file, None)

    assert str(file) in str(caught.value)
    assert "short" not in str(caught.value)


@pytest.mark.parametrize("line", ["name", "name:", ":password"])
def test_invalid_user_file_is_rejected(tmp_path: Path, line: str) -> None:
    file = tmp_path / "users"
    file.write_text(f"ops:right\n{line}\n")

    with pytest.raises(ValueError, match="line 2: expected: name:password"):
        read_credentials(None, file)
