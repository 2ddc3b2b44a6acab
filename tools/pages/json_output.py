"""The JSON that commands print, from the types of ``json_output``.

A section for each command names the types of its object; a section for each type has its members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from doorkeeper.cli.vocabulary.json_output import records_of, schema_of
from testkit.command_tree import commands

if TYPE_CHECKING:
    from collections.abc import Iterator


def text() -> str:
    """Return the sections."""
    records = {
        words: records_of(command)
        for words, command in commands()
        if not isinstance(command, click.Group) and records_of(command)
    }
    types: dict[str, Any] = {}
    lines = ["## Commands", "", "| command | object |", "|---|---|"]
    for words, of_command in records.items():
        for name, definition in schema_of(of_command)["$defs"].items():
            if types.setdefault(name, definition) != definition:
                raise ValueError(f"two types are called {name}")
        names = " or ".join(map(_link, (record.__name__ for record in of_command)))
        lines.append(f"| `{words}` | {names} |")
    for name in sorted(types):
        lines += ["", *_type(name, types[name])]
    return "\n".join(lines)


def _type(name: str, definition: dict[str, Any]) -> Iterator[str]:
    yield f"## {name}"
    yield ""
    yield " ".join(definition["description"].split())
    yield ""
    yield "| member | value |"
    yield "|---|---|"
    required = definition.get("required", ())
    for member, schema in definition["properties"].items():
        note = "" if member in required else ", may be missing"
        yield f"| `{member}` | {_value(schema)}{note} |"


def _value(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return _link(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(map(_value, schema["anyOf"]))
    kind = schema.get("type")
    if kind == "array":
        return f"list of {_value(schema['items'])}"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"object of {_value(values)}" if values else "object"
    return kind or "any"


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"
