"""One immutable state of all ACLs, with the indexes that decisions and answers need.

For each resource type there are two indexes, both persistent:

    patterns     pattern -> group: its bindings and their ids     describe, delete, coverage
    principals   principal -> pattern -> cell: masks by host      decisions, filters by principal

A decision looks at two principals, the asking one and ``User:*``, and in each at the literal of
the name, the literal ``*`` and the prefixes whose lengths occur there. Its cost depends on the
number of those lengths, not on the number of ACLs.

A change copies the path to what it touches, O(log n), and shares everything else with the
snapshot it came from; ``docs/decisions/acl-index.md`` has the measurements.

A snapshot also has steps: what the last changes touched, behind those of the snapshots that it came
from, so that what was made from an earlier one can be brought up to date.

    snapshot 0     0
    snapshot 1     0 1       made from 0; step 1 has the patterns that the change touched
    snapshot 2     0 1 2     made from 1
    snapshot 3     0 1 3     made from 1, when 2 had come to nothing

From 0 to 3 the way is what 1 and 3 touched. From 2 to 3 there is none, since 3 was not made from
it; nor is there one from a snapshot so old that its step was dropped. Then all ACLs have to be
compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from doorkeeper.acls.index import EMPTY_TYPE, Cell, Names, TypeEdit, TypeIndex, wildcard_covers
from doorkeeper.acls.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.network_index import NO_NETWORKS, Networks

_WITHOUT_NETWORK: Final = 2
"""A client in no network matches ``*`` and its own address."""

STEPS_MAX: Final = 64
"""How many steps a snapshot has at most. A change copies as many references."""

PATTERNS_MAX: Final = 4096
"""How many patterns all steps of a snapshot name at most; they keep them in memory."""


@dataclass(slots=True, eq=False)
class Step:
    """One snapshot, as itself, and the patterns that the change touched which led to it.

    Some may be there twice, or be as they were before. ``total`` counts those of all steps.
    """

    patterns: Sequence[ResourcePattern] = ()
    total: int = 0


Steps = tuple[Step, ...]
"""Those of a snapshot, its own the last."""


class Snapshot:
    """All ACLs at one moment. Never changes; ``with_changes`` returns another one."""

    __slots__ = ("_matching", "count", "matches_networks", "networks", "steps", "types")

    def __init__(
        self,
        types: tuple[TypeIndex, ...],
        count: int,
        steps: Steps | None = None,
        networks: Networks = NO_NETWORKS,
        *,
        matches_networks: bool = False,
    ) -> None:
        """Take the indexes by code of the resource type, and the number of bindings.

        ``steps`` lead here from the states that this one was made of; None where there were none.
        ``networks`` are those that hosts name. They match the addresses in them from Kafka 4.4 on;
        before, a host is compared as text.
        """
        self.types = types
        self.count = count
        self.steps = steps or (Step(),)
        self.networks = networks
        self.matches_networks = matches_networks
        # Compared by identity: each change makes a snapshot, and most stores have no network.
        is_asked = matches_networks and networks is not NO_NETWORKS
        self._matching = networks if is_asked else None

    def id_of(self, binding: AclBinding) -> str | None:
        """Return the id of a binding, None where there is no such binding."""
        pattern = binding.pattern
        group = self.types[pattern.resource_type].patterns.get(pattern.name, pattern.pattern_type)
        return None if group is None else group.get(binding)

    def __contains__(self, binding: AclBinding) -> bool:
        return self.id_of(binding) is not None

    def __len__(self) -> int:
        return self.count

    def effective_mask(
        self, resource_type: ResourceType, name: str, principal: str, host: str
    ) -> int:
        """Return all that covers the resource for one principal at one address, as one mask."""
        principals = self.types[resource_type].principals
        own = principals.get(principal)
        everyones = principals.get(WILDCARD_PRINCIPAL)
        networks = self._matching
        # A union is enough: ALLOW and DENY have bits of their own, and the caller tests DENY first.
        if networks is not None and len(networks.matching(host)) > _WITHOUT_NETWORK:
            mask = 0 if own is None else _mask_in_networks(networks, own, name, host)
            if everyones is not None:
                mask |= _mask_in_networks(networks, everyones, name, host)
            return mask
        # Even if ACLs name networks, most clients are in none of them: the plain look-up by text is
        # enough for these.
        mask = 0 if own is None else _mask_in(own, name, host)
        return mask if everyones is None else mask | _mask_in(everyones, name, host)

    def hosts_matching(self, host: str) -> Collection[str]:
        """Return the hosts of ACLs that a client at this address matches, ``*`` among them."""
        if self._matching is None:
            return (WILDCARD,) if host == WILDCARD else (WILDCARD, host)
        return self._matching.matching(host)

    def with_network_matching(self, *, enabled: bool) -> Snapshot:
        """Return the same ACLs under the rules of Kafka 4.4, or of the releases before it."""
        if enabled is self.matches_networks:
            return self
        # No step leads here: what a client may do has changed without a change of any pattern.
        return Snapshot(self.types, self.count, None, self.networks, matches_networks=enabled)

    def covers(self, resource_type: ResourceType, name: str) -> bool:
        """Say whether any ACL, of whomever, has a pattern that covers the resource."""
        patterns = self.types[resource_type].patterns
        literals = patterns.literals
        if name in literals or (WILDCARD in literals and wildcard_covers(name)):
            return True
        return next(patterns.prefixes_of(name), None) is not None

    def with_changes(
        self,
        set: Iterable[tuple[str, AclBinding]],
        deleted: Iterable[tuple[str, AclBinding]] = (),
    ) -> Snapshot:
        """Return the state after these bindings, with their ids, were deleted and those created.

        One that exists already keeps the id it has, one that is missing stays missing; the id of a
        deleted one is ignored. 256 of a million take about a millisecond.
        """
        edits: dict[int, TypeEdit] = {}
        count = self.count
        networks: dict[str, int] = {}
        for difference, rows in ((-1, deleted), (1, set)):
            for binding_id, binding in rows:
                code = binding[0][0]
                edit = edits.get(code)
                if edit is None:
                    edit = edits[code] = TypeEdit(self.types[code])
                if edit.delete(binding) if difference < 0 else edit.add(binding_id, binding):
                    count += difference
                    edit.has_effect = True
                    host = binding[1][1]
                    if "/" in host:
                        networks[host] = networks.get(host, 0) + difference
        types = list(self.types)
        touched: list[ResourcePattern] = []
        for kind, edit in edits.items():
            if edit.has_effect:
                types[kind] = edit.index()
                touched += edit.patterns
        return Snapshot(
            tuple(types),
            count,
            _steps_after(self.steps, touched),
            self.networks.changed(networks) if networks else self.networks,
            matches_networks=self.matches_networks,
        )

    def without(self, bindings: Iterable[AclBinding]) -> Snapshot:
        return self.with_changes((), [("", binding) for binding in bindings])


EMPTY = Snapshot((EMPTY_TYPE,) * (max(ResourceType) + 1), 0)
"""The state without any ACL."""


def _steps_after(steps: Steps, touched: Sequence[ResourcePattern]) -> Steps:
    # Nothing that was built from an older snapshot is brought up to date over so large a change.
    if len(touched) > PATTERNS_MAX:
        return (Step(),)
    last = Step(touched, steps[-1].total + len(touched))
    steps = (*steps[-STEPS_MAX + 1 :], last)
    # Steps before this many patterns are too long a way for anyone to take.
    while last.total - steps[0].total > PATTERNS_MAX:
        steps = steps[1:]
    return steps


def touched_since(before: Step, steps: Steps) -> list[ResourcePattern] | None:
    """Return what was touched on the way from a snapshot to another; None: it is not known."""
    for at, step in enumerate(steps):
        if step is before:
            return [pattern for later in steps[at + 1 :] for pattern in later.patterns]
    return None


def _mask_in(names: Names[Cell], name: str, host: str) -> int:
    # The hot path of every decision: written out, without generators and calls.
    literals, prefixes, lengths, _ = names
    mask = 0
    cell = literals.get(name)
    if cell is not None:
        mask = cell if isinstance(cell, int) else cell.get(WILDCARD, 0) | cell.get(host, 0)
    cell = literals.get(WILDCARD)
    if cell is not None and wildcard_covers(name):
        mask |= cell if isinstance(cell, int) else cell.get(WILDCARD, 0) | cell.get(host, 0)
    if lengths:
        size = len(name)
        for length in lengths:
            # The lengths ascend, so no later prefix can cover the name either.
            if length > size:
                break
            cell = prefixes.get(name[:length])
            if cell is not None:
                mask |= cell if isinstance(cell, int) else cell.get(WILDCARD, 0) | cell.get(host, 0)
    return mask


def _mask_in_networks(networks: Networks, names: Names[Cell], name: str, host: str) -> int:
    mask = 0
    cell = names.literals.get(name)
    if cell is not None:
        mask = networks.mask_for(cell, host)
    cell = names.literals.get(WILDCARD)
    if cell is not None and wildcard_covers(name):
        mask |= networks.mask_for(cell, host)
    for _, cell in names.prefixes_of(name):
        mask |= networks.mask_for(cell, host)
    return mask
