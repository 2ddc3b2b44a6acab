"""``--output json`` of a command, and the JSON schema of what it prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
import msgspec

from doorkeeper.cli.vocabulary.options import named_option

if TYPE_CHECKING:
    from collections.abc import Callable

Callback = TypeVar("Callback", bound="Callable[..., Any]")

_MARK: Final = "json_records"
_REFERENCE: Final = "#/$defs/{name}"
_OPEN: Final = "Further members"
"""A type whose docstring has these words has members that it does not name."""


def json_output(*records: type, others: tuple[str, ...] = ()) -> Callable[[Callback], Callback]:
    """Return a decorator that adds ``--output``: text, json, and other formats.

    ``records`` are the types of the object that json prints, one of which it has.
    """
    option = named_option(
        "--output",
        type=click.Choice(["text", "json", *others]),
        default="text",
        show_default=True,
    )

    def add(callback: Callback) -> Callback:
        return option(has_json(*records)(callback))

    return add


def has_json(*records: type) -> Callable[[Callback], Callback]:
    """Return a decorator for a command whose ``--output`` has formats of its own."""

    def mark(callback: Callback) -> Callback:
        setattr(callback, _MARK, records)
        return callback

    return mark


def records_of(command: click.Command) -> tuple[type, ...]:
    """Return the types that a command prints as JSON; empty if it has none."""
    return getattr(command.callback, _MARK, ())


def schema_of(records: tuple[type, ...]) -> dict[str, Any]:
    """Return the JSON schema of an object that has one of these types."""
    roots, definitions = msgspec.json.schema_components(records, ref_template=_REFERENCE)
    for definition in definitions.values():
        if definition.get("type") == "object" and _OPEN not in definition.get("description", ""):
            definition.setdefault("additionalProperties", False)
    root = roots[0] if len(roots) == 1 else {"anyOf": list(roots)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **root,
        "$defs": definitions,
    }
