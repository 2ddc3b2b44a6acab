"""AlterUserScramCredentials and DescribeUserScramCredentials."""

from __future__ import annotations

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.api.node import Update
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.handlers import alter_user_scram_credentials, describe_user_scram_credentials
from doorkeeper.users.alteration import CredentialDeletion
from doorkeeper.users.table import ScramUsers
from doorkeeper_wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from doorkeeper_wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResult,
    UserName,
)
from testkit.acl import allow
from testkit.nodes import CLUSTER, ANode, answer, arguments, node_of, outcome
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


async def test_users_are_altered_as_they_are_named() -> None:
    """Everyone who is named has one row, in the order in which they are named."""
    node = await node_of(allow("alice", AclOperation.ALTER, CLUSTER))

    found = outcome(alter_user_scram_credentials.API, REQUEST, node, 0, user="alice")

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


async def node() -> ANode:
    found = await node_of(allow("alice", AclOperation.ALTER, CLUSTER))
    found.scram_users = ScramUsers(
        [credential("bob"), credential("alice", "SCRAM-SHA-512", 8192), credential("alice")]
    )
    return found


def asking(*names: str) -> DescribeUserScramCredentialsRequest:
    return DescribeUserScramCredentialsRequest(users=tuple(UserName(name=name) for name in names))


@pytest.mark.parametrize("users", [None, ()])
async def test_no_users_are_all_users(users: tuple[()] | None) -> None:
    """Null and an empty list ask for everyone; ALTER implies DESCRIBE."""
    request = DescribeUserScramCredentialsRequest(users=users)

    found = answer(describe_user_scram_credentials.API, request, await node(), 0, user="alice")

    assert (found.error_code, found.error_message) == (0, "")
    assert found.results == (ALICE, BOB)


async def test_each_user_is_answered_once() -> None:
    """Who is named twice has 92, who is unknown 91, and both say whom they mean."""
    found = answer(
        describe_user_scram_credentials.API,
        asking("x", "bob", "alice", "alice", ""),
        await node(),
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
