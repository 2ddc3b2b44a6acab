"""LocalFaults, as clients of a server meet them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.testing import DoorkeeperServer
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from doorkeeper_wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from testkit.frames import Closed, FrameClient
from testkit.serving import creation

if TYPE_CHECKING:
    from collections.abc import Iterator


ALL_ACLS = DescribeAclsRequest(
    resource_type_filter=1,
    resource_name_filter=None,
    pattern_type_filter=1,
    principal_filter=None,
    host_filter=None,
    operation=1,
    permission_type=1,
)
DELAY_MS = 50
CLUSTER_AUTHORIZATION_FAILED = 31
SASL_AUTHENTICATION_FAILED = 58


@pytest.fixture(scope="module")
def running() -> Iterator[DoorkeeperServer]:
    listeners = ("PLAINTEXT", "SASL_PLAINTEXT")
    with DoorkeeperServer(users={"alice": "pw"}, listeners=listeners) as server:
        yield server


@pytest.fixture
def server(running: DoorkeeperServer) -> DoorkeeperServer:
    running.clear()
    return running


@pytest.fixture
def client(server: DoorkeeperServer) -> Iterator[FrameClient]:
    with FrameClient(server.bootstrap_servers) as made:
        yield made


def create(client: FrameClient) -> Any:
    return client.ask(creation("User:alice"), CreateAclsResponse, 3)


def describe(client: FrameClient) -> Any:
    return client.ask(ALL_ACLS, DescribeAclsResponse, 3)


def test_an_error_is_answered_and_nothing_done(
    server: DoorkeeperServer, client: FrameClient
) -> None:
    """The request is answered in its own form with the error; the next one is as usual."""
    with server.faults.error("CreateAcls", "CLUSTER_AUTHORIZATION_FAILED", "why not") as fault:
        refused = create(client)

    assert [(each.error_code, each.error_message) for each in refused.results] == [
        (CLUSTER_AUTHORIZATION_FAILED, "why not")
    ]
    assert (server.acls(), fault.struck) == ([], 1)
    assert [each.error_code for each in create(client).results] == [0]


def test_a_delayed_request_keeps_its_place(server: DoorkeeperServer, client: FrameClient) -> None:
    """A delayed request is answered after the delay, and the next one after it."""
    began_s = time.monotonic()

    with server.faults.delay("CreateAcls", ms=DELAY_MS, times=1) as fault:
        first, second = create(client), describe(client)

    assert time.monotonic() - began_s >= DELAY_MS / 1000
    assert fault.struck == 1
    assert [each.error_code for each in first.results] == [0]
    assert len(second.resources) == 1


def test_a_connection_is_dropped_before_anything_is_done(
    server: DoorkeeperServer, client: FrameClient
) -> None:
    """The client sees its connection end; the server has done nothing."""
    with server.faults.drop("CreateAcls"):
        assert isinstance(create(client), Closed)

    assert server.acls() == []


def test_an_answer_is_lost_after_all_was_done(
    server: DoorkeeperServer, client: FrameClient
) -> None:
    """The client sees its connection end, and does not know that the ACL is there."""
    with server.faults.drop("CreateAcls", after=True):
        assert isinstance(create(client), Closed)

    assert len(server.acls()) == 1


def login(server: DoorkeeperServer, user: str, password: str) -> Any:
    """Log in by PLAIN; return the last answer."""
    with FrameClient(server.address("SASL_PLAINTEXT")) as client:
        hand = client.ask(SaslHandshakeRequest(mechanism="PLAIN"), SaslHandshakeResponse, 1)
        if isinstance(hand, Closed):
            return hand
        token = f"\0{user}\0{password}".encode()
        return client.ask(SaslAuthenticateRequest(auth_bytes=token), SaslAuthenticateResponse, 2)


def test_a_user_is_refused_as_with_a_wrong_password(server: DoorkeeperServer) -> None:
    """The answer is the one to a wrong password; others log in, and later the user too."""
    with server.faults.refuse_login("alice") as fault:
        refused, other = login(server, "alice", "pw"), login(server, "admin", "admin-secret")
    wrong, right = login(server, "alice", "wrong"), login(server, "alice", "pw")

    assert refused.error_code == SASL_AUTHENTICATION_FAILED
    assert refused == wrong
    assert (other.error_code, right.error_code, fault.struck) == (0, 0, 1)


@pytest.mark.parametrize("api", ["SaslHandshake", "SaslAuthenticate"])
def test_a_login_can_be_dropped(server: DoorkeeperServer, api: str) -> None:
    """The requests of a login end the connection as others do."""
    with server.faults.drop(api):
        assert isinstance(login(server, "alice", "pw"), Closed)
