r"""Reading ``server.properties``: Java's format, with the line of each entry.

The bytes are read as ISO 8859-1 with ``\uXXXX`` escapes, as a broker reads them.

Source: ``java.util.Properties.load(InputStream)``; Kafka's ``Utils.loadProps``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.config.errors import ConfigError, Problem

if TYPE_CHECKING:
    from pathlib import Path

OVERRIDE = "--override"

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
r"""A physical line: it ends with ``\n``, ``\r\n`` or ``\r``."""

_COMMENT = re.compile(r"[ \t\f]*[#!]")
_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")
_SEPARATOR = re.compile(r"(?<!\\)(?:\\\\)*([ \t\f]*[=:]|[ \t\f])[ \t\f]*")
_ESCAPE = re.compile(r"\\(u.{0,4}|.)")
_UNICODE = re.compile(r"u[0-9A-Fa-f]{4}\Z")
_SURROGATES = re.compile(r"[\uD800-\uDBFF][\uDC00-\uDFFF]")
_CONTROLS = {"t": "\t", "n": "\n", "f": "\f", "r": "\r"}


class Entry(NamedTuple):
    """A key, its value as written, and where it stands. The value may be a secret."""

    key: str
    value: str
    source: str

    def __repr__(self) -> str:
        """Leave out the value."""
        return f"Entry({self.key}, {self.source})"


def read(path: Path) -> list[Entry]:
    """Read a file.

    Raises:
        ConfigError: the file cannot be read, or escapes in it are malformed.

    """
    try:
        data = path.read_bytes()
    except OSError as error:
        text = f"cannot be read: {error.strerror or error}"
        raise ConfigError([Problem(str(path), "", text)]) from error
    return parse(data, str(path))


def parse(data: bytes, name: str) -> list[Entry]:
    r"""Return the entries of a file's bytes, in order, repeated keys included.

    Raises:
        ConfigError: every ``\u`` escape that is malformed, with the entries without one.

    """
    lines: list[str] = _LINE.findall(data.decode("iso-8859-1"))
    entries: list[Entry] = []
    problems: list[Problem] = []
    taken = 0
    while taken < len(lines):
        source = f"{name} line {taken + 1}"
        line, taken = _logical_line(lines, taken)
        if not line:
            continue
        try:
            entries.append(Entry(*_key_and_value(line), source))
        except ValueError:
            # The escape itself may be a part of a password.
            text = r"a \u is not followed by four hex digits"
            problems.append(Problem(source, "", text))
    if problems:
        raise ConfigError(problems, entries)
    return entries


def _logical_line(lines: list[str], at: int) -> tuple[str, int]:
    """Return the line that begins there, with those that continue it, and where the next begins.

    It is empty where there is nothing on it but a comment.
    """
    if _COMMENT.match(lines[at]):
        return "", at + 1
    line = _stripped(lines[at])
    at += 1
    while _CONTINUED.search(line):
        line = line[:-1]
        if at < len(lines):
            line += _stripped(lines[at])
            at += 1
    return line, at


def _stripped(line: str) -> str:
    return line.lstrip(" \t\f").rstrip("\r\n")


def _key_and_value(line: str) -> tuple[str, str]:
    r"""Part a logical line at its first separator that no backslash escapes.

    Raises:
        ValueError: a ``\u`` escape is malformed.

    """
    separator = _SEPARATOR.search(line)
    if separator is None:
        return _unescaped(line), ""
    return _unescaped(line[: separator.start(1)]), _unescaped(line[separator.end() :])


def _unescaped(text: str) -> str:
    return _SURROGATES.sub(_joined, _ESCAPE.sub(_meant, text))


def _meant(escape: re.Match[str]) -> str:
    text = escape[1]
    if text[0] != "u":
        return _CONTROLS.get(text, text)
    if not _UNICODE.match(text):
        raise ValueError(text)
    return chr(int(text[1:], 16))


def _joined(pair: re.Match[str]) -> str:
    """Return the character of a pair of surrogates: Java's strings are UTF-16."""
    return pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def override(argument: str) -> Entry:
    """Return the entry of one ``--override key=value``.

    Raises:
        ConfigError: there is no ``=``, or nothing before it.

    """
    key, equals, value = argument.partition("=")
    if not equals or not key.strip():
        # The text may hold a password, so that only what cannot be one is shown.
        raise ConfigError([Problem(OVERRIDE, "", "expected key=value")])
    return Entry(key.strip(), value, OVERRIDE)
