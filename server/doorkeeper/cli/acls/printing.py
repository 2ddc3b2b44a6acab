"""ACLs as the commands print them: as kafka-acls.sh does, as a table, or as JSON.

JSON is a set of ACLs by ``schemas/records/acl_set.json``, so that other commands take it.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from doorkeeper.cli.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from doorkeeper.acl.model import (
        AccessControlEntry,
        AclBinding,
        ResourcePattern,
        ResourcePatternFilter,
    )

OUTPUTS: Final = ("kafka", "table", "json")
_HEADING: Final = ("PRINCIPAL", "HOST", "OPERATION", "PERMISSION", "RESOURCE", "PATTERN", "NAME")


def resource_text(resource: ResourcePattern | ResourcePatternFilter) -> str:
    """Return a pattern as the tool writes it."""
    kind, name, how = resource
    return f"ResourcePattern(resourceType={kind.name}, name={name}, patternType={how.name})"


def entry_text(entry: AccessControlEntry) -> str:
    """Return an entry as the tool writes it."""
    principal, host, operation, permission = entry
    return (
        f"(principal={principal}, host={host}, operation={operation.name},"
        f" permissionType={permission.name})"
    )


def binding_text(binding: AclBinding) -> str:
    """Return a binding as the tool writes it."""
    pattern, entry = binding
    return f"(pattern={resource_text(pattern)}, entry={entry_text(entry)})"


def entries_text(entries: Iterable[AccessControlEntry]) -> str:
    """Return entries as the tool writes them, a line each."""
    return "\n".join(f"\t{entry_text(each)}" for each in entries)


def listed(bindings: Sequence[AclBinding]) -> Iterator[str]:
    """Return sorted bindings as the tool lists them: a text for each resource."""
    for resource, of_one in groupby(bindings, key=lambda each: each.pattern):
        entries = entries_text(each.entry for each in of_one)
        yield f"Current ACLs for resource `{resource_text(resource)}`:\n{entries}\n"


def table(bindings: Sequence[AclBinding]) -> Iterator[str]:
    """Return a heading and a line for each binding, in columns; what does not print is escaped."""
    rows = [_HEADING, *map(_cells, bindings)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(map(str.ljust, row, widths)).rstrip()


def _cells(binding: AclBinding) -> tuple[str, ...]:
    (kind, name, how), (principal, host, operation, permission) = binding
    return (
        printable(principal),
        printable(host),
        operation.name,
        permission.name,
        kind.name,
        how.name,
        printable(name),
    )


def as_json(bindings: Sequence[AclBinding]) -> str:
    """Return a set of ACLs."""
    from doorkeeper.acl.formats.records import write_json  # noqa: PLC0415  this output only

    return write_json(bindings).rstrip()
