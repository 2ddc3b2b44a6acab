"""Reads a schema file and checks it: what it says is right, or the error names file and place.

A file describes one API (`api`, `key`, `request`, `response`) or one other message (`message`,
`fields`). docs/explanation/codec.md explains the keys.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from doorkeeper_wire import reading, writing
from doorkeeper_wire.declared.model import (
    NEVER,
    NONE,
    PLAIN_DEFAULTS,
    Default,
    Empty,
    Field,
    Message,
    Module,
    Versions,
)

_PACKAGED = Path(__file__).parents[2] / "doorkeeper" / "data" / "schemas" / "messages"
_CHECKOUT = Path(__file__).parents[3] / "schemas" / "messages"
FOLDER = _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT
"""Where the files are: in an installed package, or in a checkout of the project."""

_API_KEYS = {"api", "key", "versions", "flexible", "listeners", "meaning", "request", "response"}
_MESSAGE_KEYS = {"message", "versions", "flexible", "meaning", "fields"}
_FIELD_KEYS = {
    "name",
    "type",
    "versions",
    "nullable",
    "tag",
    "default",
    "ignorable",
    "compact",
    "secret",
    "resource",
    "meaning",
    "fields",
}
_LISTENERS = {"broker", "controller"}
_RESOURCES = {"TOPIC", "GROUP", "TRANSACTIONAL_ID"}
_RESERVED = {
    *("at", "content", "data", "end", "flexible", "found", "item", "items", "known", "n", "out"),
    *("part", "prefix", "present", "size", "stop", "tag", "tagged", "unknown", "version"),
    *vars(reading),
    *vars(writing),
}
"""Names of generated functions' variables, and of what they call."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The safe loader in C is nine times as fast, where PyYAML was built with it."""


class SchemaError(Exception):
    """A schema file is not as it must be."""


def snake(name: str) -> str:
    """Return Kafka's name in snake case: `TopicId` is `topic_id`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def read_module(path: Path) -> Module:
    """Read one schema file.

    Raises:
        SchemaError: naming the file and the place in it.
    """
    return _Reader(str(path)).module(load(path), path.stem)


def load(path: Path) -> object:
    """Return the content of a YAML file.

    Raises:
        SchemaError: it is no YAML; the text names file and line.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506 - a safe one
    except yaml.YAMLError as error:
        raise SchemaError(f"{path}: {error}") from error


class FileReader:
    """Checks the content of one file; every error begins with the file's name and the place."""

    def __init__(self, file: str) -> None:
        self._file = file

    def _mapping(self, content: object, where: str) -> Mapping[str, Any]:
        if not isinstance(content, dict):
            raise self._error(where, f"expected keys and values, found {content!r}")
        return content

    def _only(self, entry: Mapping[str, Any], allowed: set[str], where: str) -> None:
        unknown = sorted(set(entry) - allowed)
        if unknown:
            known = ", ".join(sorted(allowed))
            raise self._error(where, f"unknown keys {', '.join(unknown)}; allowed: {known}")

    def _text(self, entry: Mapping[str, Any], key: str, where: str) -> str:
        value = entry.get(key)
        if not isinstance(value, str) or not value:
            raise self._error(where, f"{key}: found {value!r}; expected: a string")
        return value

    def _int(self, entry: Mapping[str, Any], key: str, where: str) -> int:
        value = entry.get(key)
        if type(value) is not int or not 0 <= value < NEVER:
            raise self._error(where, f"{key} must be a number from 0, found {value!r}")
        return value

    def _flag(self, entry: Mapping[str, Any], key: str, where: str, *, default: bool) -> bool:
        value = entry.get(key, default)
        if not isinstance(value, bool):
            raise self._error(where, f"{key} must be true or false, found {value!r}")
        return value

    def _error(self, where: str, reason: str) -> SchemaError:
        return SchemaError(f"{self._file}: {where}: {reason}")


