r"""Reading ``server.properties``: Java's format, with the line of each entry.

The bytes are read as ISO 8859-1 with ``\uXXXX`` escapes, as a broker reads them.

Source: ``java.util.Properties.load(InputStream)``; Kafka's ``Utils.loadProps``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.config.errors import ConfigError, Problem

if TYPE_CHECKING:
    from pathlib import Path

OVERRIDE = "--override"


class Entry(NamedTuple):
    """A key, its value as written, and where it stands."""

    key: str
    value: str
    source: str


def read(path: Path) -> list[Entry]:
    """Read a file.

    Raises:
        ConfigError: the file cannot be read, or an escape in it is malformed.

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
        ConfigError: a ``\u`` escape is malformed.

    """
    # It imports XML, HTTP and mail: a fifth of the start, where no file is given.
    import javaproperties  # noqa: PLC0415

    entries: list[Entry] = []
    line = 1
    try:
        for element in javaproperties.parse(data):
            if isinstance(element, javaproperties.KeyValue):
                entries.append(Entry(element.key, element.value, f"{name} line {line}"))
            line += _lines(element.source)
    except javaproperties.InvalidUEscapeError as error:
        # The escape itself may be a part of a password.
        problem = Problem(f"{name} line {line}", "", r"a \u is not followed by four hex digits")
        raise ConfigError([problem]) from error
    return entries


def _lines(text: str) -> int:
    r"""Count the physical lines: each ends with ``\n``, ``\r\n`` or ``\r``."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")


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
