"""The use of every grant: the tables grant_usage, unused_grants and overbroad_grants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from doorkeeper_pipeline.bindings import command_of, row_of, text_of
from doorkeeper_pipeline.columns import arrow_schema
from doorkeeper_pipeline.evaluation.acl_sets import AclSet, in_force
from doorkeeper_pipeline.evaluation.grants import grant_usage
from doorkeeper_pipeline.evaluation.index import compile_index
from doorkeeper_pipeline.evaluation.overbroad import TOUCHES, overbroad, touches_of, wide
from doorkeeper_pipeline.evaluation.questions import QUESTION
from doorkeeper_pipeline.evaluation.unused import KEPT, keepers_of, rank_bindings, unused_bindings
from doorkeeper_pipeline.evaluation.usage import LISTED_MAX, PARTS, parts_of, sum_uses
from doorkeeper_pipeline.jobs.backtest import changes_by
from doorkeeper_pipeline.jobs.observed import history, span
from doorkeeper_pipeline.schemas import OVERBROAD_GRANTS, UNUSED_GRANTS

if TYPE_CHECKING:
    import datetime as dt

    import polars as pl

    from doorkeeper_pipeline.evaluation.index import Index
    from doorkeeper_pipeline.evaluation.overbroad import Overbroad
    from doorkeeper_pipeline.evaluation.unused import Unused
    from doorkeeper_pipeline.jobs.gold import GoldInput
    from doorkeeper_pipeline.jobs.observed import Span

COVERED_BY_MAX = 10


def grants(asked: GoldInput) -> dict[str, pa.Table]:
    """Return the three tables."""
    acls = in_force(asked.bindings)
    index = compile_index(acls.bindings, asked.policy, networks=asked.networks)
    observed = span(asked)
    totals = usage(asked, index)
    used = {row[0]: row[1:] for row in totals.select("binding", "uses", "last_ts").iter_rows()}
    lacking = [bool(asked.lacking) or asked.is_doubtful(each) for each in acls.bindings]
    unneeded = [
        _unused_row(acls, each, used, observed, lacking=lacking[each.binding])
        for each in removable(asked, acls, totals)
    ]
    too_wide = [
        _overbroad_row(acls, each, observed, lacking=lacking[each.binding])
        for each in overbroad_in(asked, acls, index)
    ]
    return {
        "grant_usage": grant_usage(acls, totals, observed.days),
        "unused_grants": pa.Table.from_pylist(unneeded, schema=arrow_schema(UNUSED_GRANTS)),
        "overbroad_grants": pa.Table.from_pylist(too_wide, schema=arrow_schema(OVERBROAD_GRANTS)),
    }


def usage(asked: GoldInput, index: Index) -> pl.DataFrame:
    """Return the uses in the history, by the number of the binding."""
    parts = asked.engine.over_tuples(asked.decisions, parts_of, index, PARTS, QUESTION)
    return sum_uses([parts])


def removable(asked: GoldInput, acls: AclSet, totals: pl.DataFrame) -> list[Unused]:
    """Return bindings that were never decisive; those marked to go can go together (backtest)."""
    shared = rank_bindings(
        compile_index(acls.bindings, asked.policy, networks=asked.networks), totals
    )
    keepers = asked.engine.over_tuples(asked.decisions, keepers_of, shared, KEPT, QUESTION)
    found = unused_bindings(acls.bindings, totals, keepers, asked.policy)
    going = {each.binding for each in found if each.removable}
    left = [each for number, each in enumerate(acls.bindings) if number not in going]
    if going and changes_by(asked, acls.bindings, left).num_rows:
        # It would be an error of ours, and no reason to break somebody.
        return [each._replace(removable=False) for each in found]
    return found


def overbroad_in(asked: GoldInput, acls: AclSet, index: Index) -> list[Overbroad]:
    """Return the grants that are too wide."""
    shared = wide(index, acls.bindings)
    touches = asked.engine.over_tuples(asked.decisions, touches_of, shared, TOUCHES, QUESTION)
    return overbroad(acls.bindings, touches, history(asked))


def _unused_row(
    acls: AclSet,
    one: Unused,
    used: dict[int, tuple[int, dt.datetime | None]],
    observed: Span,
    *,
    lacking: bool,
) -> dict[str, Any]:
    binding = acls.bindings[one.binding]
    uses, last_used = used.get(one.binding, (0, None))
    return {
        **row_of(binding, acls.ids[one.binding]),
        "reason": one.reason,
        "covered_by": [acls.ids[each] for each in one.covered_by[:COVERED_BY_MAX]],
        "uses": uses,
        "days_observed": observed.days,
        "first_observed": observed.first,
        "last_observed": observed.last,
        "last_used": last_used,
        "proposal": _proposal(one, lacking),
        "command": command_of(binding, remove=True) if one.removable and not lacking else "",
    }


def _proposal(one: Unused, lacking: bool) -> str:  # noqa: FBT001  private
    if not one.removable:
        return "KEEP"
    return "NOT_ENOUGH_EVIDENCE" if lacking else "REMOVE"


def _overbroad_row(
    acls: AclSet, one: Overbroad, observed: Span, *, lacking: bool
) -> dict[str, Any]:
    binding = acls.bindings[one.binding]
    commands = [] if lacking else [command_of(each) for each in one.instead]
    touched = one.touched
    return {
        **row_of(binding, acls.ids[one.binding]),
        "excess": list(one.excess),
        "uses": one.uses,
        "touched_principals": touched["principal"][:LISTED_MAX],
        "touched_hosts": touched["host"][:LISTED_MAX],
        "touched_operations": touched["operation"],
        "touched_resources": touched["resource_name"][:LISTED_MAX],
        "touched_resource_count": len(touched["resource_name"]),
        "covered_resource_count": one.covered,
        "days_observed": observed.days,
        "proposal": [] if lacking else [text_of(each) for each in one.instead],
        "commands": [*commands, command_of(binding, remove=True)] if commands else [],
    }
