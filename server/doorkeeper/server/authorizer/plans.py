"""Plans of creating and deleting ACLs: pure functions of the state.

Bindings and filters have been validated before, independently of the state. Long plans yield in
slices.

Source: ``AclControlManager.createAcls`` and ``deleteAcls`` (4.3.1).
"""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode
from functools import partial
from itertools import filterfalse
from typing import TYPE_CHECKING, Final

from doorkeeper.acls.model import AclOperation, PatternType, ResourceType
from doorkeeper.acls.operations import SUPPORTED_OPERATIONS, effects
from doorkeeper.acls.search import find_each
from doorkeeper.acls.validation import ACLS_PER_REQUEST_MAX, too_many_created, too_many_deleted
from doorkeeper.base.slices import SLICE_ITEMS, parts
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import Edit
from doorkeeper.server.schema.declared import ACL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from doorkeeper.acls.model import AclBinding, AclBindingFilter
    from doorkeeper.base.slices import Slices
    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.state.state import State

Creation = tuple["Change", "Sequence[str]"]

# Three times as fast as a named tuple's own constructor, which is a Python function.
_stored = partial(tuple.__new__, StoredBinding)


def plan_creation(
    bindings: Sequence[AclBinding], ids: Sequence[str], state: State
) -> Creation | Slices[Creation]:
    """Plan the creation of valid bindings; the result are hints about those that are new.

    Existing bindings, and duplicates in the request, are skipped. There is a new id for each
    binding that one request may create.

    Raises:
        ApiError: more ACLs are new than one request may create.
    """
    # A single slice is below ACLS_PER_REQUEST_MAX.
    if len(bindings) > SLICE_ITEMS:
        return _creation_in_slices(bindings, ids, state)
    # All of this runs in C: a thousand ACLs take half a millisecond.
    missing = dict.fromkeys(filterfalse(state.acls.id_of, bindings))
    rows = tuple(map(_stored, zip(ids, missing, strict=False)))
    return ({ACL: Edit(rows)} if rows else {}), hints(rows)


def _creation_in_slices(
    bindings: Sequence[AclBinding], ids: Sequence[str], state: State
) -> Slices[Creation]:
    missing: dict[AclBinding, None] = {}
    for part in parts(bindings):
        missing |= dict.fromkeys(filterfalse(state.acls.id_of, part))
        yield
    if len(missing) > ACLS_PER_REQUEST_MAX:
        raise too_many_created()
    rows: list[StoredBinding] = []
    lines: list[str] = []
    for part in parts(missing):
        some = ids[len(rows) : len(rows) + len(part)]
        added = list(map(_stored, zip(some, part, strict=True)))
        rows += added
        lines += hints(added)
        yield
    return ({ACL: Edit(tuple(rows))} if rows else {}), lines


def plan_deletion(
    filters: Sequence[AclBindingFilter], state: State
) -> Slices[tuple[Change, Sequence[Sequence[AclBinding]]]]:
    """Plan the deletion of matching bindings; the result are those of each filter.

    All filters are matched against the same state: a binding that two of them match is reported
    under both and deleted once.

    Raises:
        ApiError: they match more ACLs than one request may delete.
    """
    acls = state.acls
    found = yield from find_each(acls, filters, ACLS_PER_REQUEST_MAX)
    if found is None:
        raise too_many_deleted()
    rows: list[StoredBinding] = []
    id_of = acls.id_of
    for binding in found.bindings:
        rows.append(_stored((id_of(binding), binding)))
        if len(rows) % SLICE_ITEMS == 0:
            yield
    return ({ACL: Edit(deleted=tuple(rows))} if rows else {}), found.of_filters


# --- ids

_BYTES: Final = 16
_NUMBERS: Final = 1 << 8 * _BYTES

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
        self._last = int.from_bytes(random_bytes(_BYTES))

    def __call__(self, count: int) -> list[str]:
        """Return new ids."""
        ids: list[str] = []
        while len(ids) < count:
            first = (self._last + 1) % _NUMBERS
            # Base64 without padding: 20 characters for 15 bytes, and 2 for the last one.
            head = urlsafe_b64encode(first.to_bytes(_BYTES)).decode("ascii")[:_HEAD]
            if head.startswith("-"):
                # Counting past the hyphens would take 2**122 steps.
                self._last = int.from_bytes(self._random_bytes(_BYTES))
                continue
            tails = _TAILS[first & 0xFF :][: count - len(ids)]
            ids += map(head.__add__, tails)
            self._last = first + len(tails) - 1
        return ids


# --- hints

_ALL, _USER = AclOperation.ALL, ResourceType.USER

_FITTING: Final = frozenset(
    (resource_type, operation)
    for resource_type, supported in SUPPORTED_OPERATIONS.items()
    for operation in (_ALL, *supported)
    if resource_type is not _USER
)
"""Pairs of a resource type and an operation that need no hint."""


def hints(rows: Iterable[StoredBinding]) -> list[str]:
    """Return a line for each new ACL that has no effect, or less than expected.

    These are ACLs whose operation does not belong to their resource type, and ACLs on a user whose
    name is no principal: the resource of delegation tokens is ``User:owner1``, but ``kafka-acls.sh
    --user-principal owner1`` sends the bare name. A broker stores both without a warning.
    """
    lines: list[str] = []
    for _, binding in rows:
        # Nearly all end here, of a thousand that are created together.
        if (binding[0][0], binding[1][2]) not in _FITTING:
            lines += _hints_of(binding)
    return lines


def _hints_of(binding: AclBinding) -> Iterator[str]:
    (resource_type, name, pattern_type), entry = binding
    supported = SUPPORTED_OPERATIONS.get(resource_type, ())
    acl = (
        f"{entry.permission_type.name} {entry.operation.name} for {entry.principal}"
        f" on {resource_type.name}:{pattern_type.name}:{name}"
    )
    literal = pattern_type is PatternType.LITERAL and name != "*"
    if resource_type is _USER and literal and ":" not in name:
        yield (
            f"the ACL {acl} has no effect: the resource of a user is its full principal,"
            f" as User:{name}"
        )
    elif entry.operation is not _ALL and entry.operation not in supported:
        left = ", ".join(each.name for each in effects(binding))
        consequence = f"allows {left} only" if left else "has no effect"
        allowed = ", ".join(each.name for each in supported)
        yield f"the ACL {acl} {consequence}: the operations of {resource_type.name} are {allowed}"
