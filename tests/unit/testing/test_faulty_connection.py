"""LocalFaults, as clients of a server meet them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.testing import DoorkeeperProcess, DoorkeeperServer
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
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

    from doorkeeper.testing.any_server import AnyServer

ALL_ACLS = DescribeAclsRequest(
    resource_type_filter=1,
    resource_name_filter=None,
    pattern_type_filter=1,
    principal_filter=None,
    host_filter=None,
    operation=1,
    permission_type=1,
)
DELAY_MS = 200
CLUSTER_AUTHORIZATION_FAILED = 31
SASL_AUTHENTICATION_FAILED = 58


@pytest.fixture(scope="module", params=[DoorkeeperServer, DoorkeeperProcess])
def running(request: pytest.FixtureRequest) -> Iterator[AnyServer]:
    """Give a server in this process, and one in its own: the same goes wrong in both."""
    listeners = ("PLAINTEXT", "SASL_PLAINTEXT")
    with request.param(users={"alice": "pw"}, listeners=listeners) as server:
        yield server


@pytest.fixture
def server(running: AnyServer) -> AnyServer:
    running.clear()
    return running


@pytest.fixture
def client(server: AnyServer) -> Iterator[FrameClient]:
    with FrameClient(server.bootstrap_servers) as made:
        yield made


def create(client: FrameClient) -> Any:
    return client.ask(creation("User:alice"), CreateAclsResponse, 3)


def describe(client: FrameClient) -> Any:
    return client.ask(ALL_ACLS, DescribeAclsResponse, 3)


def test_an_error_is_answered_and_nothing_done(server: AnyServer, client: FrameClient) -> None:
    """The request is answered in its own form with the error; the next one is as usual."""
    with server.faults.error("CreateAcls", "CLUSTER_AUTHORIZATION_FAILED", "why not") as fault:
        refused = create(client)

    assert [(each.error_code, each.error_message) for each in refused.results] == [
        (CLUSTER_AUTHORIZATION_FAILED, "why not")
    ]
    assert (server.acls(), fault.struck) == ([], 1)
    assert [each.error_code for each in create(client).results] == [0]


def test_an_error_may_strike_once(server: AnyServer, client: FrameClient) -> None:
    """A client that tries again succeeds when the fault has struck often enough."""
    with server.faults.error("DescribeAcls", 41, times=1):
        codes = [describe(client).error_code for _ in range(2)]

    assert codes == [41, 0]


@pytest.mark.parametrize("ask", [create, describe])
def test_a_delay_holds_the_request(server: AnyServer, client: FrameClient, ask: Any) -> None:
    """The answer comes after the delay; other connections do not wait."""
    api = "CreateAcls" if ask is create else "DescribeAcls"
    began_s = time.monotonic()

    with server.faults.delay(api, ms=DELAY_MS) as fault:
        answer = ask(client)

    assert not isinstance(answer, Closed)
    assert time.monotonic() - began_s >= DELAY_MS / 1000
    assert fault.struck == 1


def test_requests_behind_a_delayed_one_keep_their_order(
    server: AnyServer, client: FrameClient
) -> None:
    """A request that was sent behind a delayed one is handled after it."""
    with server.faults.delay("CreateAcls", ms=DELAY_MS, times=1):
        first, second = create(client), describe(client)

    assert [each.error_code for each in first.results] == [0]
    assert len(second.resources) == 1


def test_a_connection_is_dropped_before_anything_is_done(
    server: AnyServer, client: FrameClient
) -> None:
    """The client sees its connection end; the server has done nothing."""
    with server.faults.drop("CreateAcls"):
        assert isinstance(create(client), Closed)

    assert server.acls() == []


def test_an_answer_is_lost_after_all_was_done(server: AnyServer, client: FrameClient) -> None:
    """The client sees its connection end, and does not know that the ACL is there."""
    with server.faults.drop("CreateAcls", after=True):
        assert isinstance(create(client), Closed)

    assert len(server.acls()) == 1


def test_the_answer_of_a_read_is_lost(server: AnyServer, client: FrameClient) -> None:
    """A read's answer can be lost too; a new connection gets it."""
    with server.faults.drop("DescribeAcls", after=True, times=1):
        assert isinstance(describe(client), Closed)
        with FrameClient(server.bootstrap_servers) as again:
            assert describe(again).error_code == 0


def test_faults_come_together(server: AnyServer, client: FrameClient) -> None:
    """A delay and an error on one API: first the one, then the other."""
    began_s = time.monotonic()

    with (
        server.faults.delay("DescribeAcls", ms=DELAY_MS),
        server.faults.error("DescribeAcls", 7),
    ):
        answer = describe(client)

    assert answer.error_code == 7
    assert time.monotonic() - began_s >= DELAY_MS / 1000


def login(server: AnyServer, user: str, password: str) -> Any:
    """Log in by PLAIN; return the last answer."""
    with FrameClient(server.address("SASL_PLAINTEXT")) as client:
        hand = client.ask(SaslHandshakeRequest(mechanism="PLAIN"), SaslHandshakeResponse, 1)
        if isinstance(hand, Closed):
            return hand
        token = f"\0{user}\0{password}".encode()
        return client.ask(SaslAuthenticateRequest(auth_bytes=token), SaslAuthenticateResponse, 2)


def test_a_user_is_refused_as_with_a_wrong_password(server: AnyServer) -> None:
    """The answer is the one to a wrong password; others log in, and later the user too."""
    with server.faults.refuse_login("alice") as fault:
        refused, other = login(server, "alice", "pw"), login(server, "admin", "admin-secret")
    wrong, right = login(server, "alice", "wrong"), login(server, "alice", "pw")

    assert refused.error_code == SASL_AUTHENTICATION_FAILED
    assert refused == wrong
    assert (other.error_code, right.error_code, fault.struck) == (0, 0, 1)


@pytest.mark.parametrize("api", ["SaslHandshake", "SaslAuthenticate"])
def test_a_login_can_be_delayed_and_dropped(server: AnyServer, api: str) -> None:
    """The requests of a login are held, or end the connection, as others are."""
    began_s = time.monotonic()
    with server.faults.delay(api, ms=DELAY_MS):
        slow = login(server, "alice", "pw")
    took_s = time.monotonic() - began_s
    with server.faults.drop(api):
        lost = login(server, "alice", "pw")

    assert (slow.error_code, isinstance(lost, Closed)) == (0, True)
    assert took_s >= DELAY_MS / 1000


def test_versions_can_be_refused(server: AnyServer, client: FrameClient) -> None:
    """ApiVersions answers with the error that a test asks for."""
    with server.faults.error("ApiVersions", "UNSUPPORTED_VERSION"):
        answer = client.ask(
            ApiVersionsRequest(client_software_name="a", client_software_version="1"),
            ApiVersionsResponse,
            0,
        )

    assert answer.error_code == 35
