"""ACLs and errors as the commands print them.

As kafka-acls.sh prints them, as a table, as JSON by ``schemas/records/acl_set.json``, or as rows.
A row is a line of the CSV table of ``acl.formats``, which commands take back:

    User:alice,TOPIC,LITERAL,orders,READ,ALLOW,*
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from doorkeeper.acls.formats import csv
from doorkeeper.acls.formats.listing import entry_text, resource_text
from doorkeeper.acls.model import AccessControlEntry, AclBinding
from doorkeeper.cli.terminal import columns, printable

OUTPUTS: Final = ("text", "table", "json")
_HEADING: Final = ("PRINCIPAL", "HOST", "OPERATION", "PERMISSION", "RESOURCE", "PATTERN", "NAME")


# --- as kafka-acls.sh


def binding_text(binding: AclBinding) -> str:
    """Return a binding as the tool writes it."""
    pattern, entry = binding
    return f"(pattern={resource_text(pattern)}, entry={entry_text(entry)})"


def entries_text(entries: Iterable[AccessControlEntry]) -> str:
    """Return entries as the tool writes them, a line each."""
    return "\n".join(f"\t{entry_text(entry)}" for entry in entries)


def kafka_listing(bindings: Sequence[AclBinding]) -> Iterator[str]:
    """Yield sorted bindings as the tool lists them: a text for each resource."""
    for resource, of_one in groupby(bindings, key=lambda binding: binding.pattern):
        entries = entries_text(binding.entry for binding in of_one)
        yield f"Current ACLs for resource `{resource_text(resource)}`:\n{entries}\n"


_PACKAGE: Final = "org.apache.kafka.common.errors"
_EXCEPTIONS: Final = {
    -1: "UnknownServerException",
    7: "TimeoutException",
    31: "ClusterAuthorizationException",
    33: "UnsupportedSaslMechanismException",
    35: "UnsupportedVersionException",
    41: "NotControllerException",
    42: "InvalidRequestException",
    44: "PolicyViolationException",
    54: "SecurityDisabledException",
    58: "SaslAuthenticationException",
    114: "MismatchedEndpointTypeException",
    115: "UnsupportedEndpointTypeException",
}


def java_text(code: int, message: object) -> str:
    """Return an error as Java's client prints it: the name of the exception, and the message."""
    return f"{_PACKAGE}.{_EXCEPTIONS.get(code, 'ApiException')}: {message}"


# --- as a table


def table(bindings: Sequence[AclBinding]) -> list[str]:
    """Return a heading and a line for each binding, in columns; control characters are escaped."""
    return columns([_HEADING, *map(_cells, bindings)])


def _cells(binding: AclBinding) -> tuple[str, ...]:
    (resource_type, name, pattern_type), (principal, host, operation, permission) = binding
    return (
        principal,
        host,
        operation.name,
        permission.name,
        resource_type.name,
        pattern_type.name,
        name,
    )


def code_block(lines: Sequence[str], language: str) -> list[str]:
    """Return lines as a block of Markdown, in which no name is a link or mentions a user."""
    # Its fence is longer than those in names.
    longest = max((len(fence) for fence in re.findall("`+", "\n".join(lines))), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *lines, fence]


def rest_lines(number: int, shown: int) -> list[str]:
    """Return the line on what is not shown; none where all is."""
    return [f"  and {number - shown} more; --output json has all"] if number > shown else []


# --- as rows


def row(binding: AclBinding) -> str:
    """Return a binding as a row; control characters are escaped."""
    return printable(csv.row_of(binding))
