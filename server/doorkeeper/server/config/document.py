"""YAML nodes with their lines; faults are collected, not raised.

A ``YamlValue`` wraps one node. Its methods return the requested type or, after recording a fault,
None or an empty value; reading goes on, so one run finds all faults.

Fault           a fault at a place of a file
FaultyDocument  every fault of a file, in its order

Scalars are read as written: YAML's implicit types (``no`` is false, ``1_000`` a number) would
change some names. A name that YAML does not read as text is a fault, because other tools would read
it differently.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

# Reading must not take minutes.
FILE_BYTES_MAX = 16 * 1024 * 1024

# PyYAML's loader in C, if it was built: ten times as fast.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_TEXT, _INT, _FLOAT = (f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float"))
_BOOL, _NULL = (f"tag:yaml.org,2002:{kind}" for kind in ("bool", "null"))
_TRUE = frozenset({"true", "yes", "on"})
_SHOWN_MAX = 60
# The longest string of Kafka's protocol: a longer one could not be encoded in a response.
_TEXT_BYTES_MAX = 32_767


class Fault(NamedTuple):
    """A fault at a path such as ``groups[2].id``. ``line`` 0 is the whole file."""

    file: str
    line: int
    path: str
    text: str

    def __str__(self) -> str:
        """Return ``file:line: path: text``."""
        source = f"{self.file}:{self.line}" if self.line else self.file
        return ": ".join(part for part in (source, self.path, self.text) if part)


class FaultyDocument(Exception):
    """The file is not what it must be."""

    def __init__(self, problems: Sequence[Fault]) -> None:
        """The faults are sorted by line."""
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        super().__init__("\n".join(map(str, self.problems)))


class FaultList:
    """The faults of one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Fault] = []

    def note(self, line: int, path: str, text: str) -> None:
        self.problems.append(Fault(self.file, line, path, text))

    def raise_any(self) -> None:
        """Raise a ``FaultyDocument`` if there are faults."""
        if self.problems:
            raise FaultyDocument(self.problems)


def read(path: Path, faults: FaultList) -> YamlValue | None:
    """Return the document of a file; None if it is empty, or cannot be read."""
    try:
        # The size first: a huge file must not be read into memory.
        size = path.stat().st_size
        if size > FILE_BYTES_MAX:
            faults.note(0, "", f"{size} bytes; at most {FILE_BYTES_MAX}")
            return None
        text = path.read_bytes().decode()
    except OSError as error:
        faults.note(0, "", f"cannot be read: {error.strerror}")
        return None
    except UnicodeDecodeError as error:
        faults.note(0, "", f"is not UTF-8 at byte {error.start}")
        return None
    return parse(text, faults)


def parse(text: str, faults: FaultList) -> YamlValue | None:
    """Return the document; None if it is empty or invalid YAML."""
    try:
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        faults.note(0 if mark is None else mark.line + 1, "", f"invalid YAML: {error.problem}")
        return None
    except yaml.YAMLError as error:
        faults.note(0, "", f"invalid YAML: {error}")
        return None
    # PyYAML composes nested lists recursively.
    except RecursionError:
        faults.note(0, "", "nested too deeply")
        return None
    return None if node is None else YamlValue(node, "", faults)


