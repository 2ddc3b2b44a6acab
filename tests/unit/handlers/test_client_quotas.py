"""AlterClientQuotas and DescribeClientQuotas: entities, filters and responses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from doorkeeper.api.node import Update
from doorkeeper.handlers import alter_client_quotas, describe_client_quotas
from doorkeeper.kinds.declared import StoredQuota
from doorkeeper.quotas.table import ClientQuotas, entity_of, entity_text
from doorkeeper.state.log import StateLog
from doorkeeper.state.memory import MemoryStore
from doorkeeper.state.state import EMPTY
from doorkeeper_wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntityResult,
    EntryData,
    OpData,
)
from doorkeeper_wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from testkit.nodes import answer, node_of, on_the_wire, outcome

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
    update = outcome(alter_client_quotas.API, request, await node_of(), version)
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


COMBINED = (
    "Invalid entity filter component combination. IP filter component should not be used"
    " with user or clientId filter component."
)
BOTH = "Request specified MATCH_TYPE_{}, but also specified a match string."


def asking(*components: tuple[str, int, str | None]) -> DescribeClientQuotasRequest:
    return DescribeClientQuotasRequest(
        components=tuple(
            ComponentData(entity_type=kind, match_type=how, match=match)
            for kind, how, match in components
        )
    )


@pytest.mark.parametrize(
    ("components", "code", "text"),
    [
        ([("", 0, "a")], 42, "Invalid empty entity type."),
        ([("group", 9, "a")], 35, "Unsupported entity type group"),
        (
            [("user", 0, "a"), ("user", 9, "a")],
            42,
            "Entity type user cannot appear more than once in the filter.",
        ),
        (
            [("user", 0, None)],
            42,
            "Request specified MATCH_TYPE_EXACT, but set match string to null.",
        ),
        ([("user", 1, "a")], 42, BOTH.format("DEFAULT")),
        ([("ip", 2, "")], 42, BOTH.format("SPECIFIED")),
        ([("client-id", 3, None)], 42, "Unknown match type 3"),
        ([("ip", 2, None), ("client-id", 2, None)], 42, COMBINED),
    ],
)
async def test_what_is_wrong_with_the_filter_is_told(
    components: list[tuple[str, int, str | None]], code: int, text: str
) -> None:
    """The first fault counts, component by component, and the combination last."""
    found = answer(describe_client_quotas.API, asking(*components), await node_of(), 1)

    assert (found.error_code, found.error_message, found.entries) == (code, text, None)


@pytest.mark.parametrize("version", [0, 1])
async def test_what_the_filter_selects_is_answered(version: int) -> None:
    """Each entity with its quotas; a missing name is the default entity."""
    node = await node_of()
    both = entity_of([("user", "alice"), ("client-id", None)])
    rows = [
        StoredQuota(entity_text(both), "request_percentage", 1.5),
        StoredQuota(entity_text(both), "consumer_byte_rate", 7.0),
        StoredQuota(entity_text(entity_of([("ip", "10.0.0.1")])), "connection_creation_rate", 3.0),
    ]
    node.state = EMPTY._replace(quotas=ClientQuotas().with_changes(rows, []))

    found = answer(describe_client_quotas.API, asking(("user", 0, "alice")), node, version)

    assert found.error_code == 0
    (entry,) = found.entries
    assert [(part.entity_type, part.entity_name) for part in entry.entity] == [
        ("client-id", None),
        ("user", "alice"),
    ]
    assert [(each.key, each.value) for each in entry.values] == [
        ("consumer_byte_rate", 7.0),
        ("request_percentage", 1.5),
    ]
    assert len(answer(describe_client_quotas.API, asking(), node, version).entries) == 2
