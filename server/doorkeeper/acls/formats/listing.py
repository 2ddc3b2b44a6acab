"""The text of ``kafka-acls.sh --list``, and of ``--add``, which lists what it adds first.

Since 2.0, with the last two lines in one and an additional blank before 4.0:

    Current ACLs for resource `ResourcePattern(resourceType=TOPIC, name=a, patternType=LITERAL)`:
        (principal=User:a, host=*, operation=READ, permissionType=ALLOW)

Before 2.0:

    Current ACLs for resource `Topic:LITERAL:a`:
        User:a has Allow permission for operations: Read from hosts: *

A name may contain the text around it; of several readings the one with the longest name is used.

Source: ``AclCommand.printAcls``; ``ResourcePattern.toString``, ``AccessControlEntryData.toString``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

from doorkeeper.acls.formats.acl_set import AclSet
from doorkeeper.acls.formats.documents import Path, line_in_path
from doorkeeper.acls.formats.names import FormatError, binding_of
from doorkeeper.acls.model import (
    AccessControlEntry,
    AclBinding,
    ResourcePattern,
    ResourcePatternFilter,
)

_RESOURCE = re.compile(
    r"(?:Current|Adding) ACLs for resource `(?:ResourcePattern\(resourceType=(\w+), name=(.*),"
    r" patternType=(\w+)\)|(\w+):(?:(LITERAL|PREFIXED):)?(.*))`:\s*(.*)"
)
_ENTRY = re.compile(
    r"\s*(?:\(principal=(.*), host=(.*), operation=(\w+), permissionType=(\w+)\)"
    r"|(.*) has (\w+) permission for operations: (\w+) from hosts: (\S+))\s*"
)
_LINES = re.compile(r"[^\r\n]*(?:\n\t\([^\r\n]*\))+")
_OF_PRINCIPAL = "ACLs for principal `"
_BEGINNINGS = ("Current ACLs for resource `", "Adding ACLs for resource `", _OF_PRINCIPAL)


def is_listing(text: str) -> bool:
    return text.startswith(_BEGINNINGS)


def read(text: str) -> AclSet:
    """Return the set of a listing, its bindings in the listing's order, without duplicates."""
    bindings: dict[AclBinding, Path] = {}
    resource: tuple[str, str, str] | None = None
    for number, line in enumerate(re.split(r"\r?\n", text), 1):
        heading, entry = _RESOURCE.fullmatch(line), line
        if heading is not None:
            resource = (
                heading[1] or heading[4],
                heading[2] if heading[1] else heading[6],
                heading[3] or heading[5] or "LITERAL",
            )
            # Old releases began the entries here.
            entry = heading[7]
        if not entry.strip() or entry.startswith(_OF_PRINCIPAL):
            continue
        bindings.setdefault(_binding(entry, resource, number), (number,))
    if not bindings:
        raise FormatError(
            "the listing has no ACLs; perhaps kafka-acls.sh failed. For an empty set of ACLs use"
            ' a YAML or JSON file with {"version": 1, "acls": []}'
        )
    return AclSet(list(bindings), tuple(bindings.values()), line_of=line_in_path)


def write(bindings: Iterable[AclBinding]) -> str:
    """Return bindings as the tool of 4.3.1 prints them; those of a resource must be adjacent."""
    parts = []
    for resource, of_one in groupby(bindings, key=lambda binding: binding.pattern):
        acl_entries = [binding.entry for binding in of_one]
        for entry in acl_entries:
            # Read as a part of the principal.
            if ", host=" in entry.host:
                raise FormatError(
                    f"{entry.host!r}: the kafka-acls.sh format cannot represent this host"
                )
        entries = "\n".join(f"\t{entry_text(entry)}" for entry in acl_entries)
        if not _LINES.fullmatch(f"{resource.name}\n{entries}"):
            raise FormatError(
                f"{resource.name!r}: the kafka-acls.sh format cannot represent line breaks"
            )
        parts.append(f"Current ACLs for resource `{resource_text(resource)}`:\n{entries}\n\n")
    return "".join(parts)


def resource_text(resource: ResourcePattern | ResourcePatternFilter) -> str:
    """Return a pattern as the tool writes it."""
    kind, name, how = resource
    return f"ResourcePattern(resourceType={kind.name}, name={name}, patternType={how.name})"


def entry_text(entry: AccessControlEntry) -> str:
    """Return an entry as the tool writes it."""
    principal, host, operation, permission_type = entry
    return (
        f"(principal={principal}, host={host}, operation={operation.name},"
        f" permissionType={permission_type.name})"
    )


def _binding(line: str, resource: tuple[str, str, str] | None, number: int) -> AclBinding:
    entry = _ENTRY.fullmatch(line)
    if entry is None:
        raise FormatError(f"found {line.strip()!r:.80}; expected: a line of a listing", number)
    if resource is None:
        raise FormatError("an entry before the first resource", number)
    principal, host, operation, permission = (
        (entry[1], entry[2], entry[3], entry[4])
        if entry[1] is not None
        else (entry[5], entry[8], entry[7], entry[6])
    )
    try:
        return binding_of(
            resource=resource[0],
            name=resource[1],
            pattern=resource[2],
            principal=principal,
            host=host,
            does=operation,
            permission=permission,
        )
    except FormatError as error:
        raise FormatError(str(error), number) from None
