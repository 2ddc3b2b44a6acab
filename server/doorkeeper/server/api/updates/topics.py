"""The coroutines that create, delete and alter topics, and that add partitions to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.base.errors import ApiError
from doorkeeper.server.resources.groups import deletion_of_topics
from doorkeeper.server.resources.topics.alteration import altered_topic
from doorkeeper.server.resources.topics.partitions import plan_partitions
from doorkeeper.server.resources.topics.plans import plan_alteration, plan_topics
from doorkeeper.server.resources.topics.reassignment import plan_reassignments
from doorkeeper.server.state.log import origin_of
from doorkeeper.server.state.outcome import Results, commit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.server.api.node import Services
    from doorkeeper.server.resources.cluster import Broker
    from doorkeeper.server.resources.settings.operations import AlteredResource
    from doorkeeper.server.resources.topics.alteration import ConfigPolicy
    from doorkeeper.server.resources.topics.partitions import WantedPartitions
    from doorkeeper.server.resources.topics.reassignment import Reassignment
    from doorkeeper.server.runtime.request_context import RequestContext
    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.schema.declared import StoredTopic
    from doorkeeper.server.state.log import StateLog
    from doorkeeper.server.state.state import State


async def change_topics(
    services: Services,
    context: RequestContext,
    created: Sequence[StoredTopic] = (),
    deleted: Sequence[str] = (),
) -> Results:
    """Create and delete topics in one revision; the values are errors or None, in this order."""
    errors: list[ApiError | None] = [None] * (len(created) + len(deleted))

    def plan(state: State) -> Change:
        change, errors[:] = plan_topics(state.topics, created, deleted)
        outcomes = zip(deleted, errors[len(created) :], strict=True)
        gone = [name for name, error in outcomes if error is None]
        return {**change, **deletion_of_topics(state.offsets, gone)} if gone else change

    try:
        await commit(services.log, plan, origin_of(context.authorizable))
    except ApiError as not_stored:
        return Results([error or not_stored for error in errors])
    return Results(errors)


async def add_partitions(
    services: Services,
    context: RequestContext,
    wanted: Sequence[WantedPartitions],
    brokers: Sequence[Broker],
) -> Results:
    """Add partitions to topics in one revision; the values are errors or None, in this order."""
    errors: list[ApiError | None] = [None] * len(wanted)

    def plan(state: State) -> Change:
        change, errors[:] = plan_partitions(state.topics, wanted, brokers)
        return change

    try:
        await commit(services.log, plan, origin_of(context.authorizable))
    except ApiError as not_stored:
        return Results([error or not_stored for error in errors])
    return Results(errors)


async def reassign_partitions(
    services: Services,
    context: RequestContext,
    wanted: Sequence[Reassignment],
    brokers: Sequence[Broker],
) -> Results:
    """Move partitions in one revision; the values are errors or None, in this order."""
    errors: list[ApiError | None] = [None] * len(wanted)

    def plan(state: State) -> Change:
        change, errors[:] = plan_reassignments(state.topics, wanted, brokers)
        return change

    try:
        await commit(services.log, plan, origin_of(context.authorizable))
    except ApiError as not_stored:
        return Results([error or not_stored for error in errors])
    return Results(errors)


async def alter_topic(
    log: StateLog,
    resource: AlteredResource,
    context: RequestContext,
    policy: ConfigPolicy,
    *,
    validate_only: bool,
) -> None:
    """Change the configuration of a topic, in a revision of its own, if the policy accepts it.

    ``validate_only`` checks against the visible state, and changes nothing.

    Raises:
        ApiError: the change is refused, or could not be stored.
    """
    if validate_only:
        altered_topic(resource, log.state.topics.get(resource.name), policy)
        return
    await commit(
        log,
        lambda state: plan_alteration(state.topics, resource, policy),
        origin_of(context.authorizable),
    )
