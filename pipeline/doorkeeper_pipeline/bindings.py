"""Bindings as rows and as texts, and words of a shell: one form of each for all tables and reports.

row      the seven fields in Kafka's words, and an id
text     Kafka 4.2's text between the square brackets of StandardAcl[...]

``evaluation.literals`` has those of many bindings at once, and their commands.
"""

from __future__ import annotations

import base64
import hashlib
import shlex

from doorkeeper.acls.model import AclBinding

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
