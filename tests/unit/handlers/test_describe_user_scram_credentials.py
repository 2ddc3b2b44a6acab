"""DescribeUserScramCredentials: who may, which users, and their mechanisms."""

from __future__ import annotations

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.handlers.describe_user_scram_credentials import API
from doorkeeper.users.table import ScramUsers
from doorkeeper_wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResult,
    UserName,
)
from testkit.acl import allow
from testkit.nodes import CLUSTER, ANode, answer, node_of
from testkit.stores import credential

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


async def test_it_needs_describe_on_the_cluster() -> None:
    """31 at the top without a text, and a row without a name for each user that was named."""
    found = await node()

    refused = answer(API, asking("alice", "x", "x"), found, 0, user="bob")

    assert (refused.error_code, refused.error_message) == (31, None)
    row = DescribeUserScramCredentialsResult(error_code=31, error_message=None)
    assert refused.results == (row,) * 3
    assert found.lines() == ["INFO Denied DESCRIBE Cluster:LITERAL:kafka-cluster 1"]


@pytest.mark.parametrize("users", [None, ()])
async def test_no_users_are_all_users(users: tuple[()] | None) -> None:
    """Null and an empty list ask for everyone; ALTER implies DESCRIBE."""
    request = DescribeUserScramCredentialsRequest(users=users)

    found = answer(API, request, await node(), 0, user="alice")

    assert (found.error_code, found.error_message) == (0, "")
    assert found.results == (ALICE, BOB)


async def test_each_user_is_answered_once() -> None:
    """Who is named twice has 92, who is unknown 91, and both say whom they mean."""
    found = answer(API, asking("x", "bob", "alice", "alice", ""), await node(), 0)

    twice = "Cannot describe SCRAM credentials for the same user twice in a single request: alice"
    absent = "Attempt to describe a user credential that does not exist: "
    assert found.results == (
        DescribeUserScramCredentialsResult(user="x", error_code=91, error_message=f"{absent}x"),
        BOB,
        DescribeUserScramCredentialsResult(user="alice", error_code=92, error_message=twice),
        DescribeUserScramCredentialsResult(user="", error_code=91, error_message=absent),
    )
