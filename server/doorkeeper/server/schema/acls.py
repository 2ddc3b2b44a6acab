"""ACLs as stores keep them: a binding with its id, encoded as a JSON array of seven cells.

``BindingIds`` makes the ids of new ones.
"""

from __future__ import annotations

import json
import os
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
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
    share = ({} if seen is None else seen).setdefault
    left = iter(rows)
    while part := list(islice(left, _BATCH)):
        # One call of the JSON decoder for a thousand values halves the cost of a row.
        values = _loads(f"[{','.join([value for _, value in part])}]")
        for (binding_id, _), cells in zip(part, values, strict=True):
            kind, name, pattern_type, principal, host, operation, permission, *_ = cells
            pattern = (_RESOURCE_TYPES[kind], name, _PATTERN_TYPES[pattern_type])
            entry = (
                share(principal, principal),
                share(host, host),
                _OPERATIONS[operation],
                _PERMISSIONS[permission],
            )
            binding = (_new(ResourcePattern, pattern), _new(AccessControlEntry, entry))
            yield _new(StoredBinding, (binding_id, _new(AclBinding, binding)))


_BATCH: Final = 1_000


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


# --- ids

_ID_BYTES: Final = 16
_NUMBERS: Final = 1 << 8 * _ID_BYTES

_HEAD: Final = 20
"""The number of leading characters, of 22, that do not depend on the last byte."""

_TAILS: Final = tuple(urlsafe_b64encode(bytes([last])).decode("ascii")[:2] for last in range(256))
"""The last two characters, by the last byte."""


class BindingIds:
    """Generates ids: 22 characters of URL-safe base64, Kafka's form of 16 bytes.

    Ids count up from a random number. Stores keep bindings in the order of their ids: with
    consecutive ids, a thousand ACLs touch forty pages of the database; with random ones each
    touched its own page, written twice, once there were some ten thousand ACLs.

    No id begins with a hyphen, as in Kafka. Ids are not secrets and may be guessed. Two processes
    collide only if their random starts of 128 bits are as close together as there are ACLs.
    """

    __slots__ = ("_last", "_random_bytes")

    def __init__(self, random_bytes: Callable[[int], bytes] = os.urandom) -> None:
        self._random_bytes = random_bytes
        self._last = int.from_bytes(random_bytes(_ID_BYTES))

    def __call__(self, count: int) -> list[str]:
        ids: list[str] = []
        while len(ids) < count:
            first = (self._last + 1) % _NUMBERS
            # Base64 without padding: 20 characters for 15 bytes, and 2 for the last one.
            head = urlsafe_b64encode(first.to_bytes(_ID_BYTES)).decode("ascii")[:_HEAD]
            if head.startswith("-"):
                # Counting past the hyphens would take 2**122 steps.
                self._last = int.from_bytes(self._random_bytes(_ID_BYTES))
                continue
            tails = _TAILS[first & 0xFF :][: count - len(ids)]
            ids += map(head.__add__, tails)
            self._last = first + len(tails) - 1
        return ids
