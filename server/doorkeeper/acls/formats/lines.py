"""Lines of the parts of YAML and JSON texts, by their paths.

A path leads from the document to a part: names of members, and indexes of items.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

Path = tuple[str | int, ...]
LineOf = Callable[[Path], int]


def line_at(text: str, path: Path) -> int:
    """Return the line at which a part begins; see ``lines_of``."""
    return lines_of(text)(path)


def lines_of(text: str) -> LineOf:
    """Return a function from paths to lines, counting from 1; it parses the text once.

    The line is that of the last part on the path that exists; 0 if there is none, or the text is
    not YAML, as JSON that is indented with tabs.
    """
    import yaml

    try:
        # All of it, for few lines: a faulty file is read once, and a sound one never.
        document = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        return lambda _path: 0

    def line_of(path: Path) -> int:
        line, node = 0, document
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