class _Reader(FileReader):
    """Reads the content of one file of messages."""

    def module(self, content: object, name: str) -> Module:
        top = self._mapping(content, name)
        is_api = "api" in top
        self._only(top, _API_KEYS if is_api else _MESSAGE_KEYS, name)
        kafka_name = self._text(top, "api" if is_api else "message", name)
        if snake(kafka_name) != name:
            raise self._error(name, f"{kafka_name} belongs in {snake(kafka_name)}.yaml")
        parts = (
            {f"{kafka_name}Request": "request", f"{kafka_name}Response": "response"}
            if is_api
            else {kafka_name: "fields"}
        )
        # What a refused API means, no reader of generated code asks.
        self._is_explained = "meaning" in top or "listeners" not in top
        messages = tuple(self._message(top, title, part) for title, part in parts.items())
        return Module(
            name=name,
            meaning=self._meaning(top, name),
            listeners=self._listeners(top, name),
            messages=messages,
        )

    def _listeners(self, top: Mapping[str, Any], where: str) -> frozenset[str]:
        kinds = top.get("listeners", [])
        if not isinstance(kinds, list) or not _LISTENERS.issuperset(kinds):
            raise self._error(where, f"listeners are of {sorted(_LISTENERS)}, not {kinds!r}")
        return frozenset(kinds)

    def _meaning(self, entry: Mapping[str, Any], where: str) -> str:
        return self._text(entry, "meaning", where) if self._is_explained else ""

    def _message(self, top: Mapping[str, Any], title: str, part: str) -> Message:
        versions = self._versions(top.get("versions"), title)
        if versions.high >= NEVER:
            raise self._error(title, "versions must end: 0-N, or M-N")
        flexible = top.get("flexible")
        return Message(
            name=title,
            api_key=self._int(top, "key", title) if "key" in top else -1,
            versions=versions,
            flexible_from=NEVER if flexible == "never" else self._versions(flexible, title).low,
            meaning=self._meaning(top, title),
            fields=self._fields(top.get(part), title, versions),
        )

    def _fields(self, content: object, where: str, versions: Versions) -> tuple[Field, ...]:
        if not isinstance(content, list):
            raise self._error(where, "a list of fields is missing")
        fields = tuple(self._field(entry, where, versions) for entry in content)
        names = [field.name for field in fields]
        if len(set(names)) != len(names):
            twice = ", ".join(sorted({name for name in names if names.count(name) > 1}))
            raise self._error(where, f"duplicate field: {twice}")
        return fields

    def _field(self, content: object, where: str, outer: Versions) -> Field:
        entry = self._mapping(content, where)
        name = self._text(entry, "name", where)
        where = f"{where}.{name}"
        self._only(entry, _FIELD_KEYS, where)
        kind = self._text(entry, "type", where)
        is_array, kind = kind.startswith("[]"), kind.removeprefix("[]")
        versions = self._versions(entry.get("versions", f"{outer.low}-{outer.high}"), where, outer)
        inner = (
            self._fields(entry.get("fields"), where, versions)
            if kind not in PLAIN_DEFAULTS
            else self._without_fields(entry, where)
        )
        if self._is_explained and snake(name) in _RESERVED:
            raise self._error(where, "the name is taken by the generated code: choose another")
        return Field(
            name=snake(name),
            kind=kind,
            is_array=is_array,
            versions=versions,
            nullable=self._nullable(entry, where, versions),
            tag=self._int(entry, "tag", where) if "tag" in entry else None,
            default=self._default(entry, where, is_array=is_array, kind=kind),
            ignorable=self._flag(entry, "ignorable", where, default=False),
            compact=self._flag(entry, "compact", where, default=True),
            secret=self._flag(entry, "secret", where, default=False),
            meaning=self._meaning(entry, where),
            resource=self._resource(entry, where),
            fields=inner,
        )

    def _resource(self, entry: Mapping[str, Any], where: str) -> str:
        resource = entry.get("resource", "")
        if resource not in {"", *_RESOURCES}:
            raise self._error(where, f"resource is one of {sorted(_RESOURCES)}, not {resource!r}")
        return str(resource)

    def _default(
        self, entry: Mapping[str, Any], where: str, *, is_array: bool, kind: str
    ) -> Default:
        standard = () if is_array else PLAIN_DEFAULTS.get(kind)
        if "default" not in entry:
            if not is_array and kind not in PLAIN_DEFAULTS:
                return self._empty(entry, where, kind)
            return standard
        value: Default = entry["default"]
        if value is None:
            if "nullable" not in entry:
                raise self._error(where, "default null, but the field is not nullable")
            return None
        if type(value) is not type(standard):
            raise self._error(where, f"default {value!r} is not of type {kind}")
        return value

    def _empty(self, entry: Mapping[str, Any], where: str, kind: str) -> Empty:
        if "nullable" in entry:
            raise self._error(where, "a struct that may be null needs default: null")
        return Empty(kind)

    def _nullable(self, entry: Mapping[str, Any], where: str, versions: Versions) -> Versions:
        if "nullable" not in entry:
            return NONE
        kind = self._text(entry, "type", where)
        if kind in PLAIN_DEFAULTS and kind not in {"string", "bytes"}:
            raise self._error(where, f"{kind} cannot be nullable")
        return self._versions(entry["nullable"], where, versions)

    def _without_fields(self, entry: Mapping[str, Any], where: str) -> tuple[Field, ...]:
        if "fields" in entry:
            raise self._error(where, f"{entry['type']} has no fields")
        return ()

    def _versions(self, content: object, where: str, outer: Versions | None = None) -> Versions:
        """Read `3+` or `0-3`; an open range ends with the outer one."""
        match = re.fullmatch(r"(\d+)(?:\+|-(\d+))", content) if isinstance(content, str) else None
        if match is None:
            raise self._error(where, f"versions are written as 3+ or 0-3, not {content!r}")
        high = int(match[2]) if match[2] else (outer.high if outer else NEVER)
        found = Versions(int(match[1]), high)
        if found.low > found.high or (outer and (found.low < outer.low or found.high > outer.high)):
            allowed = f"{outer.low}-{outer.high}" if outer else "a range"
            raise self._error(where, f"versions {content}, where {allowed} is possible")
        return found
