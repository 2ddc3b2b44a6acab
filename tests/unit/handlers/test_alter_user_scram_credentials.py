"""AlterUserScramCredentials: who may, what goes to the shell, and the answer."""

from __future__ import annotations

from doorkeeper.acl.model import AclOperation
from doorkeeper.api.node import Update
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.handlers.alter_user_scram_credentials import API
from doorkeeper.users.alteration import CredentialDeletion
from doorkeeper_wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from testkit.acl import DESCRIBE, allow
from testkit.nodes import CLUSTER, answer, arguments, node_of, outcome

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


async def test_it_needs_alter_on_the_cluster() -> None:
    """31 for every user, sorted, with the broker's text; describing is not enough."""
    node = await node_of(allow("alice", DESCRIBE, CLUSTER))

    refused = answer(API, REQUEST, node, 0, user="alice")

    text = "Request Request(described) needs ALTER permission."
    assert refused.results == tuple(
        AlterUserScramCredentialsResult(user=user, error_code=31, error_message=text)
        for user in ("alice", "bob", "zoe")
    )
    assert node.lines() == ["INFO Denied ALTER Cluster:LITERAL:kafka-cluster 1"]


async def test_users_are_altered_as_they_are_named() -> None:
    """Everyone who is named has one row, in the order in which they are named."""
    node = await node_of(allow("alice", AclOperation.ALTER, CLUSTER))

    found = outcome(API, REQUEST, node, 0, user="alice")

    assert isinstance(found, Update)
    _, deletions, upsertions = arguments(found)
    assert deletions == [CredentialDeletion("zoe", 1), CredentialDeletion("bob", 7)]
    assert upsertions[0] == ("alice", 2, 8192, b"salt", b"word")
    twice = ApiError(ErrorCode.DUPLICATE_RESOURCE, "twice")
    rows = found.respond((twice, ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "inner"), None))
    assert isinstance(rows, AlterUserScramCredentialsResponse)
    assert rows.results == (
        AlterUserScramCredentialsResult(user="zoe", error_code=92, error_message="twice"),
        AlterUserScramCredentialsResult(user="bob", error_code=-1, error_message=None),
        AlterUserScramCredentialsResult(user="alice", error_message=None),
    )


async def test_what_is_as_good_as_the_password_is_never_shown() -> None:
    """Neither the message nor what goes to the shell shows the salted password in its repr."""
    node = await node_of()

    shown = repr(REQUEST) + repr(outcome(API, REQUEST, node, 0))

    assert "alice" in shown
    assert "word" not in shown.replace("salted_password", "")
