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

Source: ``StandardAuthorizerData.findAclRule`` (4.3.1, 4.4.0); see ``doorkeeper.acls.decision``.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourceType,
)
from doorkeeper.acls.network_index import NO_NETWORKS, Networks
from doorkeeper.acls.operations import ALLOW_TESTS, DENY_TESTS, entry_bit
from doorkeeper_pipeline.evaluation.names import Interval, NameCells

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
        return len(self.entry_bindings)

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

    About 4 us for a binding. Without ``networks`` hosts are
    compared as texts, as before Kafka 4.4.

    Raises:
        ValueError: a binding stands there twice.

    """
    if len(set(bindings)) != len(bindings):
        raise ValueError("duplicate binding in a set of ACLs; remove duplicates with distinct()")
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
    count = len(bindings)
    patterns, entries = zip(*bindings, strict=True) if bindings else ((), ())
    types, names, pattern_types = zip(*patterns, strict=True) if bindings else ((),) * 3
    whose, where, operations, permissions = zip(*entries, strict=True) if bindings else ((),) * 4
    # Each name once: sets of ACLs have many bindings of one.
    named = list(zip(names, pattern_types, strict=True))
    places_of = {pair: number for number, pair in enumerate(dict.fromkeys(named))}
    cells = NameCells(places_of)
    intervals = [cells.intervals(*pair) for pair in places_of]
    principals = _numbers(WILDCARD_PRINCIPAL, whose)
    hosts = _numbers(WILDCARD, where)
    # Several hosts may match one client, and the walk compares them as texts.
    order_of_hosts = {host: rank for rank, host in enumerate(sorted(hosts))}
    pattern_of = _codes(named, places_of)
    principal_of, host_of = _codes(whose, principals), _codes(where, hosts)
    host_places = _codes(hosts, order_of_hosts)
    against = np.fromiter(
        (_against(principal, WILDCARD_PRINCIPAL) for principal in principals), np.int8
    )
    operation_of = np.fromiter(operations, np.int16, count)
    permission_of = np.fromiter(permissions, np.int8, count)
    binding, position, spans = _spans_of(intervals, pattern_of)
    lengths = np.fromiter(map(len, names), np.int64, count)
    walk = np.lexsort(
        (
            permission_of[binding],
            host_places[host_of[binding]],
            against[principal_of[binding]],
            operation_of[binding],
            np.fromiter(pattern_types, np.int8, count)[binding],
            -lengths[binding],
            # The literal "*" comes last but for the resource of that name.
            position > 0,
        )
    )
    binding, spans = binding[walk], spans[walk]
    keys = row_keys(
        principal_of[binding],
        host_of[binding],
        np.fromiter(types, np.int64, count)[binding],
        len(hosts),
    )
    rows, row = np.unique(keys, return_inverse=True)
    nodes, intervals_of_nodes = _distinct_spans(spans + (row * len(cells))[:, None])
    return _Entries(
        cells=cells,
        principals=principals,
        hosts=hosts,
        rows=rows,
        bindings=binding.astype(np.int32),
        asks=_ASKS[operation_of[binding], permission_of[binding]],
        denies=permission_of[binding] == AclPermissionType.DENY,
        nodes=nodes,
        intervals=intervals_of_nodes,
    )


def _spans_of(
    intervals: Sequence[Sequence[Interval]], pattern_of: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the binding of each entry, its position among those of the binding, and its interval.

    The entries of a binding follow each other, one for each interval of its pattern.
    """
    sizes = np.fromiter(map(len, intervals), np.int64, len(intervals))
    begins = np.cumsum(sizes) - sizes
    counts = sizes[pattern_of]
    binding = np.repeat(np.arange(len(pattern_of)), counts)
    position = np.arange(len(binding)) - np.repeat(np.cumsum(counts) - counts, counts)
    every = np.array(
        [interval for pattern_intervals in intervals for interval in pattern_intervals], np.int64
    ).reshape(-1, 2)
    return binding, position, every[begins[pattern_of[binding]] + position]


def _codes(texts: Collection[Hashable], numbers: Mapping[Any, int]) -> NDArray[np.int64]:
    return np.fromiter(map(numbers.__getitem__, texts), np.int64, len(texts))


def _distinct_spans(spans: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the place of each span among the different ones, and these, outer before inner."""
    # As two columns: numpy's search for different rows compares them as bytes, ten times slower.
    order = np.lexsort((-spans[:, 1], spans[:, 0]))
    ordered = spans[order]
    differs = np.ones(len(ordered), np.bool_)
    differs[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    places = np.empty(len(ordered), np.int64)
    places[order] = np.cumsum(differs) - 1
    return places, ordered[differs]


def _numbers(first: str, texts: Iterable[str]) -> dict[str, int]:
    numbers = {first: EVERYONE}
    for text in texts:
        numbers.setdefault(text, len(numbers))
    return numbers


def _against(text: str, wildcard: str) -> int:
    """Return where a text stands to the wildcard: all that the walk can compare it with."""
    return (text > wildcard) - (text < wildcard)


def _asks(operation: AclOperation, permission: AclPermissionType) -> int:
    tests = DENY_TESTS if permission is AclPermissionType.DENY else ALLOW_TESTS
    bit = entry_bit(operation, permission)
    return sum(1 << asked for asked in AclOperation if bit & tests[asked])


_ASKS = np.zeros((max(AclOperation) + 1, max(AclPermissionType) + 1), np.int32)
for _held in AclOperation:
    for _permission in (AclPermissionType.DENY, AclPermissionType.ALLOW):
        _ASKS[_held, _permission] = _asks(_held, _permission)


def row_keys(
    principals: NDArray[np.int64],
    hosts: NDArray[np.int64],
    types: NDArray[np.int64],
    host_count: int,
) -> NDArray[np.int64]:
    """Return the keys of rows by the numbers of their parts."""
    keys: NDArray[np.int64] = (principals * host_count + hosts) * TYPES + types
    return keys


class _Nodes(NamedTuple):
    starts: NDArray[np.int64]
    nodes: NDArray[np.int32]
    parents: NDArray[np.int32]
    levels: NDArray[np.int32]
    """How many nodes lie around each node."""


def _nodes(entries: _Entries) -> _Nodes:
    """Return the nesting of all intervals, which lie within each other or apart."""
    begins, ends = entries.intervals[:, 0], entries.intervals[:, 1]
    count = len(begins)
    # Around a node are those that have begun before it, but for those that have ended.
    levels = np.arange(count) - np.searchsorted(np.sort(ends), begins, side="right")
    parents = np.full(count, NO_NODE, np.int32)
    outer = np.flatnonzero(levels == 0)
    for level in range(1, int(levels.max(initial=0)) + 1):
        inner = np.flatnonzero(levels == level)
        parents[inner] = outer[np.searchsorted(outer, inner) - 1]
        outer = inner
    # From an end on the node around the outermost one that ends there is innermost; from a begin
    # on the innermost one that begins there.
    ended, outermost = np.unique(ends, return_index=True)
    begun, innermost = np.unique(begins[::-1], return_index=True)
    only_ended = ~np.isin(ended, begun)
    starts = np.concatenate([begun, ended[only_ended]])
    nodes = np.concatenate([count - 1 - innermost, parents[outermost[only_ended]]])
    order = np.argsort(starts)
    return _Nodes(starts[order], nodes[order].astype(np.int32), parents, levels.astype(np.int32))


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
