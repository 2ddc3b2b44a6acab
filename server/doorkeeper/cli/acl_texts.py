"""ACLs in answers to people: a row for each, and the commands that add and remove it.

A row is a line of the CSV table of ``acl.formats``, so that it can be given back to a command:

    User:alice,TOPIC,LITERAL,orders,READ,ALLOW,*
"""

from __future__ import annotations

import csv as rows_of_csv
import io
import shlex
from typing import TYPE_CHECKING

from doorkeeper.acl.formats import csv
from doorkeeper.acl.formats.commands import KAFKA_ACLS, options_of
from doorkeeper.acl.formats.names import FormatError
from doorkeeper.acl.model import (
    WILDCARD,
    AclBinding,
    PatternType,
    ResourceType,
)
from doorkeeper.cli.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    found = csv.read(f"{COLUMNS}\n{text}")
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


def kafka_acls_command(
    binding: AclBinding, *, add: bool, server: Sequence[str] = NOWHERE
) -> str | None:
    """Return the line that adds or removes a binding; None where the tool has none for it.

    It has none for an operation that its type of resource does not know, and cuts blanks off.
    """
    options = _options(binding)
    if options is None:
        return None
    action = ["--add"] if add else ["--remove", "--force"]
    return shlex.join([KAFKA_ACLS, *server, *action, *options])


def our_command(binding: AclBinding, *, add: bool, words: Sequence[str]) -> str | None:
    """Return the line of ours that adds or removes a binding; None as above."""
    options = _options(binding)
    if options is None:
        return None
    action = ["add"] if add else ["remove", "--force"]
    return shlex.join(["doorkeeper", "acls", *action, *words, *options])


def _options(binding: AclBinding) -> list[str] | None:
    texts = (binding.pattern.name, *binding.entry[:2])
    return options_of(binding) if all(map(str.isprintable, texts)) else None
