"""Near misses of a principal, as lines and as records for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acls.model import ANY_BINDING, AclBindingFilter
from doorkeeper.acls.near_misses import near_misses, principals_of
from doorkeeper.acls.search import find
from doorkeeper.cli.json_records.questions import NearMiss as NearMissRecord
from doorkeeper.cli.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from doorkeeper.acls.decision import Policy
    from doorkeeper.acls.near_misses import NearMiss
    from doorkeeper.acls.snapshot import Snapshot

SHOWN_MAX = 20
"""The number of near misses in the lines; JSON has all."""


class NearMisses:
    """The near misses of a principal among those that ACLs and ``super.users`` name."""

    def __init__(
        self,
        principal: str,
        named: Collection[str],
        count: Callable[[str], int],
        super_users: Collection[str],
    ) -> None:
        """``count`` returns the number of ACLs of a principal."""
        self._misses = near_misses(principal, [*named, *super_users])
        self._count = count
        self._super_users = super_users

    def lines(self) -> list[str]:
        """Return them as lines, none without a near miss."""
        if not self._misses:
            return []
        lines = ["near misses (similar names, but different principals for Kafka):"]
        lines += [f"  {self._line(miss)}" for miss in self._misses[:SHOWN_MAX]]
        more = len(self._misses) - SHOWN_MAX
        return [*lines, f"  and {more} more; --output json has all"] if more > 0 else lines

    def records(self) -> list[NearMissRecord]:
        return [
            {
                "principal": miss.principal,
                "differences": [difference.name for difference in miss.differences],
                "acls": self._count(miss.principal),
                "superUser": miss.principal in self._super_users,
            }
            for miss in self._misses
        ]

    def _line(self, miss: NearMiss) -> str:
        number = self._count(miss.principal)
        named = [f"{number} ACL{'' if number == 1 else 's'}"] if number else []
        if miss.principal in self._super_users:
            named.append("a super user")
        differences = "; ".join(difference.value for difference in miss.differences)
        # In quotation marks, so that a blank at the end is seen.
        return f"'{printable(miss.principal)}' differs in {differences} ({', '.join(named)})"


def near_misses_in(policy: Policy, snapshot: Snapshot, principal: str) -> NearMisses:

    def count(other: str) -> int:
        pattern, entry = ANY_BINDING
        return len(find(snapshot, AclBindingFilter(pattern, entry._replace(principal=other))))

    return NearMisses(principal, principals_of(snapshot, policy), count, policy.super_users)
