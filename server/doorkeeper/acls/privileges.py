"""The smallest set of bindings that allows the needs, and no more.

Every need becomes an ALLOW on its literal name. Implied ones are left out: READ lets
DESCRIBE through. Where prefixes are asked for, names of one principal and operation that share a
beginning up to a delimiter become one prefix, if it covers no name that others own:

    orders.eu.a  orders.eu.b  orders.us.c    ->    prefix "orders."

and "orders.eu." with a literal where another principal owns "orders.us.x". Others own a name when
they were let through to it, or have a literal ALLOW on it, and the principal itself never was. Of
names without an owner a prefix may cover some that the principal did not use; it lists those.

Some names cannot be granted by themselves: the literal ``*`` is every name, the principal
``User:*`` all users, and no ACL has an empty name. Such needs are left out; a backtest tells so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from doorkeeper.acls.model import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.operations import satisfied_by
from doorkeeper.acls.validation import check_binding

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator, Mapping, Sequence

DELIMITERS = ".-_:/"
"""Where names of one owner are usually parted."""

PREFIX_NAMES_MIN = 3
"""How many names make a prefix: of two, the literals are as short to read and say more."""


PARTS_MAX = 16
"""How many delimiters are looked at: names of people have a few, and others may have thousands."""


class Need(NamedTuple):
    """An allowed access of a principal: how often, and when first and last."""

    principal: str
    host: str
    resource_type: ResourceType
    name: str
    operation: AclOperation
    uses: int
    first: dt.datetime
    last: dt.datetime


class Privilege(Struct, frozen=True, order=True):
    """A binding, the names that were used through it, and other names that it covers."""

    binding: AclBinding
    support: int
    names: tuple[str, ...]
    covers: tuple[str, ...]
    first: dt.datetime
    last: dt.datetime

    @property
    def kind(self) -> str:
        """Return LITERAL or PREFIX."""
        prefixed = self.binding.pattern.pattern_type is PatternType.PREFIXED
        return "PREFIX" if prefixed else "LITERAL"


class Known:
    """The names of a history by resource type, and their owners."""

    def __init__(self, names: Mapping[ResourceType, Iterable[str]]) -> None:
        """Add all names that occur, of all principals and outcomes."""
        self._names = {resource_type: sorted(set(used)) for resource_type, used in names.items()}
        self._owners: dict[tuple[ResourceType, str], set[str]] = defaultdict(set)

    def own(self, principal: str, resource_type: ResourceType, name: str) -> None:
        self._owners[resource_type, name].add(principal)

    def within(self, resource_type: ResourceType, prefix: str) -> list[str]:
        """Return the names that begin so, sorted."""
        names = self._names.get(resource_type, [])
        matching = []
        at = bisect_left(names, prefix)
        while at < len(names) and names[at].startswith(prefix):
            matching.append(names[at])
            at += 1
        return matching

    def others_own(self, principal: str, resource_type: ResourceType, name: str) -> bool:
        """Return whether a name is owned by another principal, and not by this one too."""
        owners = self._owners.get((resource_type, name))
        return owners is not None and principal not in owners


def history_names(
    names: Mapping[ResourceType, Iterable[str]],
    needs: Iterable[Need],
    bindings: Iterable[AclBinding],
) -> Known:
    """Return the names of a history; owners were allowed to use them or have a literal ALLOW."""
    together = {resource_type: set(used) for resource_type, used in names.items()}
    literal = [
        (entry.principal, resource_type, name)
        for (resource_type, name, pattern_type), entry in bindings
        if pattern_type is PatternType.LITERAL
        and name != WILDCARD
        and entry.principal != WILDCARD_PRINCIPAL
        and entry.permission_type is AclPermissionType.ALLOW
    ]
    for _, resource_type, name in literal:
        together.setdefault(resource_type, set()).add(name)
    known = Known(together)
    for need in needs:
        known.own(need.principal, need.resource_type, need.name)
    for principal, resource_type, name in literal:
        known.own(principal, resource_type, name)
    return known


def grant_of(
    principal: str,
    resource_type: ResourceType,
    name: str,
    operation: AclOperation,
    host: str = WILDCARD,
) -> AclBinding | None:
    """Return the smallest ALLOW that lets one through to a name; None where no ACL can say it."""
    binding = AclBinding(
        ResourcePattern(resource_type, name, PatternType.LITERAL),
        AccessControlEntry(principal, host, operation, AclPermissionType.ALLOW),
    )
    if name == WILDCARD or principal == WILDCARD_PRINCIPAL or not host:
        return None
    if resource_type is ResourceType.CLUSTER and name != CLUSTER_NAME:
        return None
    return binding if check_binding(binding) is None else None


def least(needs: Iterable[Need], known: Known, *, prefixes: bool = False) -> list[Privilege]:
    """Return the privileges that the needs come to, sorted by their bindings."""
    minimal: list[Privilege] = []
    grantable = sorted(need for need in needs if _grant(need) is not None)
    for _, of_one in groupby(grantable, key=attrgetter("principal", "host", "resource_type")):
        by_operation: dict[AclOperation, dict[str, Need]] = defaultdict(dict)
        for need in _without_implied(of_one):
            by_operation[need.operation][need.name] = need
        privileges = []
        for by_name in by_operation.values():
            groups = _groups(sorted(by_name), known, by_name, PARTS_MAX if prefixes else 0)
            privileges += [_privilege(by_name, group, known) for group in groups]
        minimal += _without_covered(privileges)
    return sorted(minimal)


def _grant(need: Need) -> AclBinding | None:
    return grant_of(need.principal, need.resource_type, need.name, need.operation, need.host)


_Group = tuple["str | None", "list[str]"]
"""Names of which one binding is made: a prefix, or None of a name alone, and the names."""


def _without_implied(needs: Iterable[Need]) -> Iterator[Need]:
    """Yield the needs of each name; an implied operation counts for the one that implies it."""
    for _, of_name in groupby(needs, key=attrgetter("name")):
        together: dict[AclOperation, Need] = {}
        for need in of_name:
            _add(together, need.operation, need)
        left: dict[AclOperation, Need] = {}
        for operation, need in together.items():
            implying = (
                other
                for other in together
                if other is not operation and satisfied_by(operation, other)
            )
            _add(left, min(implying, default=operation), need)
        yield from left.values()


def _add(needs: dict[AclOperation, Need], operation: AclOperation, need: Need) -> None:
    other = needs.get(operation)
    if other is None:
        needs[operation] = need._replace(operation=operation)
    else:
        needs[operation] = other._replace(
            uses=other.uses + need.uses,
            first=min(other.first, need.first),
            last=max(other.last, need.last),
        )


def _groups(
    names: Sequence[str], known: Known, needs: Mapping[str, Need], parts: int, begin: int = 0
) -> Iterator[_Group]:
    """Yield prefixes that cover as much as they may, as long as they can be; other names alone."""
    if not parts:
        yield from ((None, [name]) for name in names)
        return
    for prefix, of_prefix in groupby(names, key=lambda name: _to_delimiter(name, begin)):
        together = list(of_prefix)
        if prefix is None or len(together) < PREFIX_NAMES_MIN:
            yield from ((None, [name]) for name in together)
        elif _is_own(prefix, known, needs[together[0]]):
            yield _longest(together, prefix), together
        else:
            yield from _groups(together, known, needs, parts - 1, len(prefix))


def _to_delimiter(name: str, begin: int) -> str | None:
    """Return the beginning of a name up to the next delimiter; None where there is none."""
    for at in range(begin, len(name)):
        if name[at] in DELIMITERS:
            return name[: at + 1]
    return None


def _longest(names: Sequence[str], prefix: str) -> str:
    """Return the longest beginning, up to a delimiter, that all these names share."""
    while True:
        longer = {_to_delimiter(name, len(prefix)) for name in names}
        if len(longer) > 1 or None in longer:
            return prefix
        [prefix] = [longer_prefix for longer_prefix in longer if longer_prefix is not None]


def _is_own(prefix: str, known: Known, need: Need) -> bool:
    # An asterisk at the beginning reads as a wildcard, which it is not in a prefix.
    return not prefix.startswith(WILDCARD) and not any(
        known.others_own(need.principal, need.resource_type, name)
        for name in known.within(need.resource_type, prefix)
    )


def _privilege(needs: Mapping[str, Need], group: _Group, known: Known) -> Privilege:
    prefix, names = group
    together = [needs[name] for name in names]
    need = together[0]
    binding = _grant(need)
    assert binding is not None
    covers: tuple[str, ...] = ()
    if prefix is not None:
        pattern = ResourcePattern(need.resource_type, prefix, PatternType.PREFIXED)
        binding = binding._replace(pattern=pattern)
        within = known.within(need.resource_type, prefix)
        covers = tuple(name for name in within if name not in needs)
    return Privilege(
        binding,
        sum(need.uses for need in together),
        tuple(names),
        covers,
        min(need.first for need in together),
        max(need.last for need in together),
    )


def _without_covered(privileges: Sequence[Privilege]) -> list[Privilege]:
    """Leave out literals that a prefix with an operation which implies theirs covers."""
    wide = [privilege.binding for privilege in privileges if privilege.kind == "PREFIX"]

    def is_covered(privilege: Privilege) -> bool:
        pattern, entry = privilege.binding
        return pattern.pattern_type is PatternType.LITERAL and any(
            pattern.name.startswith(other.pattern.name)
            and satisfied_by(entry.operation, other.entry.operation)
            for other in wide
        )

    return [privilege for privilege in privileges if not is_covered(privilege)]
