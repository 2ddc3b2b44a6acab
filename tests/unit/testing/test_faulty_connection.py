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


def test_injected_error_changes_nothing(server: DoorkeeperServer, client: FrameClient) -> None:
    with server.faults.error("CreateAcls", "CLUSTER_AUTHORIZATION_FAILED", "why not") as fault:
        refused = create(client)

    assert [(each.error_code, each.error_message) for each in refused.results] == [
        (CLUSTER_AUTHORIZATION_FAILED, "why not")
    ]
    assert (server.acls(), fault.struck) == ([], 1)
    assert [each.error_code for each in create(client).results] == [0]


def test_delayed_request_keeps_its_order(server: DoorkeeperServer, client: FrameClient) -> None:
    began_s = time.monotonic()

    with server.faults.delay("CreateAcls", ms=DELAY_MS, times=1) as fault:
        first, second = create(client), describe(client)

    assert time.monotonic() - began_s >= DELAY_MS / 1000
    assert fault.struck == 1
    assert [each.error_code for each in first.results] == [0]
    assert len(second.resources) == 1


def test_dropped_request_changes_nothing(server: DoorkeeperServer, client: FrameClient) -> None:
    with server.faults.drop("CreateAcls"):
        assert isinstance(create(client), Closed)

    assert server.acls() == []


def test_dropped_response_keeps_the_change(server: DoorkeeperServer, client: FrameClient) -> None:
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


def test_rejected_user_looks_like_a_wrong_password(server: DoorkeeperServer) -> None:
    with server.faults.refuse_login("alice") as fault:
        refused, other = login(server, "alice", "pw"), login(server, "admin", "admin-secret")
    wrong, right = login(server, "alice", "wrong"), login(server, "alice", "pw")

    assert refused.error_code == SASL_AUTHENTICATION_FAILED
    assert refused == wrong
    assert (other.error_code, right.error_code, fault.struck) == (0, 0, 1)


@pytest.mark.parametrize("api", ["SaslHandshake", "SaslAuthenticate"])
def test_login_can_be_dropped(server: DoorkeeperServer, api: str) -> None:
    with server.faults.drop(api):
        assert isinstance(login(server, "alice", "pw"), Closed)
