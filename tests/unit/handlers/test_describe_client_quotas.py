"""DescribeClientQuotas: the filter is judged as by a broker, and what it selects is answered."""

from __future__ import annotations

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.handlers.describe_client_quotas import API
from doorkeeper.kinds.declared import StoredQuota
from doorkeeper.quotas.table import ClientQuotas, entity_of, entity_text
from doorkeeper.state.state import EMPTY
from doorkeeper_wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from testkit.acl import allow
from testkit.nodes import CLUSTER, answer, node_of

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


@pytest.mark.parametrize("version", [0, 1])
async def test_it_needs_describe_configs_on_the_cluster(version: int) -> None:
    """31 without a text and without entries; who may gets an empty list."""
    node = await node_of(allow("alice", AclOperation.DESCRIBE_CONFIGS, CLUSTER))

    refused = answer(API, asking(("user", 0, "a")), node, version, user="bob")
    found = answer(API, asking(("user", 0, "a")), node, version, user="alice")

    assert refused == DescribeClientQuotasResponse(error_code=31, error_message=None, entries=None)
    assert found == DescribeClientQuotasResponse()


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
        (
            [("ip", 2, None), ("client-id", 2, None)],
            42,
            COMBINED,
        ),
    ],
)
async def test_what_is_wrong_with_the_filter_is_told(
    components: list[tuple[str, int, str | None]], code: int, text: str
) -> None:
    """The first fault counts, component by component, and the combination last."""
    found = answer(API, asking(*components), await node_of(), 1)

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

    found = answer(API, asking(("user", 0, "alice")), node, version)

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
    assert len(answer(API, asking(), node, version).entries) == 2
