"""Where a new password comes from."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from doorkeeper.cli.users.passwords import PASSWORD_BYTES_MAX, new_password

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Given = Callable[[bytes], None]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Given:
    """Put bytes on standard input."""

    def put(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return put


@pytest.mark.parametrize(
    ("data", "password"),
    [
        (b"secret\n", "secret"),
        (b"secret\r\nmore\n", "secret"),
        (b"\xef\xbb\xbfsecret\r\n", "secret"),
        (b" with blanks \n", " with blanks "),
        ("pass\u00e9\n".encode(), "pass\u00e9"),
    ],
)
def test_first_line_is_the_password(
    data: bytes, password: str, tmp_path: Path, given: Given
) -> None:
    file = tmp_path / "password"
    file.write_bytes(data)

    assert new_password(file) == password
    given(data)
    assert new_password(None) == password
    given(data)
    assert new_password(type(file)("-")) == password


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "the first line is empty; expected: the password"),
        (b"\nsecret\n", "the first line is empty; expected: the password"),
        (b"\xffx\n", "the password: byte 0 is not UTF-8"),
        ("secret".encode("utf-16"), "the password: found UTF-16; expected: UTF-8"),
        (b"sec\0ret\n", "the password contains a NUL byte"),
        (b"\xef\xbb\xbf\n", "the first line is empty; expected: the password"),
        (b"x" * (PASSWORD_BYTES_MAX + 1), "found more than 65536 bytes"),
    ],
)
def test_invalid_password_error_hides_the_password(
    data: bytes, text: str, tmp_path: Path, given: Given
) -> None:
    file = tmp_path / "password"
    file.write_bytes(data)
    given(data)

    with pytest.raises(ValueError, match=text) as of_file:
        new_password(file)
    with pytest.raises(ValueError, match=f"standard input: {text}"):
        new_password(None)
    assert str(of_file.value).startswith(f"{file}: ")
    with pytest.raises(ValueError, match=r"absent: cannot read: No such file"):
        new_password(tmp_path / "absent")


def test_password_prompt_does_not_echo() -> None:
    @click.command()
    def command() -> None:
        sys.stdin.isatty = lambda: True  # type: ignore[method-assign]
        click.echo(f"{len(new_password(None))} characters")

    result = CliRunner().invoke(command, input="secret\nsecret\n")

    assert result.output == ("New password: \nRepeat for confirmation: \n6 characters\n")


@pytest.mark.parametrize(
    ("password", "said"),
    [
        ("pass word", ""),
        ("p\u00e4ss\u0431", ""),
        ("secret ", "ends with a blank"),
        (" secret\t", "begins with a blank and ends with a tab"),
        ("sec\u00a0ret", "has U+00A0 NO-BREAK SPACE"),
        ("\u200bsecret\u200b", "has U+200B ZERO WIDTH SPACE"),
        ("secret\x7f", "has U+007F a control character"),
        ("u\u0308ber", "contains a combining accent, which"),
    ],
)
def test_invisible_characters_in_password_are_noted(
    password: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "password"
    file.write_text(f"{password}\n")

    assert new_password(file) == password

    told = capsys.readouterr().err
    assert (said in told) if said else (told == "")
    assert told.count("\n") == (1 if said else 0)
    assert "secret" not in told.replace(str(file), "")
