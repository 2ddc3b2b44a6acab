"""Plans the change from one set of ACLs to another, within an owned part.

Bindings outside the ``Selector`` are never touched, and must not be wanted either; where nothing is
owned, a plan only adds. ``live_changes`` has the order in which its changes are made.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from msgspec import Struct

from doorkeeper.acls.model import (
    WILDCARD,
    AclBinding,
    PatternType,
    ResourcePattern,
    ResourceType,
)

T = TypeVar("T")


class NotOwned(ValueError):
    """A wanted binding is not owned, so that the set cannot be planned."""


class Selector(Struct, frozen=True, kw_only=True):
    """Selects the owned bindings: those that match every part; an empty part matches all.

    ``prefixes`` are prefixes of resource names: a pattern is owned if all names that it covers have
    one. They select CLUSTER only if ``resource_types`` has it: nobody chose the name
    ``kafka-cluster``, and a prefix of it that a team owns would take the ACLs of brokers and
    administrators with it.
    """

    prefixes: tuple[str, ...] = ()
    principals: frozenset[str] = frozenset()
    resource_types: frozenset[ResourceType] = frozenset()

    def selects(self, binding: AclBinding) -> bool:
        pattern, entry = binding
        return (
            (not self.prefixes or self._is_prefixed(pattern))
            and (not self.principals or entry.principal in self.principals)
            and (not self.resource_types or pattern.resource_type in self.resource_types)
        )

    @property
    def _may_select_cluster(self) -> bool:
        return not self.prefixes or ResourceType.CLUSTER in self.resource_types

    def _is_prefixed(self, pattern: ResourcePattern) -> bool:
        if pattern.resource_type is ResourceType.CLUSTER and not self._may_select_cluster:
            return False
        is_wildcard = pattern.name == WILDCARD and pattern.pattern_type is PatternType.LITERAL
        return not is_wildcard and pattern.name.startswith(self.prefixes)

    def overlap(self, other: Selector) -> Selector | None:
        """Return the part that both select; None if there is no such binding."""
        prefixes = _common_prefixes(self.prefixes, other.prefixes)
        principals = _common(self.principals, other.principals)
        types = _common(self.resource_types, other.resource_types)
        if types and not (self._may_select_cluster and other._may_select_cluster):
            types = types - {ResourceType.CLUSTER} or None
        if prefixes is None or principals is None or types is None:
            return None
        return Selector(prefixes=prefixes, principals=principals, resource_types=types)


def _common(left: frozenset[T], right: frozenset[T]) -> frozenset[T] | None:
    return left & right or None if left and right else left or right


def _common_prefixes(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...] | None:
    if not left or not right:
        return left or right
    # Of two prefixes with common names, the longer one covers exactly these.
    prefixes = [prefix for prefix in left if prefix.startswith(right)]
    prefixes += [other for other in right if other.startswith(left)]
    return tuple(dict.fromkeys(prefixes)) or None


class SelectorUnion(NamedTuple):
    """Selects the bindings that one of several selectors selects."""

    selectors: tuple[Selector, ...]

    @classmethod
    def of(cls, selectors: Iterable[Selector]) -> SelectorUnion:
        """Return the union of selectors, in few: each team of a thousand may own a prefix."""
        merged: dict[object, Selector] = {}
        for one in selectors:
            # What differs in prefixes alone, or without prefixes in principals alone, is one.
            same = one.principals if one.prefixes else not one.principals
            key = bool(one.prefixes), same, one.resource_types
            other = merged.get(key, one)
            merged[key] = Selector(
                prefixes=tuple(dict.fromkeys((*other.prefixes, *one.prefixes))),
                principals=other.principals | one.principals,
                resource_types=one.resource_types,
            )
        return cls(tuple(merged.values()))

    def selects(self, binding: AclBinding) -> bool:
        return any(selector.selects(binding) for selector in self.selectors)


EVERYTHING = Selector()


class Plan(Struct, frozen=True):
    """The changes, each part in the order of the bindings' fields.

    ``unchanged`` counts desired bindings that are present, ``foreign`` present ones not owned.
    """

    added: tuple[AclBinding, ...]
    removed: tuple[AclBinding, ...]
    unchanged: int
    foreign: int

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


def plan(
    present: Iterable[AclBinding],
    desired: Iterable[AclBinding],
    owned: Selector | SelectorUnion = EVERYTHING,
) -> Plan:
    """Return the necessary changes.

    Raises:
        NotOwned: a wanted binding is not owned.
    """
    goal = set(desired)
    outside = sorted(binding for binding in goal if not owned.selects(binding))
    if outside:
        (resource_type, name, _), entry = outside[0]
        more = f", and {len(outside) - 1} more" if len(outside) > 1 else ""
        raise NotOwned(
            f"not owned: {resource_type.name} {name!r} for {entry.principal}{more}; the desired"
            " ACLs must be within the selection (owns: or --own-...)"
        )
    there = set(present)
    mine = {binding for binding in there if owned.selects(binding)}
    removed = tuple(sorted(mine - goal))
    return Plan(tuple(sorted(goal - mine)), removed, len(mine & goal), len(there) - len(mine))


def plan_additions(present: Iterable[AclBinding], desired: Iterable[AclBinding]) -> Plan:
    """Return the changes where nothing is owned: additions only."""
    # Present bindings that are not wanted count as foreign: they may be of another team.
    there, goal = set(present), set(desired)
    return Plan(tuple(sorted(goal - there)), (), len(there & goal), len(there - goal))


def with_topic_prefix(bindings: Iterable[AclBinding], prefix: str) -> list[AclBinding]:
    """Return bindings as if each topic had a name with this prefix; all topics are a prefix then.

    So MirrorMaker names the topics that it copies: ``orders`` of a cluster ``src`` is
    ``src.orders``.

    Source: ``DefaultReplicationPolicy.formatRemoteTopic``.
    """
    return [_renamed(binding, prefix) if prefix else binding for binding in bindings]


def _renamed(binding: AclBinding, prefix: str) -> AclBinding:
    (kind, name, pattern_type), entry = binding
    if kind is not ResourceType.TOPIC:
        return binding
    if name == WILDCARD and pattern_type is PatternType.LITERAL:
        return AclBinding(ResourcePattern(kind, prefix, PatternType.PREFIXED), entry)
    return AclBinding(ResourcePattern(kind, f"{prefix}{name}", pattern_type), entry)
