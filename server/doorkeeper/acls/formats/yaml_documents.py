"""Strict YAML parsing for sets of ACLs and rules; errors have a line.

A file of a large cluster has millions of scalars, so that the document is built from libyaml's
events. PyYAML's composer and constructor, which do the same in Python by node, take six times as
long, keep the first of two equal keys, and end the process where a text is nested too deeply.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

from doorkeeper.acls.formats.names import FormatError

_DEPTH_MAX: Final = 100
_MERGE: Final = "<<"
_COLLECTIONS: Final = (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
"""The tags of mappings and lists."""

_Event = Any
"""An event of yaml, whose classes have no types."""


def documents_of_yaml(text: str) -> list[object]:
    """Return the documents of a YAML text, which ``---`` separates."""
    import yaml

    try:
        return _Builder(yaml).documents(text)
    except yaml.MarkedYAMLError as error:
        line = 0 if error.problem_mark is None else error.problem_mark.line + 1
        raise FormatError(f"not YAML: {error.problem}", line) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"not YAML: {' '.join(str(error).split())}") from None


class _Builder:
    """Builds documents from events; each plain scalar is resolved once."""

    def __init__(self, yaml: ModuleType) -> None:
        self._yaml = yaml
        self._resolvers = yaml.SafeLoader.yaml_implicit_resolvers
        self._texts: dict[str, object] = {}
        self._values = yaml.SafeLoader("")
        self._anchors: dict[str, object] = {}

    def documents(self, text: str) -> list[object]:
        """Return the documents of a text.

        Raises:
            FormatError: it is nested too deeply, or a mapping has a duplicate member.
            yaml.YAMLError: it is not YAML.
        """
        yaml = self._yaml
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        events = iter(yaml.parse(text, Loader=loader))
        next(events)
        documents = []
        while isinstance(next(events), yaml.DocumentStartEvent):
            self._anchors = {}
            documents.append(self._node(next(events), events, 0))
            next(events)
        return documents

    def _node(self, event: _Event, events: Iterator[_Event], depth: int) -> object:
        kind, yaml = type(event), self._yaml
        if kind is yaml.AliasEvent:
            # Nor does it name a collection that it is in.
            if event.anchor not in self._anchors:
                raise _not_yaml(f"found undefined alias {event.anchor!r}", event)
            return self._anchors[event.anchor]
        value: object
        if kind is yaml.ScalarEvent:
            if event.tag is not None and event.tag != "!":
                node = yaml.ScalarNode(event.tag, event.value, event.start_mark)
                value = self._values.construct_object(node, deep=True)
            else:
                value = self._plain(event.value) if event.implicit[0] else event.value
        elif depth >= _DEPTH_MAX:
            raise _not_yaml("nested too deeply", event)
        elif event.tag not in _COLLECTIONS:
            raise _not_yaml(f"found the tag {event.tag}", event)
        elif kind is yaml.SequenceStartEvent:
            items = value = []
            while type(item := next(events)) is not yaml.SequenceEndEvent:
                items.append(self._node(item, events, depth + 1))
        else:
            value = self._mapping(events, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        return value

    def _mapping(self, events: Iterator[_Event], depth: int) -> dict[object, object]:
        yaml = self._yaml
        members: dict[object, object] = {}
        merged: dict[object, object] = {}
        while type(key := next(events)) is not yaml.MappingEndEvent:
            is_merge = type(key) is yaml.ScalarEvent and key.implicit[0] and key.value == _MERGE
            name = _MERGE if is_merge else self._node(key, events, depth + 1)
            if isinstance(name, (list, dict)):
                raise _not_yaml("found unhashable key", key)
            if name in members or (is_merge and merged):
                raise _not_yaml(f"duplicate key {name!r} in a mapping", key)
            value = self._node(next(events), events, depth + 1)
            if not is_merge:
                members[name] = value
                continue
            for mapping in reversed(value) if isinstance(value, list) else [value]:
                if not isinstance(mapping, dict):
                    raise _not_yaml("expected mappings to merge", key)
                merged |= mapping
        return merged | members if merged else members

    def _plain(self, text: str) -> object:
        """Return the value of a plain scalar: a text, a number, a truth value, ..."""
        if text in self._texts:
            return self._texts[text]
        resolvers = (*self._resolvers.get(text[:1], ()), *self._resolvers.get(None, ()))
        tag = next((tag for tag, pattern in resolvers if pattern.match(text)), None)
        value: object = text
        if tag is not None:
            node = self._yaml.ScalarNode(tag, text)
            value = self._values.construct_object(node, deep=True)
        self._texts[text] = value
        return value


def _not_yaml(problem: str, event: _Event) -> FormatError:
    return FormatError(f"not YAML: {problem}", event.start_mark.line + 1)
