"""Texts of YAML and JSON, each parsed once: the documents, and the lines of their parts.

A path leads from the document to a part: names of members, and indexes of items.

Python's parser of JSON keeps the last of two members with one name: of two lists ``acls`` the first
would be lost, and applying the rest would remove its bindings. Here that is an error, with its line
where there is one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any, Final

from msgspec import Struct

from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.formats.yaml_documents import documents_of_yaml

Path = tuple[str | int, ...]
LineOf = Callable[[Path], int]

_LINES_MAX: Final = 20_000_000
"""The longest text whose lines are looked for: its nodes take a hundred times as much memory."""

_TEMPLATE = re.compile(r"\{\{|\{%")


class Source(Struct, frozen=True):
    """The documents of a text; a path begins with the index of its document."""

    text: str
    documents: tuple[object, ...]
    line_of: LineOf
    """Returns the line at which a part begins, counting from 1; 0 if it is unknown."""
    is_json: bool = False

    @property
    def first(self) -> object:
        """Return the first document; None if there is none."""
        return self.documents[0] if self.documents else None


def json_source(text: str) -> Source:
    return Source(text, (document_of(text),), _lines_of(text), is_json=True)


def yaml_source(text: str) -> Source:
    """Return the source of a YAML text, with each of its documents."""
    try:
        return Source(text, tuple(documents_of_yaml(text)), _lines_of(text))
    except FormatError as error:
        if _TEMPLATE.search(text) is None:
            raise
        raise FormatError(
            f"{error}; the file is a template. Render it first, with helm template CHART or"
            " jikkou validate --files FILE"
        ) from None


def _lines_of(text: str) -> LineOf:
    return lines_of_stream(text) if len(text) <= _LINES_MAX else lambda _path: 0


def document_of_yaml(text: str) -> object:
    """Return the only document of a YAML text; None if it has none."""
    documents = documents_of_yaml(text)
    if len(documents) > 1:
        line = lines_of_stream(text)((1,))
        raise FormatError(f"not YAML: found {len(documents)} documents; expected: one", line)
    return documents[0] if documents else None


def document_of(text: str) -> object:
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error.msg}", error.lineno) from None
    except RecursionError:
        raise FormatError("not JSON: nested too deeply") from None
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(f"not JSON: {error}") from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise FormatError(f"duplicate key {twice!r} in an object")
    return members


_DECODER = json.JSONDecoder(object_pairs_hook=_members)


# --- lines


def line_in_path(path: Path) -> int:
    """Return the line of a path that is one: of formats with a binding on each line."""
    line = path[0]
    assert isinstance(line, int)
    return line


def lines_of(text: str) -> LineOf:
    """Return a function from paths to lines, counting from 1; its first call parses the text.

    The line is that of the last part on the path that exists; 0 if there is none, or the text is
    not YAML, as JSON that is indented with tabs.
    """
    line_of = lines_of_stream(text)
    return lambda path: line_of((0, *path))


def lines_of_stream(text: str) -> LineOf:
    """Return ``lines_of`` for a text of several documents; paths begin with a document's index."""

    @cache
    def nodes() -> list[Any]:
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            # All of it, for few lines: a faulty file is read once, and a sound one never.
            return list(yaml.compose_all(text, Loader=loader))
        except yaml.YAMLError:
            return []

    def line_of(path: Path) -> int:
        import yaml

        documents = nodes()
        index = path[0] if path else 0
        if not isinstance(index, int) or index >= len(documents):
            return 0
        node = documents[index]
        line = node.start_mark.line + 1 if index else 0
        path = path[1:]
        for step in path:
            member = _member(yaml, node, step)
            if member is None:
                break
            begin, node = member
            line = begin.start_mark.line + 1
        return line

    return line_of


def _member(yaml: ModuleType, node: object, step: str | int) -> tuple[Any, Any] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            # The key of a duplicate that was refused is the second one, but which is no matter.
            if key.value == step:
                return key, value
    elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    return None
