"""Lines of the parts of YAML and JSON texts, by their paths.

A path leads from the document to a part: names of members, and indexes of items.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

Path = tuple[str | int, ...]
LineOf = Callable[[Path], int]


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
