"""The coroutine that changes the configuration of a group or of a metrics subscription."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.server.resources.policies.contract import ConfigAlteration, ConfigResourceType
from doorkeeper.server.resources.settings.operations import CLIENT_METRICS, GROUP
from doorkeeper.server.resources.settings.resources import altered_values, plan_values
from doorkeeper.server.state.log import origin_of
from doorkeeper.server.state.outcome import commit

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.server.resources.settings.operations import AlteredResource
    from doorkeeper.server.resources.topics.alteration import ConfigPolicy
    from doorkeeper.server.runtime.request_context import RequestContext
    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.state.log import StateLog
    from doorkeeper.server.state.state import State

_TYPES: Final = {
    GROUP: ConfigResourceType.GROUP,
    CLIENT_METRICS: ConfigResourceType.CLIENT_METRICS,
}


async def alter_resource(
    log: StateLog,
    resource: AlteredResource,
    context: RequestContext,
    rules: tuple[Callable[[str], int], ConfigPolicy],
    *,
    validate_only: bool,
) -> None:
    """Change the values of a resource in a revision of their own, if the policy accepts them.

    ``rules`` are the numbers of the server's keys, which bound values of groups, and the policy.
    ``validate_only`` checks against the visible state, and changes nothing.

    Raises:
        ApiError: the change is refused, or could not be stored.
    """
    number, policy = rules

    def plan(state: State) -> Change:
        configs = state.resource_configs
        values = altered_values(configs, resource, number)
        present = configs.of(resource.stored_type, resource.name)
        names = (each.name for each in resource.alterations)
        changed = {n: values.get(n) for n in names if values.get(n) != present.get(n)}
        kind = _TYPES[resource.stored_type]
        policy.check_alteration(ConfigAlteration(kind, resource.name, changed))
        return plan_values(configs, resource, values)

    if validate_only:
        plan(log.state)
        return
    await commit(log, plan, origin_of(context.authorizable))
