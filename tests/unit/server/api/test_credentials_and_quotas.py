"""SCRAM credentials of users, and client quotas: altered and described."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from doorkeeper.acls.model import AclOperation
from doorkeeper.base.credentials import salted_credential_of
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api import (
    alter_client_quotas,
    alter_user_scram_credentials,
    describe_client_quotas,
    describe_user_scram_credentials,
)
from doorkeeper.server.api.node import Update
from doorkeeper.server.resources.quotas import ClientQuotas, entity_of, entity_text
from doorkeeper.server.resources.users import ScramUsers
from doorkeeper.server.schema.declared import CREDENTIAL, StoredCredential, StoredQuota
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.memory import MemoryStore
from doorkeeper.server.state.state import EMPTY
from doorkeeper_wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntityResult,
    EntryData,
    OpData,
)
from doorkeeper_wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from doorkeeper_wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from doorkeeper_wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResult,
    UserName,
)
from testkit.acl import allow
from testkit.nodes import CLUSTER, ANode, answer, node_of, on_the_wire, outcome
from testkit.plans import planned
from testkit.stores import credential

REQUEST = AlterUserScramCredentialsRequest(
    deletions=(
        ScramCredentialDeletion(name="zoe", mechanism=1),
        ScramCredentialDeletion(name="bob", mechanism=7),
    ),
    upsertions=(
        ScramCredentialUpsertion(
            name="alice", mechanism=2, iterations=8192, salt=b"salt", salted_password=b"word"
        ),
        ScramCredentialUpsertion(name="zoe", mechanism=2),
    ),
)


async def test_altered_users_have_one_row() -> None:
    node = await node_of(allow("alice", AclOperation.ALTER, CLUSTER))

    found = outcome(alter_user_scram_credentials.API, REQUEST, node, 0, user="alice")

    assert isinstance(found, Update)
    change, errors = await planned(found)
    (row,) = change[CREDENTIAL].set
    assert row == StoredCredential(
        "alice", "SCRAM-SHA-512", *salted_credential_of("SCRAM-SHA-512", b"word", 8192, b"salt")
    )
    assert {user: int(error.code) for user, error in errors.items()} == {"zoe": 91, "bob": 33}
    twice = ApiError(ErrorCode.DUPLICATE_RESOURCE, "twice")
    inner = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "inner")
    rows = found.respond({"bob": inner, "zoe": twice})
    assert isinstance(rows, AlterUserScramCredentialsResponse)
    assert rows.results == (
        AlterUserScramCredentialsResult(user="zoe", error_code=92, error_message="twice"),
        AlterUserScramCredentialsResult(user="bob", error_code=-1, error_message=None),
        AlterUserScramCredentialsResult(user="alice", error_message=None),
    )


async def test_salted_password_is_hidden_in_repr() -> None:
    node = await node_of()

    shown = repr(REQUEST) + repr(outcome(alter_user_scram_credentials.API, REQUEST, node, 0))

    assert "alice" in shown
    assert "word" not in shown.replace("salted_password", "")


ALICE = DescribeUserScramCredentialsResult(
    user="alice",
    credential_infos=(
        CredentialInfo(mechanism=1, iterations=4096),
        CredentialInfo(mechanism=2, iterations=8192),
    ),
)
BOB = DescribeUserScramCredentialsResult(
    user="bob", credential_infos=(CredentialInfo(mechanism=1, iterations=4096),)
)


async def node_with_users() -> ANode:
    found = await node_of(allow("alice", AclOperation.ALTER, CLUSTER))
    users = ScramUsers().with_changes(
        [credential("bob"), credential("alice", "SCRAM-SHA-512", 8192), credential("alice")]
    )
    found.state = replace(found.state, credentials=users)
    return found


def asking(*names: str) -> DescribeUserScramCredentialsRequest:
    return DescribeUserScramCredentialsRequest(users=tuple(UserName(name=name) for name in names))


@pytest.mark.parametrize("users", [None, ()])
async def test_no_users_means_all_users(users: tuple[()] | None) -> None:
    request = DescribeUserScramCredentialsRequest(users=users)

    found = answer(
        describe_user_scram_credentials.API, request, await node_with_users(), 0, user="alice"
    )

    assert (found.error_code, found.error_message) == (0, "")
    assert found.results == (ALICE, BOB)


async def test_each_user_is_described_once() -> None:
    """Who is named twice has 92, who is unknown 91, and both say whom they mean."""
    found = answer(
        describe_user_scram_credentials.API,
        asking("x", "bob", "alice", "alice", ""),
        await node_with_users(),
        0,
    )

    twice = "Cannot describe SCRAM credentials for the same user twice in a single request: alice"
    absent = "Attempt to describe a user credential that does not exist: "
    assert found.results == (
        DescribeUserScramCredentialsResult(user="x", error_code=91, error_message=f"{absent}x"),
        BOB,
        DescribeUserScramCredentialsResult(user="alice", error_code=92, error_message=twice),
        DescribeUserScramCredentialsResult(user="", error_code=91, error_message=absent),
    )


ALICE_ENTITY = (EntityData(entity_type="user", entity_name="alice"),)
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
    errors = await update.apply(services)
    return on_the_wire(update.respond(errors), version)


@pytest.mark.parametrize("version", [0, 1])
async def test_quotas_are_set_deleted_and_rejected(version: int) -> None:
    log = StateLog(MemoryStore())
    await log.start()
    request = altering(
        (ALICE_ENTITY, {"request_percentage": 5.5, "producer_byte_rate": 9.0}),
        (ANY, {"nothing": 1.0}),
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
    await answered(log, altering((ALICE_ENTITY, {"request_percentage": None})), version)
    assert dict(log.state.quotas.of(entity_of([("user", "alice")]))) == {"producer_byte_rate": 9.0}


async def test_alter_client_quotas_validate_only() -> None:
    """It answers as the change would be answered."""
    log = StateLog(MemoryStore())
    await log.start()

    found = await answered(
        log, altering((ALICE_ENTITY, {"request_percentage": 5.0}), validate_only=True), 1
    )

    assert [row.error_code for row in found.entries] == [0]
    assert list(log.state.quotas) == []


COMBINED = (
    "Invalid entity filter component combination. IP filter component should not be used"
    " with user or clientId filter component."
)
BOTH = "Request specified MATCH_TYPE_{}, but also specified a match string."


def filtering(
    *components: tuple[str, int, str | None],
) -> DescribeClientQuotasRequest:
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
async def test_invalid_filters_are_rejected(
    components: list[tuple[str, int, str | None]], code: int, text: str
) -> None:
    found = answer(describe_client_quotas.API, filtering(*components), await node_of(), 1)

    assert (found.error_code, found.error_message, found.entries) == (code, text, None)


@pytest.mark.parametrize("version", [0, 1])
async def test_filter_selects_entities(version: int) -> None:
    node = await node_of()
    both = entity_of([("user", "alice"), ("client-id", None)])
    rows = [
        StoredQuota(entity_text(both), "request_percentage", 1.5),
        StoredQuota(entity_text(both), "consumer_byte_rate", 7.0),
        StoredQuota(entity_text(entity_of([("ip", "10.0.0.1")])), "connection_creation_rate", 3.0),
    ]
    node.state = replace(EMPTY, quotas=ClientQuotas().with_changes(rows, []))

    found = answer(describe_client_quotas.API, filtering(("user", 0, "alice")), node, version)

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
    assert len(answer(describe_client_quotas.API, filtering(), node, version).entries) == 2
