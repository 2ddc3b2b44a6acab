"""Bindings as rows, as texts and as commands: one form of each for all tables and reports.

row      the seven fields in Kafka's words, and an id
text     Kafka 4.2's text between the square brackets of StandardAcl[...]
command  kafka-acls.sh ... --add or --remove, quoted for a shell
"""

from __future__ import annotations

import base64
import hashlib
import shlex

from doorkeeper.acls.formats.commands import KAFKA_ACLS, options_of
from doorkeeper.acls.model import AclBinding, AclPermissionType

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

TEXT = (
    "resourceType={}, resourceName={}, patternType={}, principal={}, host={}, operation={},"
    " permissionType={}"
)
"""The text of a binding, by these fields."""

ID_LENGTH = 22

BOOTSTRAP = '"$BOOTSTRAP"'
"""The address of a broker in a command: a variable of the shell."""


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
    row = row_of(binding, "-")
    return TEXT.format(*(row[field] for field in FIELDS))


def command_of(binding: AclBinding, *, remove: bool = False, arguments: str = "") -> str:
    """Return the kafka-acls.sh command that adds or removes a binding, or '' where none can.

    It is one line of bash that prints safely with any names. ``arguments`` are more words of
    it, as the shell shall read them. The tool has no words for an operation that the type of
    resource does not know, and would cut blanks off.
    """
    options = options_of(binding)
    words = None if options is None else [word(option) for option in options]
    if words is None or None in words:
        return ""
    head = [KAFKA_ACLS, "--bootstrap-server", BOOTSTRAP, *([arguments] if arguments else [])]
    head += ["--remove"] if remove else ["--add"]
    # Without a DENY more may be allowed than the history shows: the tool asks.
    if remove and binding.entry.permission_type is AclPermissionType.ALLOW:
        head.append("--force")
    return " ".join([*head, *filter(None, words)])


_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"}


def word(text: str) -> str | None:
    """Return a text as one word of bash, which prints safely and arrives unchanged.

    It is quoted plainly where everything prints; otherwise as ``$'...'`` with the bytes of UTF-8,
    so that no terminal obeys a name and no locale changes it. None where no argument of a program
    can hold it: with a NUL, which ends an argument, or with half a surrogate pair.
    """
    if text.isprintable():
        return shlex.quote(text)
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        return None
    return "$'" + "".join(map(_escape, text)) + "'"


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode())
