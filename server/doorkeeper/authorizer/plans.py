"""What a request would change, worked out on a snapshot before anything happens.

Both plans are pure: items are validated alone, and what is accepted is computed against the one
state that the request starts from.

Source: ``AclControlManager.createAcls`` and ``deleteAcls`` (4.3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acl.search import find
from doorkeeper.acl.validation import (
    ACLS_PER_REQUEST_MAX,
    check_binding,
    check_filter,
    too_many_created,
    too_many_deleted,
)
from doorkeeper.storage.contract import StoredBinding
from doorkeeper.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from doorkeeper.acl.model import AclBinding, AclBindingFilter
    from doorkeeper.acl.snapshot import Snapshot
    from doorkeeper.errors import ApiError


# A named tuple's own constructor is a Python function.
_new = tuple.__new__


class Creation(Value):
    """The refusals by item, None for an accepted one, and the bindings that are new."""

    refusals: tuple[ApiError | None, ...]
    added: tuple[StoredBinding, ...]


class Deletion(Value):
    """The refusals and the matches by item, and all bindings that go, each once."""

    refusals: tuple[ApiError | None, ...]
    matches: tuple[tuple[AclBinding, ...], ...]
    removed: tuple[StoredBinding, ...]


def creation_refusals(bindings: Iterable[AclBinding]) -> tuple[ApiError | None, ...]:
    """Return what is wrong with each binding by itself, whatever the state."""
    return tuple(map(check_binding, bindings))


def deletion_refusals(filters: Iterable[AclBindingFilter]) -> tuple[ApiError | None, ...]:
    """Return what is wrong with each filter by itself, whatever the state."""
    return tuple(map(check_filter, filters))


def plan_creation(
    state: Snapshot,
    bindings: Sequence[AclBinding],
    refusals: tuple[ApiError | None, ...],
    new_id: Callable[[], str],
) -> Creation:
    """Work out what creating the bindings means, with what ``creation_refusals`` says of them.

    One that exists, and a second one in the same request, is accepted and adds nothing.
    Over the limit every item is refused, also those that were refused already.
    """
    id_of = state.id_of
    new = dict.fromkeys(
        [
            binding
            for binding, refusal in zip(bindings, refusals, strict=True)
            if refusal is None and id_of(binding) is None
        ]
    )
    if len(new) > ACLS_PER_REQUEST_MAX:
        return Creation(refusals=tuple(too_many_created() for _ in bindings), added=())
    added = tuple([_new(StoredBinding, (new_id(), binding)) for binding in new])
    return Creation(refusals=refusals, added=added)


def plan_deletion(
    state: Snapshot,
    filters: Sequence[AclBindingFilter],
    refusals: tuple[ApiError | None, ...],
) -> Deletion:
    """Work out what deleting by the filters means, with what ``deletion_refusals`` says of them.

    Each filter is matched against the same state: a binding that two of them match is reported
    under both and goes once. Over the limit every filter is refused.
    """
    matches = tuple(
        tuple(find(state, wanted)) if refusal is None else ()
        for wanted, refusal in zip(filters, refusals, strict=True)
    )
    removed = dict.fromkeys(binding for found in matches for binding in found)
    if len(removed) > ACLS_PER_REQUEST_MAX:
        return Deletion(
            refusals=tuple(too_many_deleted() for _ in filters),
            matches=tuple(() for _ in filters),
            removed=(),
        )
    return Deletion(
        refusals=refusals,
        matches=matches,
        removed=tuple([_new(StoredBinding, (state.id_of(each) or "", each)) for each in removed]),
    )
