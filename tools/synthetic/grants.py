"""Sets of ACLs for a world: the needs of its teams, excess grants, and denials.

Most grants are for a team's own names, literal or by the team's prefix. Some are too wide (the
wildcard, ALL), some for unused names, some name one host, some deny.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

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
from synthetic.names import team_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from synthetic.names import Names
    from synthetic.shape import Shape

T = TypeVar("T")

SUPER_USER = "User:admin"
"""The super users of every world."""

_TYPES = (
    *(ResourceType.TOPIC,) * 14,
    *(ResourceType.GROUP,) * 4,
    ResourceType.TRANSACTIONAL_ID,
    ResourceType.CLUSTER,
)
_OPERATIONS = {
    ResourceType.TOPIC: (
        *(AclOperation.READ,) * 5,
        *(AclOperation.WRITE,) * 4,
        *(AclOperation.DESCRIBE, AclOperation.CREATE, AclOperation.DESCRIBE_CONFIGS),
        *(AclOperation.ALTER_CONFIGS, AclOperation.ALL),
    ),
    ResourceType.GROUP: (*(AclOperation.READ,) * 6, AclOperation.DESCRIBE, AclOperation.ALL),
    ResourceType.TRANSACTIONAL_ID: (
        *(AclOperation.WRITE, AclOperation.WRITE, AclOperation.DESCRIBE),
    ),
    ResourceType.CLUSTER: (
        *(AclOperation.IDEMPOTENT_WRITE, AclOperation.DESCRIBE, AclOperation.CREATE),
    ),
}
_KINDS = (*("own",) * 13, *("prefix",) * 4, *("foreign",) * 2, "wildcard")
_DRAWN = 9
"""How many numbers in [0, 1) one grant is made of."""

_ROUND = 4_096
"""Grants drawn at a time; also the rounds without a new grant after which a world is full."""


def grants_of(shape: Shape, names: Names) -> tuple[AclBinding, ...]:
    """Return so many ACLs as the shape says, sorted; fewer where the world has no room for them.

    The mix is made up, not measured.
    """
    found: set[AclBinding] = set()
    everyone = min(shape.everyone_grants, shape.acls)
    for binding in _draw(shape, names):
        if len(found) >= everyone:
            found.add(binding)
        elif _bearable(binding):
            found.add(
                AclBinding(binding.pattern, binding.entry._replace(principal=WILDCARD_PRINCIPAL))
            )
        if len(found) >= shape.acls:
            break
    return tuple(sorted(found))


def proposal_of(bindings: tuple[AclBinding, ...], seed: int = 1) -> tuple[AclBinding, ...]:
    """Return another set, like a proposal: 2 % are gone, a few are new or narrower.

    Of the removed ones, every tenth comes back for one host only; one in a thousand is new: a DENY,
    or everything for a principal that had less.
    """
    chance = np.random.default_rng([seed, 3]).random(len(bindings))
    found = {each for each, drawn in zip(bindings, chance, strict=True) if drawn >= 0.02}
    for (pattern, entry), drawn in zip(bindings, chance, strict=True):
        if drawn < 0.002:
            found.add(AclBinding(pattern, entry._replace(host="10.0.0.7")))
        elif drawn > 0.9995:
            found.add(AclBinding(pattern, entry._replace(operation=AclOperation.ALL)))
        elif drawn > 0.999:
            found.add(AclBinding(pattern, entry._replace(permission_type=AclPermissionType.DENY)))
    return tuple(sorted(found))


def _draw(shape: Shape, names: Names) -> Iterator[AclBinding]:
    """Return grants by chance, again and again; ends when the world can hardly hold more."""
    rng = np.random.default_rng([shape.seed, 1])
    for _ in range(4 + 4 * shape.acls // _ROUND):
        for row in rng.random((_ROUND, _DRAWN)).tolist():
            yield _grant(shape, names, row)


def _bearable(binding: AclBinding) -> bool:
    """Whether a grant may be for ``User:*``: after a wide one all would be allowed, or denied."""
    (_, name, pattern_type), entry = binding
    literal = pattern_type is PatternType.LITERAL and name not in (WILDCARD, CLUSTER_NAME)
    return literal or (
        pattern_type is PatternType.PREFIXED
        and entry.operation is AclOperation.DESCRIBE
        and entry.permission_type is AclPermissionType.ALLOW
    )


def _grant(shape: Shape, names: Names, row: list[float]) -> AclBinding:
    who = int(row[0] * len(names.principals))
    resource_type = _choose(_TYPES, row[1])
    operation = _choose(_OPERATIONS[resource_type], row[2])
    kind = _choose(_KINDS, row[3])
    name, pattern_type = _pattern(names, resource_type, kind, who, row[4])
    host = names.hosts[int(row[5] * len(names.hosts))] if row[6] < 0.08 else WILDCARD
    denied = row[7] < shape.deny_share
    # A DENY on everything would leave nothing to look at.
    if denied and name == WILDCARD:
        name = names.prefixes[int(row[8] * names.teams)]
        pattern_type = PatternType.PREFIXED
    permission = AclPermissionType.DENY if denied else AclPermissionType.ALLOW
    return AclBinding(
        ResourcePattern(resource_type, name, pattern_type),
        AccessControlEntry(names.principals[who], host, operation, permission),
    )


def _choose(those: tuple[T, ...], drawn: float) -> T:
    return those[int(drawn * len(those))]


def _pattern(
    names: Names, resource_type: ResourceType, kind: str, who: int, drawn: float
) -> tuple[str, PatternType]:
    """Return the name and the pattern type of a grant for the principal at a position."""
    if resource_type is ResourceType.CLUSTER:
        return CLUSTER_NAME, PatternType.LITERAL
    there = names.resources[resource_type]
    team = team_of(who, len(names.principals), names.teams)
    match kind:
        case "wildcard":
            return WILDCARD, PatternType.LITERAL
        case "prefix":
            return names.prefixes[team], PatternType.PREFIXED
        case "foreign":
            return there[int(drawn * len(there))], PatternType.LITERAL
        case _:
            begin, size = range_of(team, len(there), names.teams)
            return there[begin + int(drawn**2 * size)], PatternType.LITERAL


def range_of(team: int, count: int, teams: int) -> tuple[int, int]:
    """Return where a team's names begin among so many, and how many it has: at least one."""
    begin = -(-team * count // teams)
    end = -(-(team + 1) * count // teams)
    return min(begin, count - 1), max(1, end - begin)
