"""ACLs as stores keep them: a binding with its id, encoded as a JSON array of seven cells."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from doorkeeper.acls.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.server.schema.kind import Codec, Item


class StoredBinding(NamedTuple):
    """A binding and its id (22 characters), which never changes."""

    binding_id: str
    binding: AclBinding


_quoted: Final = json.encoder.encode_basestring
_loads: Final = json.JSONDecoder().decode
# A named tuple's own constructor is a Python function, and slower.
_new = tuple.__new__

# Formatting an enum member takes five times as long.
_DIGITS: Final = tuple(map(str, range(256)))

_RESOURCE_TYPES: Final = {int(member): member for member in ResourceType}
_PATTERN_TYPES: Final = {int(member): member for member in PatternType}
_OPERATIONS: Final = {int(member): member for member in AclOperation}
_PERMISSIONS: Final = {int(member): member for member in AclPermissionType}


def binding_from(cells: list[Any]) -> AclBinding:
    """Return the binding of seven cells; ignore columns that a later version appended.

    Raises:
        KeyError: a code is not Kafka's.
    """
    kind, name, pattern_type, principal, host, operation, permission, *_ = cells
    pattern = (_RESOURCE_TYPES[kind], name, _PATTERN_TYPES[pattern_type])
    entry = (principal, host, _OPERATIONS[operation], _PERMISSIONS[permission])
    return _new(AclBinding, (_new(ResourcePattern, pattern), _new(AccessControlEntry, entry)))


def bindings_from(
    rows: Iterable[tuple[str, str]], seen: dict[str, str] | None = None
) -> Iterator[StoredBinding]:
    """Yield the bindings of many (id, value) pairs.

    Equal principals and hosts share one object; ``seen`` has those of earlier rows.

    Raises:
        KeyError: a code is not Kafka's.
        ValueError: a value is not an array of seven cells or more.
    """
    once = ({} if seen is None else seen).setdefault
    for part in _batches(rows):
        # One call of the JSON decoder for a thousand values halves the cost of a row.
        values = _loads(f"[{','.join([value for _, value in part])}]")
        for (binding_id, _), cells in zip(part, values, strict=True):
            kind, name, pattern_type, principal, host, operation, permission, *_ = cells
            pattern = (_RESOURCE_TYPES[kind], name, _PATTERN_TYPES[pattern_type])
            entry = (
                once(principal, principal),
                once(host, host),
                _OPERATIONS[operation],
                _PERMISSIONS[permission],
            )
            binding = (_new(ResourcePattern, pattern), _new(AccessControlEntry, entry))
            yield _new(StoredBinding, (binding_id, _new(AclBinding, binding)))


_BATCH: Final = 1_000


def _batches(rows: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    part: list[tuple[str, str]] = []
    for row in rows:
        part.append(row)
        if len(part) == _BATCH:
            yield part
            part = []
    if part:
        yield part


def _encode(row: StoredBinding) -> Item:
    """Encode resource type, name, pattern, principal, host, operation, permission."""
    binding_id, ((kind, name, pattern), (principal, host, operation, permission)) = row
    # Formatted by hand, in a sixth of the time of json.dumps: one request may create thousands.
    value = (
        f"[{_DIGITS[kind]},{_quoted(name)},{_DIGITS[pattern]},{_quoted(principal)},"
        f"{_quoted(host)},{_DIGITS[operation]},{_DIGITS[permission]}]"
    )
    return _new(Item, (binding_id, value, None))


def _decode(item: Item) -> StoredBinding:
    return StoredBinding(item.key, binding_from(_loads(item.value)))


CODEC: Final = Codec(_encode, _decode)
