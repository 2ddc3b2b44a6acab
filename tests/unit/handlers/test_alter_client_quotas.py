"""AlterClientQuotas: what a request asks for, and what is answered."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.api.node import Update
from doorkeeper.handlers.alter_client_quotas import API
from doorkeeper.quotas.table import entity_of
from doorkeeper.state.log import StateLog
from doorkeeper.state.memory import MemoryStore
from doorkeeper_wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntityResult,
    EntryData,
    EntryResult,
    OpData,
)
from testkit.acl import allow
from testkit.nodes import CLUSTER, answer, node_of, on_the_wire, outcome

ALICE = (EntityData(entity_type="user", entity_name="alice"),)
ANY = (EntityData(entity_type="client-id", entity_name=None),)


def altering(
    *entries: tuple[tuple[EntityData, ...], dict[str, float | None]], validate_only: bool = False
) -> AlterClientQuotasRequest:
    return AlterClientQuotasRequest(
        entries=tuple(
            EntryData(
                entity=entity,
                ops=tuple(
                    OpData(key=key, value=value or 0.0, remove=value is None)
                    for key, value in ops.items()
                ),
            )
            for entity, ops in entries
        ),
        validate_only=validate_only,
    )


async def answered(log: StateLog, request: AlterClientQuotasRequest, version: int) -> Any:
    update = outcome(API, request, await node_of(), version)
    assert isinstance(update, Update)
    assert (update.operation, update.items) == ("quotas", len(request.entries))
    services: Any = SimpleNamespace(log=log)
    results = await update.apply(services)
    return on_the_wire(update.respond(results.values), version)


@pytest.mark.parametrize("version", [0, 1])
async def test_quotas_are_set_deleted_and_refused(version: int) -> None:
    """Each entity has its own row, in the order of the request."""
    log = StateLog(MemoryStore())
    await log.start()
    request = altering(
        (ALICE, {"request_percentage": 5.5, "producer_byte_rate": 9.0}), (ANY, {"nothing": 1.0})
    )

    made = await answered(log, request, version)

    assert [(row.error_code, row.error_message) for row in made.entries] == [
        (0, None),
        (42, "Invalid configuration key nothing"),
    ]
    assert [row.entity for row in made.entries] == [
        (EntityResult(entity_type="user", entity_name="alice"),),
        (EntityResult(entity_type="client-id", entity_name=None),),
    ]
    await answered(log, altering((ALICE, {"request_percentage": None})), version)
    assert dict(log.state.quotas.of(entity_of([("user", "alice")]))) == {"producer_byte_rate": 9.0}


async def test_validation_changes_nothing() -> None:
    """It answers as the change would be answered."""
    log = StateLog(MemoryStore())
    await log.start()

    found = await answered(
        log, altering((ALICE, {"request_percentage": 5.0}), validate_only=True), 1
    )

    assert [row.error_code for row in found.entries] == [0]
    assert list(log.state.quotas) == []


@pytest.mark.parametrize("version", [0, 1])
async def test_it_needs_alter_configs_on_the_cluster(version: int) -> None:
    """31 for every entry, as it stands in the request, in the stock words."""
    node = await node_of(allow("alice", AclOperation.ALTER, CLUSTER))

    found = answer(API, altering((ALICE, {}), (ALICE, {})), node, version, user="alice")

    row = EntryResult(
        error_code=31,
        error_message="Cluster authorization failed.",
        entity=(EntityResult(entity_type="user", entity_name="alice"),),
    )
    assert found.entries == (row, row)