class YamlValue:
    """A node of the document."""

    __slots__ = ("_faults", "_node", "path")

    def __init__(self, node: yaml.Node, path: str, faults: FaultList) -> None:
        """``path`` is its name in faults."""
        self._node = node
        self._faults = faults
        self.path = path

    def fault(self, text: str) -> None:
        """Record a fault of this value."""
        self._faults.note(self._node.start_mark.line + 1, self.path, text)

    def is_text(self) -> bool:
        """Return whether this is a scalar."""
        return isinstance(self._node, yaml.ScalarNode)

    def is_list(self) -> bool:
        return isinstance(self._node, yaml.SequenceNode)

    def text(self, *, allow_empty: bool = False) -> str | None:
        """Return the text as written, at most as long as a string of the protocol."""
        return self._check_size(self.raw_text(allow_empty=allow_empty))

    def raw_text(self, *, allow_empty: bool = False) -> str | None:
        """Return the text as written, of any length."""
        node = self._node
        # Quoted scalars always have the tag of text, so quotes are the remedy.
        if not isinstance(node, yaml.ScalarNode) or node.tag in (_NULL, _BOOL, _INT, _FLOAT):
            hint = "; put quotes around it" if self.is_text() and node.tag != _NULL else ""
            self.fault(f"must be a text, not {self._display()}{hint}")
            return None
        if not node.value and not allow_empty:
            self.fault("must not be empty")
            return None
        return str(node.value)

    def scalar(self) -> str | None:
        """Return a scalar as text: numbers as written, booleans as true or false."""
        node = self._node
        if not isinstance(node, yaml.ScalarNode) or node.tag == _NULL:
            self.fault(f"must be a single value, not {self._display()}")
            return None
        if node.tag == _BOOL:
            return "true" if node.value.lower() in _TRUE else "false"
        return self._check_size(str(node.value))

    def number(self, low: int, high: int) -> int | None:
        """Return a decimal integer within bounds."""
        node = self._node
        allowed = f"must be a whole number from {low} to {high}"
        if not isinstance(node, yaml.ScalarNode) or node.tag != _INT or not _is_decimal(node):
            self.fault(f"{allowed}, not {self._display()}")
            return None
        number = int(node.value)
        if not low <= number <= high:
            self.fault(f"{allowed}, not {self._display()}")
            return None
        return number

    def boolean(self) -> bool:
        node = self._node
        if not isinstance(node, yaml.ScalarNode) or node.tag != _BOOL:
            self.fault(f"must be true or false, not {self._display()}")
            return False
        return node.value.lower() in _TRUE

    def items(self) -> list[YamlValue]:
        """Return the elements of a list."""
        node = self._node
        if not isinstance(node, yaml.SequenceNode):
            self.fault(f"must be a list, not {self._display()}")
            return []
        return [
            YamlValue(item, f"{self.path}[{index}]", self._faults)
            for index, item in enumerate(node.value)
        ]

    def entries(self) -> dict[str, YamlValue]:
        """Return the values of a mapping by key."""
        node = self._node
        if not isinstance(node, yaml.MappingNode):
            self.fault(f"must be a mapping, not {self._display()}")
            return {}
        return dict(self._pairs(node))

    def _pairs(self, node: yaml.MappingNode) -> Iterator[tuple[str, YamlValue]]:
        seen: set[str] = set()
        prefix = f"{self.path}." if self.path else ""
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is None:
                YamlValue(key_node, self.path, self._faults).fault("a key must be a single value")
            elif key in seen:
                YamlValue(key_node, f"{prefix}{key}", self._faults).fault("occurs twice")
            else:
                seen.add(key)
                yield key, YamlValue(value_node, f"{prefix}{key}", self._faults)

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
        if isinstance(self._node, yaml.MappingNode):
            for key in required:
                if key not in present:
                    self.fault(f"lacks {key}")
        return present

    def is_null(self) -> bool:
        """Return whether nothing was written."""
        return bool(self._node.tag == _NULL)

    def _check_size(self, text: str | None) -> str | None:
        try:
            size = 0 if text is None else len(text.encode())
        except UnicodeEncodeError:
            self.fault("holds half of a surrogate pair, which is no character")
            return None
        if size > _TEXT_BYTES_MAX:
            self.fault(f"takes {size} bytes; at most {_TEXT_BYTES_MAX}")
            return None
        return text

    def _display(self) -> str:
        node = self._node
        if isinstance(node, yaml.ScalarNode):
            if node.tag == _NULL:
                return "nothing"
            shown = str(node.value)
            return repr(shown if len(shown) <= _SHOWN_MAX else shown[:_SHOWN_MAX] + "...")
        return "a list" if isinstance(node, yaml.SequenceNode) else "a mapping"


def _is_decimal(node: yaml.ScalarNode) -> bool:
    text = node.value.lstrip("+-")
    # YAML 1.1 reads 010 as eight; its author may mean ten.
    has_leading_zero = text.startswith("0") and text != "0"
    # At most 18 digits: longer texts are out of range, and int() has a limit of its own.
    return bool(text.isascii() and text.isdigit() and len(text) <= 18 and not has_leading_zero)
