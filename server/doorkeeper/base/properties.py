r"""Parser of ``server.properties``: Java's format, with the line of each entry.

The bytes are ISO 8859-1 with ``\uXXXX`` escapes, as for a broker.

Source: ``java.util.Properties.load(InputStream)``; Kafka's ``Utils.loadProps``.
"""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING, Union, cast

from doorkeeper.base.config_errors import ConfigError
from doorkeeper.base.entry import Entry, Problem

if TYPE_CHECKING:
    from pathlib import Path

OVERRIDE = "--override"

# All but tabs, line ends and form feeds, which are white space.
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")

_PEM_BEGIN = "-----BEGIN"
_PEM_END = "-----END"
CONTINUED = "End each of its lines but the last with \\n\\"

# A physical line: it ends with \n, \r\n or \r.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class KeptInput:
    """The bytes of standard input in the place of a file, which may be read more than once."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read_bytes(self) -> bytes:
        return self._data

    def __str__(self) -> str:
        return "standard input"

    # The bytes may have a password.
    __repr__ = __str__


PropertiesFile = Union["Path", KeptInput]


def read(path: PropertiesFile) -> list[Entry]:
    """Read a file.

    Raises:
        ConfigError: the file cannot be read, is binary, or has malformed escapes.
    """
    return parse(read_bytes(path), str(path))


def read_bytes(path: PropertiesFile) -> bytes:
    """Return the bytes of a file, for ``parse``.

    Raises:
        ConfigError: the file cannot be read, or is binary.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        text = f"cannot be read: {error.strerror or error}"
        raise ConfigError([Problem(str(path), "", text)]) from error
    control = _CONTROL.search(data)
    if control is not None:
        # Java would take it; no value that counts holds one, and every binary file does.
        code = control[0][0]
        what = f"the control character 0x{code:02x}" if code else "a NUL"
        text = f"found {what} at byte {control.start()}; expected: lines of key=value"
        raise ConfigError([Problem(str(path), "", text)])
    return data


def parse(data: bytes, name: str) -> list[Entry]:
    r"""Return the entries of a file's bytes, in order, with repeated keys.

    Raises:
        ConfigError: with every malformed ``\u`` escape and every PEM that is not continued, and the
            other entries.
    """
    # It imports XML, HTTP and mail: a fifth of the start, saved without a file.
    import javaproperties

    entries: list[Entry] = []
    problems: list[Problem] = []
    lines = _Lines(data)
    while not lines.is_at_end:
        begin = lines.taken + 1
        try:
            for element in javaproperties.parse(cast("IO[str]", lines)):
                if isinstance(element, javaproperties.KeyValue):
                    entries.append(Entry(element.key, element.value, f"{name} line {begin}"))
                begin = lines.taken + 1
        except javaproperties.InvalidUEscapeError:
            # The escape is not quoted: it may be part of a password.
            text = r"a \u is not followed by four hex digits"
            problems.append(Problem(f"{name} line {begin}", "", text))
    entries, cut = _without_cut_pems(entries)
    problems += cut
    if problems:
        raise ConfigError(problems, entries)
    return entries


def is_cut_pem(text: str) -> bool:
    """Return whether a PEM begins in a text, and does not end."""
    return _PEM_BEGIN in text and _PEM_END not in text


def _without_cut_pems(entries: list[Entry]) -> tuple[list[Entry], list[Problem]]:
    """Return the entries that are not lines of a PEM, and a problem for each PEM.

    To the reader each line of a PEM without a backslash is an entry, with a part of a private key
    for its name. Names are shown in many places, so these entries go where they arise.
    """
    remaining: list[Entry] = []
    problems: list[Problem] = []
    in_pem = False
    for entry in entries:
        begins = entry.key.startswith(_PEM_BEGIN) or is_cut_pem(entry.value)
        if begins:
            number = entry.source.rpartition(" ")[2]
            key = "" if entry.key.startswith(_PEM_BEGIN) else entry.key
            text = f"line {number} is not continued: is this PEM? {CONTINUED}"
            problems.append(Problem(entry.source, key, text))
            in_pem = True
        elif in_pem and entry.key.startswith(_PEM_END):
            in_pem = False
        # No line of base64 has a dot, and nearly each key does.
        elif not in_pem or "." in entry.key:
            remaining.append(entry)
            in_pem = False
    return remaining, problems


class _Lines:
    """The physical lines of a file; reading can continue after an error."""

    def __init__(self, data: bytes) -> None:
        self._lines: list[str] = _LINE.findall(data.decode("iso-8859-1"))
        self.taken = 0

    @property
    def is_at_end(self) -> bool:
        return self.taken >= len(self._lines)

    def readline(self) -> str:
        if self.is_at_end:
            return ""
        self.taken += 1
        return self._lines[self.taken - 1]


def override(argument: str) -> Entry:
    """Return the entry of an ``--override key=value``."""
    key, equals, value = argument.partition("=")
    if not equals or not key.strip():
        # The text is not quoted: it may be a password.

        raise ConfigError([Problem(OVERRIDE, "", "expected key=value")])
    return Entry(key.strip(), value, OVERRIDE)
