"""Near misses of a principal, as records for JSON and as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acls.model import ANY_BINDING, AclBindingFilter
from doorkeeper.acls.near_misses import Difference, near_misses, principals_of
from doorkeeper.acls.search import find
from doorkeeper.cli.acls.printing import rest_lines
from doorkeeper.cli.terminal import counted, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from doorkeeper.acls.effective_changes import DecisionState
    from doorkeeper.cli.json_records.questions import NearMiss

SHOWN_MAX = 20
"""The number of near misses in the lines; JSON has all."""


def near_miss_records(
    principal: str,
    named: Collection[str],
    count: Callable[[str], int],
    super_users: Collection[str],
) -> list[NearMiss]:
    """Return the near misses of a principal among those that ACLs and ``super.users`` name.

    ``count`` returns the number of ACLs of a principal.
    """
    return [
        {
            "principal": miss.principal,
            "differences": [difference.name for difference in miss.differences],
            "acls": count(miss.principal),
            "superUser": miss.principal in super_users,
        }
        for miss in near_misses(principal, [*named, *super_users])
    ]


def near_misses_in(state: DecisionState, principal: str) -> list[NearMiss]:
    policy, snapshot = state

    def count(other: str) -> int:
        pattern, entry = ANY_BINDING
        return len(find(snapshot, AclBindingFilter(pattern, entry._replace(principal=other))))

    named = principals_of(snapshot, policy)
    return near_miss_records(principal, named, count, policy.super_users)


def near_miss_lines(records: Sequence[NearMiss]) -> list[str]:
    """Return near misses as lines, none without any."""
    if not records:
        return []
    lines = ["near misses (similar names, but different principals for Kafka):"]
    lines += [f"  {_line(record)}" for record in records[:SHOWN_MAX]]
    return [*lines, *rest_lines(len(records), SHOWN_MAX)]


def _line(record: NearMiss) -> str:
    named = [counted(record["acls"], "ACL")] if record["acls"] else []
    if record["superUser"]:
        named.append("a super user")
    differences = "; ".join(Difference[name].value for name in record["differences"])
    # In quotation marks, so that a blank at the end is seen.
    return f"'{printable(record['principal'])}' differs in {differences} ({', '.join(named)})"
