"""Changes of ACLs that are taken back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from doorkeeper.acls.model import AclBinding
from doorkeeper.acls.plan import Plan
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.history.reading import BeforeHistory
from doorkeeper.server.state.history.revisions import Revision, revisions_between
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
        existing = set(present)
        removed = sorted(self.added & existing)
        added = sorted(self.removed - existing)
        return Plan(tuple(added), tuple(removed), len(existing) - len(removed), 0)


async def read_undo(store: Portable, first: int, last: int) -> Undo:
    """Return the effect of the revisions from ``first`` to ``last``, and the later overlaps.

    Raises:
        BeforeHistory: the log does not have all of them.
    """
    newest = (await store.position()).revision
    before: dict[AclBinding, bool] = {}
    after: dict[AclBinding, bool] = {}
    touched: set[object] = set()
    others: set[str] = set()
    overlaps = []
    oldest = count = 0
    async for revision in revisions_between(store, first - 1, newest):
        oldest = oldest or revision.revision
        changes = list(_acl_changes(revision))
        if revision.revision > last:
            # Whoever changed an ACL since did not ask for its state before the range.
            for binding, _ in changes:
                after.pop(binding, None)
            if not touched.isdisjoint(_subject(binding) for binding, _ in changes):
                overlaps.append(revision)
            continue
        count += 1
        others.update(row.kind for row in revision.rows if row.kind != ACL.name)
        for binding, deleted in changes:
            touched.add(_subject(binding))
            before.setdefault(binding, deleted)
            after[binding] = not deleted
    if count != last - first + 1:
        logged = f"{oldest} to {newest}" if oldest else "none of them"
        raise BeforeHistory(
            f"{store.name}: revisions {first} to {last} are not all in the log, which has {logged}"
        )
    return Undo(
        frozenset(binding for binding, exists in after.items() if exists and not before[binding]),
        frozenset(binding for binding, exists in after.items() if not exists and before[binding]),
        tuple(sorted(others)),
        tuple(overlaps),
    )


async def changed_acls(store: Portable, after: int) -> frozenset[AclBinding]:
    """Return the ACLs that revisions after one added or removed, also those that came back."""
    newest = (await store.position()).revision
    changed: set[AclBinding] = set()
    async for revision in revisions_between(store, after, newest):
        changed.update(binding for binding, _ in _acl_changes(revision))
    return frozenset(changed)


def _acl_changes(revision: Revision) -> Iterator[tuple[AclBinding, bool]]:
    """Yield the changed ACLs in order, and whether each was deleted."""
    for row in revision.rows:
        stored = row.row() if row.kind == ACL.name else None
        if isinstance(stored, StoredBinding):
            yield stored.binding, row.deleted


def _subject(binding: AclBinding) -> tuple[object, str]:
    return binding.pattern, binding.entry.principal
