"""Builds a snapshot from many bindings, several times faster than adding them one by one.

The indexes are built as plain dictionaries, and converted to persistent maps at the end.
"""

from __future__ import annotations

from collections.abc import Iterable

from immutables import Map

from doorkeeper.acls.index import EMPTY_TYPE, Cell, Group, Names, TypeIndex, names_of, with_bit
from doorkeeper.acls.model import AclBinding, PatternType, ResourceType
from doorkeeper.acls.network_index import NO_NETWORKS
from doorkeeper.acls.operations import ENTRY_BITS
from doorkeeper.acls.snapshot import Snapshot

# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_PREFIXED = PatternType.PREFIXED

_Groups = dict[str, "dict[AclBinding, str]"]
_Cells = dict[str, "Cell"]


class _Stage:
    """The bindings of one resource type: (literals, prefixes) each."""

    __slots__ = ("groups", "principals")

    def __init__(self) -> None:
        self.groups: tuple[_Groups, _Groups] = ({}, {})
        self.principals: dict[str, tuple[_Cells, _Cells]] = {}

    def index(self) -> TypeIndex:
        """Return the index; empties the stage, so that the peak memory is not doubled."""
        if not self.principals:
            return EMPTY_TYPE
        literals, prefixes = self.groups
        patterns: Names[Group] = names_of(_freeze(literals), _freeze(prefixes))
        principals = {who: names_of(*cells) for who, cells in self.principals.items()}
        self.groups = ({}, {})
        self.principals = {}
        return TypeIndex(patterns, Map(principals))


def snapshot_of(bindings: Iterable[AclBinding], *, networks: bool = True) -> Snapshot:
    """Return the snapshot of bindings without ids; ``networks`` says that hosts may be networks."""
    return load(("", binding) for binding in bindings).with_network_matching(enabled=networks)


def load(stored: Iterable[tuple[str, AclBinding]]) -> Snapshot:
    """Return the snapshot of bindings with their ids; of equal bindings the first counts.

    About 3 us for each binding, with a hundred thousand or a million.
    """
    networks: dict[str, int] = {}
    stages = tuple(_Stage() for _ in range(max(ResourceType) + 1))
    count = 0
    for binding_id, binding in stored:
        (code, name, pattern_type), entry = binding
        stage = stages[code]
        kind = pattern_type is _PREFIXED
        groups = stage.groups[kind]
        group = groups.get(name)
        if group is None:
            groups[name] = {binding: binding_id}
        elif binding in group:
            continue
        else:
            # Shares one pattern object among the bindings of a pattern.
            group[AclBinding(next(iter(group)).pattern, entry)] = binding_id
        count += 1
        principal, host, operation, permission_type = entry
        if "/" in host:
            networks[host] = networks.get(host, 0) + 1
        both = stage.principals.get(principal)
        if both is None:
            both = stage.principals[principal] = ({}, {})
        cells = both[kind]
        cells[name] = with_bit(cells.get(name, 0), host, ENTRY_BITS[permission_type][operation])
    return Snapshot(
        tuple(stage.index() for stage in stages), count, None, NO_NETWORKS.changed(networks)
    )


def _freeze(groups: _Groups) -> dict[str, Group]:
    return {name: Map(group) for name, group in groups.items()}
