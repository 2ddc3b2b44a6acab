"""ACLs in answers to people: a row for each.

A row is a line of the CSV table of ``acl.formats``, so that it can be given back to a command:

    User:alice,TOPIC,LITERAL,orders,READ,ALLOW,*
"""

from __future__ import annotations

import csv as rows_of_csv
import io

from doorkeeper.acl.formats import csv
from doorkeeper.acl.formats.names import FormatError
from doorkeeper.acl.model import (
    WILDCARD,
    AclBinding,
    PatternType,
    ResourceType,
)
from doorkeeper.cli.terminal import printable

COLUMNS = ",".join(csv.SECURITY_MANAGER)
"""What the cells of a row are."""

NOWHERE = ("--bootstrap-server", "HOST:PORT")
"""What stands for a server in a command of which nobody said where it shall run."""

_NOUNS = {
    ResourceType.TOPIC: "topic",
    ResourceType.GROUP: "group",
    ResourceType.TRANSACTIONAL_ID: "transactional id",
    ResourceType.DELEGATION_TOKEN: "delegation token",
    ResourceType.USER: "user",
}


def row(binding: AclBinding) -> str:
    """Return a binding as a row of the table; what does not print is escaped."""
    text = io.StringIO(newline="")
    rows_of_csv.writer(text, lineterminator="").writerow(csv.cells_of(binding))
    return printable(text.getvalue())


def binding_of_row(text: str) -> AclBinding:
    """Return the binding of a row.

    Raises:
        FormatError: the text is no single row.

    """
    try:
        found = csv.read(f"{COLUMNS}\n{text}")
    except FormatError as error:
        # The line would be that of a table that nobody has given.
        found_text = str(error).removeprefix(f"line {error.line}: ")
        raise FormatError(f"{found_text}; a row is {COLUMNS}") from None
    if len(found) != 1:
        raise FormatError(f"found {len(found)} rows; expected is one: {COLUMNS}")
    return found[0]


def resource_words(resource_type: ResourceType, name: str) -> str:
    """Return a resource in words: ``topic orders``."""
    if resource_type is ResourceType.CLUSTER:
        return "the cluster"
    return f"{_NOUNS[resource_type]} {printable(name)}"


def names_words(binding: AclBinding) -> str:
    """Return the names that a binding's pattern covers, in words."""
    resource_type, name, pattern_type = binding.pattern
    if pattern_type is PatternType.PREFIXED:
        return f"every {_NOUNS.get(resource_type, 'name')} that begins with {printable(name)!r}"
    if name == WILDCARD:
        return f"every {_NOUNS.get(resource_type, 'name')}"
    return resource_words(resource_type, name)
