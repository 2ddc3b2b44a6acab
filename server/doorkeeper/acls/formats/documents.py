"""Texts of YAML and JSON, each parsed once: the documents, and the lines of their parts.

Python's parser of JSON keeps the last of two members with one name: of two lists ``acls`` the first
would be lost, and applying the rest would remove its bindings. Here that is an error, with its line
where there is one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from doorkeeper.acls.formats.lines import lines_of_stream
from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.formats.yaml_documents import documents_of_yaml

if TYPE_CHECKING:
    from doorkeeper.acls.formats.lines import LineOf

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
