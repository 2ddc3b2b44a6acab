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


def snapshot_of(bindings: Iterable[AclBinding], *, networks: bool = True) -> Snapshot:
    """Return the snapshot of bindings without ids; ``networks`` says that hosts may be networks."""
    return load(("", binding) for binding in bindings).with_network_matching(enabled=networks)


def load(stored: Iterable[tuple[str, AclBinding]]) -> Snapshot:
    """Return the snapshot of bindings with their ids; of equal bindings the first counts.

    About 3 us for each binding, with a hundred thousand or a million.
    """
    networks: dict[str, int] = {}
    types = range(max(ResourceType) + 1)
    # Literals and prefixes apart.
    all_groups: list[tuple[_Groups, _Groups]] = [({}, {}) for _ in types]
    all_cells: list[dict[str, tuple[_Cells, _Cells]]] = [{} for _ in types]
    count = 0
    for binding_id, binding in stored:
        (code, name, pattern_type), entry = binding
        kind = pattern_type is _PREFIXED
        groups = all_groups[code][kind]
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
        both = all_cells[code].get(principal)
        if both is None:
            both = all_cells[code][principal] = ({}, {})
        cells = both[kind]
        cells[name] = with_bit(cells.get(name, 0), host, ENTRY_BITS[permission_type][operation])
    # From the last on, each is freed as it is converted: the peak memory is not doubled.
    indexes = [_index(all_groups.pop(), all_cells.pop()) for _ in types]
    return Snapshot(tuple(reversed(indexes)), count, None, NO_NETWORKS.changed(networks))


def _index(
    groups: tuple[_Groups, _Groups], principals: dict[str, tuple[_Cells, _Cells]]
) -> TypeIndex:
    if not principals:
        return EMPTY_TYPE
    literals, prefixes = groups
    patterns: Names[Group] = names_of(_freeze(literals), _freeze(prefixes))
    return TypeIndex(patterns, Map({who: names_of(*cells) for who, cells in principals.items()}))


def _freeze(groups: _Groups) -> dict[str, Group]:
    return {name: Map(group) for name, group in groups.items()}
