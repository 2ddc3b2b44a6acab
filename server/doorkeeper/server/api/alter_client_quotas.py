"""AlterClientQuotas (49), versions 0-1: sets and deletes quotas of users, client ids and addresses.

Needs ALTER_CONFIGS on the cluster (31 for every entity). Each entity is answered once, in the order
of the request; its quotas change together or, with an error (42), not at all. More
than 10,000 changes refuse the whole request with 44. Quotas are stored and shown, not enforced.
v1 is flexible.

Source: ``ControllerApis.handleAlterClientQuotas``, ``ClientQuotaControlManager`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from doorkeeper.base.errors import ApiError, row_of
from doorkeeper.base.slices import Slices
from doorkeeper.server.api.declaration import declare, refuse_rows, stock_text
from doorkeeper.server.api.node import Node, Outcome, Services, Update, UpdateOperation
from doorkeeper.server.api.permissions import needs, require_on_cluster
from doorkeeper.server.resources.quotas import (
    Entity,
    QuotaAlteration,
    entity_of,
    host_names,
    is_address,
    plan_quotas,
)
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.schema.change import Change
from doorkeeper.server.state.outcome import commit
from doorkeeper.server.state.state import State
from doorkeeper_wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityResult,
    EntryResult,
)

(_ALTER_CONFIGS,) = needs(AlterClientQuotasRequest.API_KEY)


def handle(request: AlterClientQuotasRequest, context: RequestContext, node: Node) -> Outcome:
    require_on_cluster(node, context, _ALTER_CONFIGS)
    alterations = [
        QuotaAlteration(
            entity_of((part.entity_type, part.entity_name) for part in entry.entity),
            tuple((op.key, None if op.remove else op.value) for op in entry.ops),
        )
        for entry in request.entries
    ]
    # Nothing to store: answer without the state log.
    if not alterations:
        return _respond({})
    apply = partial(_alter, context, alterations, request.validate_only)
    return Update(UpdateOperation.QUOTAS, apply, _respond, len(alterations))


async def _alter(
    context: RequestContext,
    alterations: Sequence[QuotaAlteration],
    validate_only: bool,
    services: Services,
) -> Mapping[Entity, ApiError | None]:
    """Apply the valid alterations in one revision; return the error of each entity, or None."""
    # As a broker checks: the name of an IP entity is an address, or resolves to one.
    hosts = host_names(alterations)
    if others := {name for name in hosts if not is_address(name)}:
        hosts -= others.difference(await services.resolvable(others))

    def plan(state: State) -> Slices[tuple[Change, Mapping[Entity, ApiError | None]]]:
        change, errors = yield from plan_quotas(state.quotas, alterations, hosts)
        return {} if validate_only else change, errors

    return await commit(services.log, plan, context)


def _respond(errors: Mapping[Entity, ApiError | None]) -> AlterClientQuotasResponse:
    return AlterClientQuotasResponse(
        entries=tuple(_entry(entity, error) for entity, error in errors.items())
    )


def _entry(entity: Entity, error: ApiError | None) -> EntryResult:
    parts = tuple(EntityResult(entity_type=kind, entity_name=name) for kind, name in entity)
    return row_of(EntryResult, error, entity=parts)


API = declare(
    AlterClientQuotasRequest,
    handle,
    refuse_rows(AlterClientQuotasResponse, stock_text),
    on_controller=True,
)
