"""The coroutine that changes client quotas."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from typing import TYPE_CHECKING

from doorkeeper.server.resources.quotas import IP, plan_quotas
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import QUOTA
from doorkeeper.server.state.log import origin_of
from doorkeeper.server.state.outcome import Results, commit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from doorkeeper.base.errors import ApiError
    from doorkeeper.base.slices import Slices
    from doorkeeper.server.api.node import Services
    from doorkeeper.server.resources.quotas import Entity, QuotaAlteration
    from doorkeeper.server.runtime.request_context import RequestContext
    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.state.state import State


async def alter_quotas(
    services: Services,
    context: RequestContext,
    alterations: Sequence[QuotaAlteration],
    *,
    validate_only: bool,
) -> Results:
    """Apply the valid alterations in one revision; the values are entities with error or None.

    Raises:
        ApiError: nothing was changed; it is the error of every entity.
    """
    hosts = await _resolvable(alterations)
    errors: Mapping[Entity, ApiError | None] = {}

    def plan(state: State) -> Slices[Change]:
        nonlocal errors
        set_, deleted, errors = yield from plan_quotas(state.quotas, alterations, hosts)
        return {} if validate_only else edit(QUOTA, set=set_, deleted=deleted)

    await commit(services.log, plan, origin_of(context.authorizable))
    return Results(tuple(errors.items()))


async def _resolvable(alterations: Iterable[QuotaAlteration]) -> Collection[str]:
    """Return the names of IP entities that are addresses or resolve to one, as a broker checks."""
    names = {name for entity, _ in alterations for kind, name in entity if kind == IP and name}
    return {name for name in names if is_address(name) or await _resolves(name)}


def is_address(name: str) -> bool:
    """Return whether a name is an IP address, with or without the brackets of a URL."""
    try:
        ip_address(name[1:-1] if name.startswith("[") and name.endswith("]") else name)
    except ValueError:
        return False
    return True


async def _resolves(name: str) -> bool:
    try:
        await asyncio.get_running_loop().getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return False
    return True
