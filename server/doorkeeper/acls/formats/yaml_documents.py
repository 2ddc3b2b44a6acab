"""Strict YAML parsing for sets of ACLs and rules; errors have a line.

A file of a large cluster has millions of scalars, so that the document is built from libyaml's
events. PyYAML's composer and constructor, which do the same in Python by node, take six times as
long; they read what has anchors, tags or merge keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Protocol

from doorkeeper.acls.formats.lines import lines_of_stream
from doorkeeper.acls.formats.names import FormatError

if TYPE_CHECKING:
    from yaml import SafeLoader

_DEPTH_MAX: Final = 100
"""Far less than the depth at which libyaml's composer overflows the stack."""


class _Mark(Protocol):
    """A position in a text; lines count from 0."""

    line: int


class _Event(Protocol):
    """The attributes of yaml's events; those of scalars are only in scalars."""

    start_mark: _Mark
    anchor: str | None
    tag: str | None
    implicit: tuple[bool, bool]
    value: str


class _Mapping(Protocol):
    """A node of yaml's composer: keys with values."""

    value: Iterable[tuple[Any, object]]


class _Unusual(Exception):
    """The text has something that is rare in files of ACLs."""


def document_of_yaml(text: str) -> object:
    """Return the only document of a YAML text; None if it has none."""
    documents = documents_of_yaml(text)
    if len(documents) > 1:
        line = lines_of_stream(text)((1,))
        raise FormatError(f"not YAML: found {len(documents)} documents; expected: one", line)
    return documents[0] if documents else None


def documents_of_yaml(text: str) -> list[object]:
    """Return the documents of a YAML text, which ``---`` separates."""
    import yaml

    try:
        try:
            return _Builder(yaml).documents(text)
        except _Unusual:
            loader = _loader(yaml)
            _check_depth(yaml, text, loader)
            return list(yaml.load_all(text, Loader=loader))
    except yaml.MarkedYAMLError as error:
        line = 0 if error.problem_mark is None else error.problem_mark.line + 1
        raise FormatError(f"not YAML: {error.problem}", line) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"not YAML: {' '.join(str(error).split())}") from None


class _Builder:
    """Builds a document from events; each plain scalar is resolved once."""

    def __init__(self, yaml: ModuleType) -> None:
        self._yaml = yaml
        self._resolvers = yaml.SafeLoader.yaml_implicit_resolvers
        self._texts: dict[str, object] = {}
        self._values = yaml.SafeLoader("")

    def documents(self, text: str) -> list[object]:
        """Return the documents of a text.

        Raises:
            _Unusual: it has anchors, tags, or keys that are not texts.
            FormatError: it is nested too deeply, or a mapping has a duplicate member.
            yaml.YAMLError: it is not YAML.
        """
        yaml = self._yaml
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        events = iter(yaml.parse(text, Loader=loader))
        next(events)
        documents = []
        while isinstance(next(events), yaml.DocumentStartEvent):
            documents.append(self._node(next(events), events, 0))
            next(events)
        return documents

    def _node(self, event: _Event, events: Iterator[_Event], depth: int) -> object:
        kind = type(event)
        yaml = self._yaml
        if kind is yaml.AliasEvent or event.anchor is not None or event.tag is not None:
            raise _Unusual
        if kind is yaml.ScalarEvent:
            return self._plain(event.value) if event.implicit[0] else event.value
        if depth >= _DEPTH_MAX:
            raise FormatError("not YAML: nested too deeply", event.start_mark.line + 1)
        if kind is yaml.SequenceStartEvent:
            items = []
            while type(item := next(events)) is not yaml.SequenceEndEvent:
                items.append(self._node(item, events, depth + 1))
            return items
        members: dict[object, object] = {}
        while type(key := next(events)) is not yaml.MappingEndEvent:
            name = self._name(key)
            if name in members:
                problem = f"duplicate key {name!r} in a mapping"
                raise FormatError(f"not YAML: {problem}", key.start_mark.line + 1)
            members[name] = self._node(next(events), events, depth + 1)
        return members

    def _name(self, key: _Event) -> str:
        if type(key) is not self._yaml.ScalarEvent or key.anchor is not None or key.tag is not None:
            raise _Unusual
        name = self._plain(key.value) if key.implicit[0] else key.value
        if not isinstance(name, str):
            raise _Unusual
        return name

    def _plain(self, text: str) -> object:
        """Return the value of a plain scalar: a text, a number, a truth value, ...

        Raises:
            _Unusual: it is a merge key.
        """
        if text in self._texts:
            return self._texts[text]
        resolvers = (*self._resolvers.get(text[:1], ()), *self._resolvers.get(None, ()))
        tag = next((tag for tag, pattern in resolvers if pattern.match(text)), None)
        value: object = text
        if tag is not None:
            if tag in ("tag:yaml.org,2002:merge", "tag:yaml.org,2002:value"):
                raise _Unusual
            node = self._yaml.ScalarNode(tag, text)
            value = self._values.construct_object(node, deep=True)
        self._texts[text] = value
        return value


def _check_depth(yaml: ModuleType, text: str, loader: type[SafeLoader]) -> None:
    """Reject nesting that would overflow the stack of the C loader and kill the process."""
    begins, ends = yaml.CollectionStartEvent, yaml.CollectionEndEvent
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, begins):
            depth += 1
            if depth > _DEPTH_MAX:
                raise FormatError("not YAML: nested too deeply", event.start_mark.line + 1)
        elif isinstance(event, ends):
            depth -= 1


def _loader(yaml: ModuleType) -> type[SafeLoader]:
    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """Rejects duplicate keys: YAML forbids them, and the first value would be lost."""

        def construct_mapping(self, node: _Mapping, *, deep: bool = False) -> object:
            seen = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode):
                    if key.value in seen:
                        raise yaml.constructor.ConstructorError(
                            problem=f"duplicate key {key.value!r} in a mapping",
                            problem_mark=key.start_mark,
                        )
                    seen.add(key.value)
            return super().construct_mapping(node, deep=deep)

    return Loader
