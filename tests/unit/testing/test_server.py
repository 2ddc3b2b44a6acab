"""A server inside the test's own process."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.base.config_errors import ConfigError
from doorkeeper.base.errors import ApiError
from doorkeeper.client import AdminClient, LoginRefused
from doorkeeper.server.app.errors import StartError
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.testing import DoorkeeperServer
from doorkeeper.testing.acl_options import bindings_of
from testkit.plugins import InMemory

if TYPE_CHECKING:
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.testing.any_server import AnyServer

READ = {
    "resourceType": "TOPIC",
    "name": "orders",
    "principal": "User:alice",
    "operation": "READ",
}
(BINDING,) = bindings_of([READ])


def listed(
    server: AnyServer, user: str | None = None, mechanism: str | None = None
) -> list[AclBinding]:
    """Return what a client is told."""

    async def describe() -> list[AclBinding]:
        config = server.client_config(user, mechanism=mechanism).doorkeeper()
        async with AdminClient(config) as admin:
            return await admin.describe_acls()

    return asyncio.run(describe())


def test_it_serves_what_it_began_with() -> None:
    """Clients see the ACLs that were given, and those that are added and removed later."""
    with DoorkeeperServer(acls=[READ]) as server:
        assert listed(server) == server.acls() == [BINDING]

        more = {**READ, "operation": "WRITE"}
        server.add_acls([more])
        assert listed(server) == server.acls() == [BINDING, *bindings_of([more])]

        server.remove_acls([READ, {**READ, "name": "never was there"}])
        assert server.acls() == bindings_of([more])

        server.clear()
        assert listed(server) == server.acls() == []


def test_decisions_are_the_servers_own() -> None:
    """allows, denies and explain follow each change at once."""
    with DoorkeeperServer() as server:
        assert server.denies("User:alice", "READ", topic="orders")
        assert server.allows("User:ANONYMOUS", "READ", topic="orders")

        server.add_acls([READ])

        assert server.allows("User:alice", "Describe", topic="orders")
        assert server.explain("User:alice", "READ", topic="orders").decision.binding == BINDING


def test_a_refused_acl_is_an_error() -> None:
    """What the server refuses is raised with the server's text."""
    odd = BINDING._replace(entry=BINDING.entry._replace(principal="alice"))
    with DoorkeeperServer() as server, pytest.raises(ApiError, match="principal"):
        server.add_acls([odd])


def test_a_reset_leaves_nothing() -> None:
    """After a reset there is what was there in the beginning, and no fault."""
    with DoorkeeperServer(acls=[READ]) as server:
        server.add_acls([{**READ, "name": "more"}])
        fault = server.faults.drop("DescribeAcls")
        fault.__enter__()
        first = server.bootstrap_servers

        server.reset()

        assert listed(server) == [BINDING]
        assert first


def test_the_end_is_the_end() -> None:
    """Afterwards nobody listens, no thread is left, and asking for it says what to do."""
    threads = threading.active_count()
    server = DoorkeeperServer()
    server.start()
    server.start()
    port = int(server.bootstrap_servers.rpartition(":")[2])

    server.close()
    server.close()

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=1)
    assert threading.active_count() == threads
    assert not server.is_running
    for ask in (server.acls, lambda: server.faults, lambda: server.bootstrap_servers):
        with pytest.raises(RuntimeError, match="the server does not run"):
            ask()
    assert repr(server) == "<DoorkeeperServer stopped>"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_users_log_in(mechanism: str) -> None:
    """Each user logs in by each mechanism; what they may do is what ACLs say."""
    users = {"alice": 'p"w \\ \u00e9', "admin": "mine"}
    with DoorkeeperServer(users=users, acls=[READ]) as server:
        assert listed(server, "admin", mechanism) == [BINDING]
        with pytest.raises(Exception, match="CLUSTER_AUTHORIZATION_FAILED"):
            listed(server, "alice", mechanism)
        with (
            server.faults.refuse_login("alice"),
            pytest.raises(LoginRefused),
        ):
            listed(server, "alice", mechanism)


@pytest.mark.parametrize("listener", ["SASL_SSL", "MTLS"])
def test_tls_is_made_on_the_fly(listener: str) -> None:
    """Clients with the certificates that they are given are let in, over each kind of TLS."""
    with DoorkeeperServer(listeners=[listener], acls=[READ]) as server:
        assert listed(server) == [BINDING]
        server.reset()
        assert listed(server) == [BINDING]


def test_a_certificate_is_a_principal() -> None:
    """With mutual TLS a client is who its certificate says."""
    with DoorkeeperServer(listeners=["MTLS"], super_users=["User:CN=alice"]) as server:
        assert listed(server, "alice") == []
        with pytest.raises(Exception, match="CLUSTER_AUTHORIZATION_FAILED"):
            listed(server, "bob")


def test_another_authorizer_decides() -> None:
    """An authorizer of one's own is asked on its own loop; its decisions have no explanation."""
    name = f"{InMemory.__module__}.{InMemory.__name__}"
    with DoorkeeperServer(properties={"authorizer.class.name": name}) as server:
        answer = server.allows("User:alice", "READ", topic="orders")

        assert repr(answer) == "<User:alice is allowed READ on TOPIC 'orders' from 127.0.0.1>"
        assert not isinstance(server.authorizer, StandardAuthorizer)
        with pytest.raises(TypeError, match="StandardAuthorizer"):
            server.explain("User:alice", "READ", topic="orders")


def test_without_an_authorizer_everything_is_allowed() -> None:
    """A server without an authorizer denies nothing, and has no ACLs."""
    with DoorkeeperServer(properties={"authorizer.class.name": ""}) as server:
        assert server.allows("User:alice", "READ", topic="orders")
        with pytest.raises(TypeError, match="there are no ACLs"):
            server.acls()


def test_what_does_not_start_says_why() -> None:
    """Wrong keys and an authorizer that is none stop the start; no thread is left."""
    threads = threading.active_count()

    with pytest.raises(ConfigError, match=r"num\.partitions"):
        DoorkeeperServer(properties={"num.partitions": "x"}).start()
    with pytest.raises(StartError, match=r"no\.such\.Authorizer"):
        DoorkeeperServer(properties={"authorizer.class.name": "no.such.Authorizer"}).start()

    assert threading.active_count() == threads


def test_its_log_is_pythons(caplog: pytest.LogCaptureFixture) -> None:
    """Audit lines and events are records that a test can look at."""
    caplog.set_level(logging.INFO, "kafka.authorizer.logger")
    with (
        DoorkeeperServer(super_users=[]) as server,
        pytest.raises(Exception, match="CLUSTER_AUTHORIZATION_FAILED"),
    ):
        listed(server)

    assert "User:ANONYMOUS is Denied operation = DESCRIBE" in caplog.text


@pytest.mark.parametrize(
    ("options", "asked", "text"),
    [
        ({}, {"user": "alice"}, "everybody is User:ANONYMOUS on PLAINTEXT"),
        ({}, {"listener": "SSL"}, "listener: found 'SSL'; allowed: PLAINTEXT"),
        ({"users": {"a": "b"}}, {"user": "x"}, "user: found 'x'; allowed: admin, a"),
        ({"users": {"a": "b"}}, {"mechanism": "GSSAPI"}, "mechanism: found 'GSSAPI'"),
    ],
)
def test_a_client_that_cannot_be_is_refused(
    options: dict[str, Any], asked: dict[str, Any], text: str
) -> None:
    """What nobody could connect as is told when the test asks for it."""
    with (
        DoorkeeperServer(**options) as server,
        pytest.raises(ValueError, match=text),
    ):
        server.client_config(**asked)
