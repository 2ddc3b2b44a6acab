"""A set of ACLs, compiled once: for each row the innermost interval of every name, with answers.

A row has the bindings of one principal and host on one type of resource. A question looks at four
rows: its own principal or ``User:*``, its own host or ``*``; and where hosts may be networks, at
two more for each network around its address. In a row the patterns are intervals of
cells (see ``names``) that lie within each other or apart, so that a cell has one innermost
interval, a node, and all others that cover it are that node's ancestors.

Each binding on a node is an entry, and entries are numbered in the order of the broker's walk. A
score orders the bindings that may decide a question: a DENY has its number, an ALLOW counts down
from above all of them, because the broker names the first DENY that matches and otherwise the last
ALLOW. The least score decides. ``best`` holds it for each node and operation, ancestors included,
so that a decision is four look-ups however many ACLs there are.

Worked example: ALLOW READ on the prefix "a" is entry 1, DENY ALL on the literal "ab" entry 0, which
the walk meets first. The scores are 2 * 2 - 1 - 1 = 2 and 0. For "abc" the row has the node of "a":
2, allowed; for "ab" it has the node of "ab", where the least of 0 and the ancestor's 2 denies.

Source: ``StandardAuthorizerData.findAclRule`` (4.3.1, 4.4.0); see ``doorkeeper.acl.decision``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from doorkeeper.acl.decision import Policy
from doorkeeper.acl.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourceType,
)
from doorkeeper.acl.network_index import NO_NETWORKS, Networks
from doorkeeper.acl.operations import ALLOW_TESTS, DENY_TESTS, entry_bit
from doorkeeper_pipeline.evaluation.names import NameCells

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

NO_SCORE = int(np.iinfo(np.int32).max)
"""The score where no binding matches."""

NO_NODE = -1
"""Where no pattern of a row covers a name."""

EVERYONE = 0
"""The number of ``User:*`` among the principals, and of ``*`` among the hosts."""

TYPES = max(ResourceType) + 1
OPERATIONS = max(AclOperation) + 1
DEFAULT_POLICY = Policy()


class Coverage(NamedTuple):
    """By resource type and cell: how many bindings cover it, and the sum of their numbers.

    The sum is the number of the binding where it is the only one.
    """

    counts: NDArray[np.int32]
    sums: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """A compiled set of ACLs. Bindings are numbered by their places in the input.

    It is plain data: pickled once and sent to every worker.
    """

    policy: Policy
    size: int
    """How many bindings there are."""
    cells: NameCells
    principals: dict[str, int]
    hosts: dict[str, int]
    networks: Networks
    """The networks among the hosts; none where hosts are compared as texts."""
    rows: NDArray[np.int64]
    """The keys of the rows, sorted; see ``row_keys``."""
    starts: NDArray[np.int64]
    """Where the innermost node changes: row times the number of cells, plus the cell; sorted."""
    nodes: NDArray[np.int32]
    """The innermost node from each start on, or NO_NODE."""
    parents: NDArray[np.int32]
    """The node around each node, or NO_NODE."""
    best: NDArray[np.int32]
    """The least score by node and operation, with those of all nodes around it."""
    offsets: NDArray[np.int64]
    """Where the entries of each node begin in ``node_entries``, and where the last ones end."""
    node_entries: NDArray[np.int32]
    """The entries, node by node."""
    entry_bindings: NDArray[np.int32]
    """The binding of each entry. The literal ``*`` has three entries."""
    entry_asks: NDArray[np.int32]
    """The operations that each entry is about: bit ``code`` for each of them."""
    entry_denies: NDArray[np.bool_]
    coverage: Coverage | None
    """Covered cells, for ``allow.everyone.if.no.acl.found``; None if it is not set."""

    @property
    def entries(self) -> int:
        """Return how many entries there are."""
        return len(self.entry_bindings)

    def row_keys(
        self, principals: NDArray[np.int64], hosts: NDArray[np.int64], types: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the keys of rows by the numbers of their parts."""
        return _row_keys(principals, hosts, types, len(self.hosts))

    def bindings_of(self, scores: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the bindings behind scores, none of which is NO_SCORE."""
        entries = self.entries
        return self.entry_bindings[np.where(scores < entries, scores, 2 * entries - 1 - scores)]


def distinct(bindings: Iterable[AclBinding]) -> tuple[AclBinding, ...]:
    """Return bindings each once, in their order: the input of ``compile_index``."""
    return tuple(dict.fromkeys(bindings))


def compile_index(
    bindings: Sequence[AclBinding], policy: Policy = DEFAULT_POLICY, *, networks: bool = True
) -> Index:
    """Compile a set of ACLs.

    About 8 us for a binding, a second for a hundred thousand. Without ``networks`` hosts are
    compared as texts, as before Kafka 4.4.

    Raises:
        ValueError: a binding stands there twice.

    """
    if len(set(bindings)) != len(bindings):
        raise ValueError(
            "a set of ACLs holds the same binding twice; distinct() leaves one of each"
        )
    entries = _entries(bindings)
    nodes = _nodes(entries)
    order = np.argsort(entries.nodes, kind="stable").astype(np.int32)
    return Index(
        policy=policy,
        size=len(bindings),
        cells=entries.cells,
        principals=entries.principals,
        hosts=entries.hosts,
        networks=NO_NETWORKS.changed(dict.fromkeys(entries.hosts, 1) if networks else {}),
        rows=entries.rows,
        starts=nodes.starts,
        nodes=nodes.nodes,
        parents=nodes.parents,
        best=_best(entries, nodes),
        offsets=np.searchsorted(entries.nodes[order], np.arange(len(nodes.parents) + 1)),
        node_entries=order,
        entry_bindings=entries.bindings,
        entry_asks=entries.asks,
        entry_denies=entries.denies,
        coverage=_coverage(bindings, entries.cells) if policy.allow_everyone else None,
    )


class _Entries(NamedTuple):
    """One for each interval of a binding, in the order of the broker's walk."""

    cells: NameCells
    principals: dict[str, int]
    hosts: dict[str, int]
    rows: NDArray[np.int64]
    bindings: NDArray[np.int32]
    asks: NDArray[np.int32]
    denies: NDArray[np.bool_]
    nodes: NDArray[np.int64]
    intervals: NDArray[np.int64]
    """Begin and end of each node, over the cells of all rows one after the other."""


def _entries(bindings: Sequence[AclBinding]) -> _Entries:
    cells = NameCells({(each.pattern.name, each.pattern.pattern_type) for each in bindings})
    principals = _numbers(WILDCARD_PRINCIPAL, (each.entry.principal for each in bindings))
    hosts = _numbers(WILDCARD, (each.entry.host for each in bindings))
    # Several hosts may match one client, and the walk compares them as texts.
    places = {host: place for place, host in enumerate(sorted(hosts))}
    walk: list[tuple[int, ...]] = []
    for number, (pattern, entry) in enumerate(bindings):
        (resource_type, name, pattern_type), (principal, host, operation, permission) = (
            pattern,
            entry,
        )
        of_binding = (
            pattern_type,
            operation,
            _against(principal, WILDCARD_PRINCIPAL),
            places[host],
            permission,
            number,
            _asks(operation, permission),
            principals[principal],
            hosts[host],
            resource_type,
        )
        for place, interval in enumerate(cells.intervals(name, pattern_type)):
            # The literal "*" comes last but for the resource of that name.
            walk.append((int(place > 0), -len(name), *of_binding, *interval))
    walk.sort()
    table = np.array(walk, dtype=np.int64).reshape(len(walk), 14)
    keys = _row_keys(table[:, 9], table[:, 10], table[:, 11], len(hosts))
    rows, row = np.unique(keys, return_inverse=True)
    spans = np.stack([row * len(cells) + table[:, 12], row * len(cells) + table[:, 13]], axis=1)
    # Outer intervals come before those within them.
    spans[:, 1] *= -1
    intervals, nodes = np.unique(spans, axis=0, return_inverse=True)
    intervals[:, 1] *= -1
    return _Entries(
        cells=cells,
        principals=principals,
        hosts=hosts,
        rows=rows,
        bindings=table[:, 7].astype(np.int32),
        asks=table[:, 8].astype(np.int32),
        denies=table[:, 6] == AclPermissionType.DENY,
        nodes=nodes.reshape(-1),
        intervals=intervals,
    )


def _numbers(first: str, texts: Iterable[str]) -> dict[str, int]:
    numbers = {first: EVERYONE}
    for text in texts:
        numbers.setdefault(text, len(numbers))
    return numbers


def _against(text: str, wildcard: str) -> int:
    """Return where a text stands to the wildcard: all that the walk can compare it with."""
    return (text > wildcard) - (text < wildcard)


_ASKS = {
    (held, permission): sum(
        1 << asked
        for asked in AclOperation
        if entry_bit(held, permission)
        & (DENY_TESTS if permission is AclPermissionType.DENY else ALLOW_TESTS)[asked]
    )
    for held in AclOperation
    for permission in (AclPermissionType.DENY, AclPermissionType.ALLOW)
}


def _asks(operation: AclOperation, permission: AclPermissionType) -> int:
    return _ASKS[operation, permission]


def _row_keys(
    principals: NDArray[np.int64],
    hosts: NDArray[np.int64],
    types: NDArray[np.int64],
    host_count: int,
) -> NDArray[np.int64]:
    keys: NDArray[np.int64] = (principals * host_count + hosts) * TYPES + types
    return keys


class _Nodes(NamedTuple):
    starts: NDArray[np.int64]
    nodes: NDArray[np.int32]
    parents: NDArray[np.int32]
    levels: NDArray[np.int32]
    """How many nodes lie around each node."""


def _nodes(entries: _Entries) -> _Nodes:
    """Walk over all intervals in order, with those that are open on a stack."""
    innermost: dict[int, int] = {}
    parents: list[int] = []
    levels: list[int] = []
    opened: list[tuple[int, int]] = []

    def close(until: int | None) -> None:
        while opened and (until is None or opened[-1][1] <= until):
            _, end = opened.pop()
            innermost[end] = opened[-1][0] if opened else NO_NODE

    for node, (begin, end) in enumerate(entries.intervals.tolist()):
        close(begin)
        parents.append(opened[-1][0] if opened else NO_NODE)
        levels.append(len(opened))
        innermost[begin] = node
        opened.append((node, end))
    close(None)
    return _Nodes(
        np.fromiter(innermost, np.int64, len(innermost)),
        np.fromiter(innermost.values(), np.int32, len(innermost)),
        np.array(parents, np.int32),
        np.array(levels, np.int32),
    )


def _best(entries: _Entries, nodes: _Nodes) -> NDArray[np.int32]:
    count = len(entries.bindings)
    best = np.full((len(nodes.parents), OPERATIONS), NO_SCORE, np.int32)
    number = np.arange(count, dtype=np.int32)
    scores = np.where(entries.denies, number, 2 * count - 1 - number).astype(np.int32)
    for operation in AclOperation:
        about = (entries.asks >> operation) & 1 == 1
        np.minimum.at(best[:, operation], entries.nodes[about], scores[about])
    by_level = np.argsort(nodes.levels, kind="stable")
    ends = np.searchsorted(
        nodes.levels[by_level], np.arange(1, int(nodes.levels.max(initial=0)) + 2)
    )
    for begin, end in pairwise(ends):
        inner = by_level[begin:end]
        best[inner] = np.minimum(best[inner], best[nodes.parents[inner]])
    return best


def _coverage(bindings: Sequence[AclBinding], cells: NameCells) -> Coverage:
    counts = np.zeros((TYPES, len(cells) + 1), np.int64)
    sums = np.zeros_like(counts)
    for number, (pattern, _) in enumerate(bindings):
        for begin, end in cells.intervals(pattern.name, pattern.pattern_type):
            counts[pattern.resource_type, begin] += 1
            counts[pattern.resource_type, end] -= 1
            sums[pattern.resource_type, begin] += number
            sums[pattern.resource_type, end] -= number
    return Coverage(
        np.cumsum(counts, axis=1)[:, :-1].astype(np.int32), np.cumsum(sums, axis=1)[:, :-1]
    )
