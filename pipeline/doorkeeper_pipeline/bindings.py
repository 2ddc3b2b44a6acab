"""Bindings as rows, as texts and as commands: one form of each for all tables and reports.

row      the seven fields in Kafka's words, and an id
text     what Kafka 4.2 writes between the square brackets of StandardAcl[...]
command  kafka-acls.sh ... --add or --remove, quoted for a shell
"""

from __future__ import annotations

import base64
import hashlib
import shlex
from typing import TYPE_CHECKING

from doorkeeper.acl.formats.names import binding_of
from doorkeeper.acl.model import CLUSTER_NAME, PatternType, ResourceType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.acl.model import AclBinding

FIELDS = (
    "resource_type",
    "resource_name",
    "pattern_type",
    "principal",
    "host",
    "operation",
    "permission_type",
)
"""The columns that make a binding, in each table that has bindings."""

ID_LENGTH = 22

_RESOURCE_OPTIONS = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--group",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
    ResourceType.DELEGATION_TOKEN: "--delegation-token",
    ResourceType.USER: "--user-principal",
}


def row_of(binding: AclBinding, binding_id: str | None = None) -> dict[str, str]:
    """Return a binding's columns; without an id of a store it gets one of its own."""
    (resource_type, name, pattern_type), entry = binding
    return {
        "binding_id": binding_id or id_of(binding),
        "resource_type": resource_type.name,
        "resource_name": name,
        "pattern_type": pattern_type.name,
        "principal": entry.principal,
        "host": entry.host,
        "operation": entry.operation.name,
        "permission_type": entry.permission_type.name,
    }


def binding_of_row(row: Mapping[str, str]) -> AclBinding:
    """Return the binding of a row's columns.

    Raises:
        FormatError: one of the words is not Kafka's.

    """
    return binding_of(
        resource=row["resource_type"],
        name=row["resource_name"],
        pattern=row["pattern_type"],
        principal=row["principal"],
        host=row["host"],
        does=row["operation"],
        permission=row["permission_type"],
    )


def id_of(binding: AclBinding) -> str:
    """Return 22 characters that name the binding: of a digest over its seven fields."""
    (resource_type, name, pattern_type), entry = binding
    fields = (resource_type.name, name, pattern_type.name, *entry[:2], *(e.name for e in entry[2:]))
    # The length before each text: no two bindings are written alike, whatever their names hold.
    text = "".join(f"{len(field)}:{field}" for field in fields)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return base64.urlsafe_b64encode(digest)[:ID_LENGTH].decode("ascii")


def text_of(binding: AclBinding) -> str:
    """Return a binding as Kafka 4.2 writes it between the brackets of a rule."""
    (resource_type, name, pattern_type), entry = binding
    return (
        f"resourceType={resource_type.name}, resourceName={name}, patternType={pattern_type.name}, "
        f"principal={entry.principal}, host={entry.host}, operation={entry.operation.name}, "
        f"permissionType={entry.permission_type.name}"
    )


def command_of(binding: AclBinding, *, remove: bool = False) -> str:
    """Return the kafka-acls.sh command that adds or removes a binding, or '' where none can.

    A line break cannot be given in a line of a script that people read, so such names have none.
    """
    (resource_type, name, pattern_type), entry = binding
    texts = (name, entry.principal, entry.host)
    if any(not character.isprintable() for text in texts for character in text):
        return ""
    words = ["kafka-acls.sh", "--bootstrap-server", "$BOOTSTRAP"]
    words += ["--remove", "--force"] if remove else ["--add"]
    side = entry.permission_type.name.lower()
    words += [f"--{side}-principal", entry.principal]
    if entry.host != "*":
        words += [f"--{side}-host", entry.host]
    words += ["--operation", _pascal(entry.operation.name)]
    if resource_type is ResourceType.CLUSTER and name == CLUSTER_NAME:
        words.append("--cluster")
    else:
        option = _RESOURCE_OPTIONS.get(resource_type)
        if option is None:
            return ""
        words += [option, name]
    if pattern_type is PatternType.PREFIXED:
        words += ["--resource-pattern-type", "prefixed"]
    return " ".join(word if word == "$BOOTSTRAP" else shlex.quote(word) for word in words)


def _pascal(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))
