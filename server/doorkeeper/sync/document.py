"""Values of a YAML file, with their places; faults are collected, not raised.

A ``YamlValue`` wraps one value. Its methods return the requested type or, after recording a fault,
None or an empty value; reading goes on, so one run finds all faults. The file is parsed as files of
ACLs are: see ``acls.formats.yaml_documents``.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from doorkeeper.acls.formats.lines import Path as Place
from doorkeeper.acls.formats.lines import lines_of
from doorkeeper.acls.formats.names import FormatError, short
from doorkeeper.acls.formats.yaml_documents import document_of_yaml
from doorkeeper.base.encodings import not_utf8
from doorkeeper.server.app.errors import StartError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# Reading must not take minutes.
FILE_BYTES_MAX = 16 * 1024 * 1024


def read(path: Path) -> YamlValue:
    """Return the document of a file.

    Raises:
        StartError: it cannot be read, or is no YAML.
    """
    line = ""
    try:
        # The size first: a huge file must not be read into memory.
        size = path.stat().st_size
        if size <= FILE_BYTES_MAX:
            return parse(path.read_bytes().decode(), str(path))
        fault = f"{size} bytes; at most {FILE_BYTES_MAX}"
    except OSError as error:
        fault = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError as error:
        fault = not_utf8(error)
    except FormatError as error:
        line = f":{error.line}" if error.line else ""
        fault = str(error).removeprefix(f"line {error.line}: ")
    raise StartError(f"{path}{line}: {fault}")


def parse(text: str, file: str) -> YamlValue:
    """Return the document of a text; ``file`` is named in faults."""
    return YamlValue(document_of_yaml(text), (), FaultList(file, text))


class FaultList:
    """The faults of one file: ``file:line: clusters[2].name: text``."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text
        self._faults: list[tuple[Place, str]] = []

    def note(self, path: Place, text: str) -> None:
        self._faults.append((path, text))

    def raise_any(self) -> None:
        """Raise a ``StartError`` with the faults, sorted by line."""
        if not self._faults:
            return
        line_of = lines_of(self._text)
        by_line = sorted(
            ((line_of(path), path, text) for path, text in self._faults),
            key=lambda fault: fault[0],
        )
        raise StartError(*(self._text_of(*fault) for fault in by_line))

    def _text_of(self, line: int, path: Place, text: str) -> str:
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        source = f"{self._file}:{line}" if line else self._file
        return ": ".join(filter(None, (source, "".join(steps).removeprefix("."), text)))


class YamlValue:
    """A value of the document."""

    __slots__ = ("_place", "_value", "faults")

    def __init__(self, value: object, path: Place, faults: FaultList) -> None:
        self._value = value
        self._place = path
        self.faults = faults
        """Those of the whole file."""

    def fault(self, text: str) -> None:
        """Record a fault of this value."""
        self.faults.note(self._place, text)

    def is_text(self) -> bool:
        """Return whether this is a scalar."""
        return not isinstance(self._value, (list, dict))

    def is_list(self) -> bool:
        return isinstance(self._value, list)

    def is_null(self) -> bool:
        """Return whether nothing was written."""
        return self._value is None

    def text(self) -> str | None:
        """Return the text, which is not empty."""
        if not isinstance(self._value, str):
            # What YAML reads as a number, a truth value or a date would be another name elsewhere.
            hint = "; put quotes around it" if self.is_text() and not self.is_null() else ""
            self.fault(f"must be a text, not {self._display()}{hint}")
            return None
        if not self._value:
            self.fault("must not be empty")
            return None
        return self._value

    def scalar(self) -> str | None:
        """Return a text, a number or a truth value as text."""
        if not isinstance(self._value, (str, int, float)):
            self.fault(f"must be a single value, not {self._display()}")
            return None
        value = str(self._value)
        return value.lower() if isinstance(self._value, bool) else value

    def number(self, low: int, high: int) -> int | None:
        """Return a whole number within bounds."""
        value = self._value
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.fault(f"must be a whole number from {low} to {high}, not {self._display()}")
            return None
        return value

    def items(self) -> list[YamlValue]:
        """Return the elements of a list."""
        if not isinstance(self._value, list):
            self.fault(f"must be a list, not {self._display()}")
            return []
        return [self._part(index, item) for index, item in enumerate(self._value)]

    def entries(self) -> dict[str, YamlValue]:
        """Return the values of a mapping by key."""
        if not isinstance(self._value, dict):
            self.fault(f"must be a mapping, not {self._display()}")
            return {}
        entries: dict[str, YamlValue] = {}
        for key, value in self._value.items():
            if isinstance(key, str):
                entries[key] = self._part(key, value)
            else:
                self.fault(f"a key must be a text, not {short(key)}")
        return entries

    def fields(self, allowed: Sequence[str], required: Sequence[str] = ()) -> dict[str, YamlValue]:
        """Return the values of a mapping with known keys.

        A key without a value counts as absent.
        """
        entries = self.entries()
        for key in entries.keys() - set(allowed):
            near = get_close_matches(key, allowed, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(allowed)}"
            entries.pop(key).fault(f"unknown key{hint}")
        present = {key: value for key, value in entries.items() if not value.is_null()}
        if isinstance(self._value, dict):
            for key in required:
                if key not in present:
                    self.fault(f"lacks {key}")
        return present

    def _part(self, step: str | int, value: object) -> YamlValue:
        return YamlValue(value, (*self._place, step), self.faults)

    def _display(self) -> str:
        if isinstance(self._value, list):
            return "a list"
        if isinstance(self._value, dict):
            return "a mapping"
        return "nothing" if self._value is None else short(self._value)
