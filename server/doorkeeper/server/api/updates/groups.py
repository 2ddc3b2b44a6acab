"""The coroutines that commit and delete offsets, and delete groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.server.resources.groups import (
    all_groups,
    plan_commit,
    plan_deletion,
    plan_group_deletion,
)
from doorkeeper.server.state.log import origin_of
from doorkeeper.server.state.outcome import Results, commit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.base.errors import ErrorCode
    from doorkeeper.base.slices import Slices
    from doorkeeper.server.api.node import Services
    from doorkeeper.server.resources.groups import Committer
    from doorkeeper.server.runtime.request_context import RequestContext
    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.schema.declared import StoredOffset
    from doorkeeper.server.state.state import State


async def commit_offsets(
    services: Services, context: RequestContext, by: Committer, rows: Sequence[StoredOffset]
) -> Results:
    """Store offsets of one group in one revision; the values are error codes, in this order.

    Raises:
        ApiError: nothing was changed; it is the error of every row.
    """
    errors: Sequence[ErrorCode] = ()

    def plan(state: State) -> Slices[Change]:
        nonlocal errors
        group = all_groups(state.groups, state.offsets, state.live_groups).get(rows[0].group_id)
        change, errors = yield from plan_commit(state.offsets, group, by, rows)
        return change

    await commit(services.log, plan, origin_of(context.authorizable))
    return Results(errors)


async def delete_offsets(
    services: Services, context: RequestContext, group_id: str, asked: Sequence[tuple[str, int]]
) -> Results:
    """Delete offsets of a group in one revision; the values are error codes, in this order.

    Raises:
        ApiError: nothing was changed; it is the error of the whole request.
    """
    errors: Sequence[ErrorCode] = ()

    def plan(state: State) -> Slices[Change]:
        nonlocal errors
        group = all_groups(state.groups, state.offsets, state.live_groups).get(group_id)
        change, errors = yield from plan_deletion(state.offsets, group, group_id, asked)
        return change

    await commit(services.log, plan, origin_of(context.authorizable))
    return Results(errors)


async def delete_groups(
    services: Services, context: RequestContext, group_ids: Sequence[str]
) -> Results:
    """Delete groups in one revision; the values are error codes, in this order.

    Raises:
        ApiError: nothing was changed; it is the error of every group.
    """
    errors: Sequence[ErrorCode] = ()

    def plan(state: State) -> Slices[Change]:
        nonlocal errors
        groups = all_groups(state.groups, state.offsets, state.live_groups)
        change, errors = yield from plan_group_deletion(
            state.offsets, groups, group_ids, state.groups
        )
        return change

    await commit(services.log, plan, origin_of(context.authorizable))
    return Results(errors)
