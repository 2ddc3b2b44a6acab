"""New passwords for commands: from a prompt, a pipe or a file.

Never from an argument: it would be in the shell's history and in the list of processes.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

PASSWORD_BYTES_MAX = 65_536


def new_password(file: Path | None) -> str:
    """Return the first line of a file, of stdin where that is no terminal, or of a prompt.

    Raises:
        ValueError: the line is missing, empty, too long or not UTF-8.
    """
    if file is not None and str(file) != "-":
        try:
            with file.open("rb") as opened:
                return _first_line(opened.read(PASSWORD_BYTES_MAX + 1), str(file))
        except OSError as error:
            raise ValueError(f"{file}: cannot be read: {error.strerror or error}") from None
    if file is None and sys.stdin.isatty():
        typed = click.prompt("New password", hide_input=True, confirmation_prompt=True)
        # Python decodes bytes that are not UTF-8 to lone surrogates; this restores the bytes.
        return _first_line(str(typed).encode(errors="surrogateescape"), "the password")
    data = sys.stdin.buffer.read(PASSWORD_BYTES_MAX + 1)
    return _first_line(data, "standard input")


def _first_line(data: bytes, name: str) -> str:
    if len(data) > PASSWORD_BYTES_MAX:
        raise ValueError(f"{name}: a password has at most {PASSWORD_BYTES_MAX} bytes")
    # Files from Windows end lines with CR LF; the CR is no part of the password.
    line = data.split(b"\n", 1)[0].removesuffix(b"\r")
    if not line:
        raise ValueError(f"{name}: the first line is the password; it is empty")
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise ValueError(f"{name}: the password is not UTF-8") from None
