"""New passwords for commands: from a prompt, a pipe or a file.

Never from an argument: it would be in the shell's history and in the list of processes.
"""

from __future__ import annotations

import sys
import unicodedata
from typing import TYPE_CHECKING

import click

from doorkeeper.base.encodings import not_utf8
from doorkeeper.cli.terminal import say

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PASSWORD_BYTES_MAX = 65_536


def new_password(file: Path | None) -> str:
    """Return the first line of a file, of stdin where that is no terminal, or of a prompt.

    Raises:
        ValueError: the line is missing, empty, too long or not UTF-8, or has a NUL.
    """
    if file is not None and str(file) != "-":
        try:
            with file.open("rb") as opened:
                return _first_line(opened.read(PASSWORD_BYTES_MAX + 1), str(file))
        except OSError as error:
            raise ValueError(f"{file}: cannot read: {error.strerror or error}") from None
    if file is None and sys.stdin.isatty():
        typed = click.prompt("New password", hide_input=True, confirmation_prompt=True)
        # Python decodes bytes that are not UTF-8 to lone surrogates; this restores the bytes.
        return _first_line(str(typed).encode(errors="surrogateescape"), "the password")
    data = sys.stdin.buffer.read(PASSWORD_BYTES_MAX + 1)
    return _first_line(data, "standard input")


def _first_line(data: bytes, name: str) -> str:
    if len(data) > PASSWORD_BYTES_MAX:
        raise ValueError(
            f"{name}: found more than {PASSWORD_BYTES_MAX} bytes; expected: a password"
        )
    # Files from Windows begin with a byte order mark and end lines with CR LF: neither is a part.
    line = data.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].removesuffix(b"\r")
    if not line:
        raise ValueError(f"{name}: the first line is empty; expected: the password")
    try:
        return checked(line.decode(), name)
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: the password: {not_utf8(error)}") from None


def checked(password: str, name: str) -> str:
    """Return a password; letters that nobody sees or types are said on stderr, without it.

    Brokers compare bytes: ``ScramFormatter.normalize`` maps none of them to another.

    Raises:
        ValueError: it has a NUL, which no client can send.
    """
    if "\0" in password:
        raise ValueError(f"{name}: the password contains a NUL byte, which SASL does not allow")
    if notes := list(_notes(password)):
        say(f"note: {name}: the password {' and '.join(notes)}; a login without it fails")
    return password


def _notes(password: str) -> Iterator[str]:
    for end, letter in (("begins", password[:1]), ("ends", password[-1:])):
        if letter in (" ", "\t"):
            yield f"{end} with a {'blank' if letter == ' ' else 'tab'}"
    for letter in dict.fromkeys(password.strip(" \t")):
        if letter != " " and unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp", "Zs"):
            yield f"has U+{ord(letter):04X} {unicodedata.name(letter, 'a control character')}"
    if unicodedata.normalize("NFC", password) != password:
        yield "contains a combining accent, which keyboards do not produce"
