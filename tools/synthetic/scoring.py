"""How well a proposed set of ACLs fits a labelled cluster, judged without the product's engine.

Removals are judged by labels. Whether access is lost is judged by all requests of the history,
also those whose lines were lost, and by those of the quarter after it. Whether anything is opened
is judged by requests that are drawn within each ACL that came, or went.
"""

from __future__ import annotations

import random
from ipaddress import ip_network
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.acls.decision import Question
from doorkeeper.acls.model import AclOperation, PatternType
from doorkeeper.acls.operations import SUPPORTED_OPERATIONS
from doorkeeper_pipeline.bindings import text_of
from synthetic.deciding import Acls
from synthetic.labelled import GOING, Label

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from doorkeeper.acls.model import AclBinding
    from synthetic.labelled import Cluster, Grant

SAMPLES = 8
"""Requests that are drawn for each name that an ACL may be about."""


class Score(NamedTuple):
    """What is wrong with a proposal, and how much of what may go it removes.

    ``forbidden`` are removed grants that must stay, ``lost`` the requests that would be refused,
    ``opened`` requests that are refused and would be allowed.
    """

    forbidden: tuple[Grant, ...]
    lost: tuple[Question, ...]
    opened: tuple[Question, ...]
    removed: int
    unused: int
    unused_removed: int
    redundant: int
    redundant_removed: int

    @property
    def does_harm(self) -> bool:
        """Say whether it removes what must stay, takes access away, or gives more."""
        return bool(self.forbidden or self.lost or self.opened)

    def lines(self) -> list[str]:
        """Return the score in words."""
        return [
            f"removed: {self.removed}, of which must stay: {len(self.forbidden)}",
            f"unused for a quarter: {self.unused}, of which removed: {self.unused_removed}",
            f"redundant: {self.redundant}, of which removed: {self.redundant_removed}",
            f"requests that would be refused: {len(self.lost)}",
            f"requests that would be allowed newly: {len(self.opened)}",
            *(f"must stay ({each.use}): {text_of(each.binding)}" for each in self.forbidden),
        ]


def score(cluster: Cluster, proposed: Iterable[AclBinding]) -> Score:
    """Return the score of a set of ACLs that is proposed in place of the present one."""
    present, after = cluster.present(), frozenset(proposed)
    gone = [each for each in present if each.binding not in after]
    before = frozenset(each.binding for each in present)
    old, new = Acls(before, cluster.policy), Acls(after, cluster.policy)
    asked = {each.question for each in cluster.requests}
    drawn = set(_drawn(cluster, before ^ after, sorted(asked)))
    return Score(
        forbidden=tuple(each for each in gone if each.label not in GOING),
        lost=tuple(sorted(each for each in asked if old.allows(each) and not new.allows(each))),
        opened=tuple(
            sorted(each for each in asked | drawn if new.allows(each) and not old.allows(each))
        ),
        removed=len(gone),
        unused=_count(present, Label.UNUSED),
        unused_removed=_count(gone, Label.UNUSED),
        redundant=_count(present, Label.REDUNDANT),
        redundant_removed=_count(gone, Label.REDUNDANT),
    )


def _count(grants: Iterable[Grant], label: Label) -> int:
    return sum(each.label is label for each in grants)


def _drawn(
    cluster: Cluster, changed: Iterable[AclBinding], asked: list[Question]
) -> Iterator[Question]:
    """Yield requests about the changed ACLs: of all that have a name in the cluster, and others."""
    rng = random.Random(f"{cluster.quarter.seed} requests")
    bindings = sorted(each.binding for each in cluster.present())
    principals = sorted(
        {each.entry.principal for each in bindings} | {each.principal for each in asked}
    )
    hosts = sorted({each.host for each in asked})
    for binding in sorted(changed):
        (kind, _, _), entry = binding
        operations = SUPPORTED_OPERATIONS[kind]
        for name in _names(binding, bindings, asked, rng):
            for _ in range(SAMPLES):
                who, host, operation = entry.principal, entry.host, entry.operation
                yield Question(
                    rng.choice([*principals, "User:stranger"]) if who == "User:*" else who,
                    _address(host, hosts, rng),
                    rng.choice(operations) if operation is AclOperation.ALL else operation,
                    kind,
                    name,
                )
                yield Question(
                    rng.choice(principals), rng.choice(hosts), rng.choice(operations), kind, name
                )


def _names(
    binding: AclBinding, bindings: list[AclBinding], asked: list[Question], rng: random.Random
) -> list[str]:
    """Return names that a pattern covers: known ones, and others."""
    kind, name, pattern_type = binding.pattern
    if pattern_type is PatternType.LITERAL and name != "*":
        return [name]
    stem = "" if pattern_type is PatternType.LITERAL else name
    known = {each.name for each in asked if each.resource_type is kind}
    known |= {each.pattern.name for each in bindings if each.pattern.resource_type is kind}
    within = sorted(each for each in known if each.startswith(stem) and each != "*")
    more = [f"{stem}{rng.randrange(10**6)}", f"{stem}x", stem or "y"]
    return [*rng.sample(within, min(len(within), 3 * SAMPLES)), *more]


def _address(host: str, hosts: list[str], rng: random.Random) -> str:
    if "/" in host:
        return str(ip_network(host, strict=False)[rng.randrange(1, 200)])
    return rng.choice([*hosts, "192.0.2.7"]) if host == "*" else host
