"""Changes of ACLs that are taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from doorkeeper.acls.model import AclBinding
from doorkeeper.acls.plan import Plan
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.history.reading import BeforeHistory
from doorkeeper.server.state.history.revisions import Revision, read_revisions
from doorkeeper.server.state.storage.portable import Portable


class Undo(Struct, frozen=True):
    """The ACLs that a range of revisions added and removed, and that no later one changed.

    ``other_kinds`` are the kinds besides ACLs that the range changed: they stay as they are.
    ``overlaps`` are later revisions that changed ACLs of the same patterns and principals.
    """

    added: frozenset[AclBinding]
    removed: frozenset[AclBinding]
    other_kinds: tuple[str, ...]
    overlaps: tuple[Revision, ...]

    def plan(self, present: Iterable[AclBinding]) -> Plan:
        """Return the plan that takes the range back, for the present ACLs."""
        there = set(present)
        removed = sorted(self.added & there)
        added = sorted(self.removed - there)
        return Plan(tuple(added), tuple(removed), len(there) - len(removed), 0)


async def read_undo(store: Portable, first: int, last: int) -> Undo:
    """Return the effect of the revisions from ``first`` to ``last``, and the later overlaps.

    Raises:
        BeforeHistory: the log does not have all of them.
    """
    newest = (await store.position()).revision
    revisions = await read_revisions(store, first - 1, newest)
    inside = [revision for revision in revisions if revision.revision <= last]
    if len(inside) != last - first + 1:
        logged = f"{revisions[0].revision} to {newest}" if revisions else "none of them"
        raise BeforeHistory(
            f"{store.name}: revisions {first} to {last} are not all in the log, which has {logged}"
        )
    before: dict[AclBinding, bool] = {}
    after: dict[AclBinding, bool] = {}
    for binding, deleted in _acl_changes(inside):
        before.setdefault(binding, deleted)
        after[binding] = not deleted
    touched = {_subject(binding) for binding in before}
    # Whoever changed an ACL since did not ask for its state before the range.
    later = revisions[len(inside) :]
    for binding, _ in _acl_changes(later):
        after.pop(binding, None)
    others = {row.kind for revision in inside for row in revision.rows if row.kind != ACL.name}
    return Undo(
        frozenset(binding for binding, exists in after.items() if exists and not before[binding]),
        frozenset(binding for binding, exists in after.items() if not exists and before[binding]),
        tuple(sorted(others)),
        changes_of(later, lambda binding: _subject(binding) in touched),
    )


async def changed_acls(store: Portable, after: int) -> frozenset[AclBinding]:
    """Return the ACLs that revisions after one added or removed, also those that came back."""
    newest = (await store.position()).revision
    revisions = await read_revisions(store, after, newest)
    return frozenset(binding for binding, _ in _acl_changes(revisions))


def changes_of(
    revisions: Sequence[Revision], concerns: Callable[[AclBinding], bool]
) -> tuple[Revision, ...]:
    """Return the revisions that changed an ACL of a condition."""
    return tuple(
        revision
        for revision in revisions
        if any(concerns(acl) for acl, _ in _acl_changes([revision]))
    )


def _acl_changes(revisions: Iterable[Revision]) -> Iterator[tuple[AclBinding, bool]]:
    """Yield the changed ACLs in order, and whether each was deleted."""
    for revision in revisions:
        for row in revision.rows:
            stored = row.row() if row.kind == ACL.name else None
            if isinstance(stored, StoredBinding):
                yield stored.binding, row.deleted


def _subject(binding: AclBinding) -> tuple[object, str]:
    return binding.pattern, binding.entry.principal
