"""For each principal the smallest set that allows all that was used: the table least_privilege."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from doorkeeper.acl.model import AclPermissionType
from doorkeeper.acl.privileges import history_names, least
from doorkeeper_pipeline.bindings import command_of, row_of
from doorkeeper_pipeline.columns import arrow_schema
from doorkeeper_pipeline.evaluation.acl_sets import in_force
from doorkeeper_pipeline.evaluation.backtest import ALLOW_TO_DENY, DENY_TO_ALLOW
from doorkeeper_pipeline.evaluation.index import compile_index, distinct
from doorkeeper_pipeline.evaluation.needs import NEEDS, grants_of, logged_needs, needs_of, sum_needs
from doorkeeper_pipeline.evaluation.overbroad import need_of
from doorkeeper_pipeline.evaluation.questions import COUNT, PRINCIPAL, QUESTION
from doorkeeper_pipeline.evaluation.usage import LISTED_MAX
from doorkeeper_pipeline.jobs.backtest import changes_by
from doorkeeper_pipeline.jobs.observed import history
from doorkeeper_pipeline.schemas import LEAST_PRIVILEGE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.acl.model import AclBinding
    from doorkeeper.acl.privileges import Need, Privilege
    from doorkeeper_pipeline.jobs.gold import GoldInput

_LOGGED = (*QUESTION, "outcome")


class Least(NamedTuple):
    """The privileges of all principals, and the principals with a need in the history."""

    privileges: list[Privilege]
    principals: frozenset[str]


def least_privilege(asked: GoldInput) -> dict[str, pa.Table]:
    """Return the table, of literals only: prefixes are an option of ``propose``."""
    current = in_force(asked.bindings).bindings
    privileges = least_in(asked, current).privileges
    denies = [each for each in current if each.entry.permission_type is AclPermissionType.DENY]
    proposed = distinct([*denies, *(each.binding for each in privileges)])
    turns = changes_by(asked, current, proposed)
    return {"least_privilege": table_of(privileges, turns)}


def least_in(asked: GoldInput, current: tuple[AclBinding, ...], *, prefixes: bool = False) -> Least:
    """Return the least privileges of all principals of the history.

    Raises:
        BadQuestions: the decisions hold words that are not Kafka's.

    """
    needs = needs_in(asked, current)
    known = history_names(history(asked).names, needs, current)
    found = least(needs, known, prefixes=prefixes)
    return Least(found, frozenset(need.principal for need in needs))


def needs_in(asked: GoldInput, current: tuple[AclBinding, ...]) -> list[Need]:
    """Return the needs of the history under the set in force, or by the recorded outcomes."""
    if current:
        shared = grants_of(compile_index(current, asked.policy, networks=asked.networks), current)
        parts = asked.engine.over_tuples(asked.decisions, needs_of, shared, NEEDS, QUESTION)
    else:
        parts = asked.engine.over_tuples(
            asked.decisions, logged_needs, asked.policy.super_users, NEEDS, _LOGGED
        )
    return [need_of(row) for row in sum_needs(parts).iter_rows()]


def table_of(privileges: Iterable[Privilege], turns: pa.Table) -> pa.Table:
    """Return privileges as the table, with the changes of the whole proposal by principal."""
    counts: Counter[tuple[str, str]] = Counter()
    columns = (turns.column(name).to_pylist() for name in (PRINCIPAL, "turn", COUNT))
    for principal, turn, count in zip(*columns, strict=True):
        counts[principal, turn] += count
    rows = [_row(each, counts) for each in privileges]
    return pa.Table.from_pylist(rows, schema=arrow_schema(LEAST_PRIVILEGE))


def _row(privilege: Privilege, counts: Counter[tuple[str, str]]) -> dict[str, Any]:
    principal = privilege.binding.entry.principal
    return {
        **row_of(privilege.binding),
        "kind": privilege.kind,
        "support": privilege.support,
        "resources": privilege.names[:LISTED_MAX],
        "resource_count": len(privilege.names),
        "covers": privilege.covers[:LISTED_MAX],
        "first_used": privilege.first,
        "last_used": privilege.last,
        "newly_allows": counts[principal, DENY_TO_ALLOW],
        "newly_forbids": counts[principal, ALLOW_TO_DENY],
        "command": command_of(privilege.binding),
    }
