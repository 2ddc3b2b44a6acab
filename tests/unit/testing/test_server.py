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


def test_server_serves_its_configuration() -> None:
    with DoorkeeperServer(acls=[READ]) as server:
        assert listed(server) == server.acls() == [BINDING]

        more = {**READ, "operation": "WRITE"}
        server.add_acls([more])
        assert listed(server) == server.acls() == [BINDING, *bindings_of([more])]

        server.remove_acls([READ, {**READ, "name": "never was there"}])
        assert server.acls() == bindings_of([more])

        server.clear()
        assert listed(server) == server.acls() == []


def test_decisions_follow_changes() -> None:
    with DoorkeeperServer() as server:
        assert server.denies("User:alice", "READ", topic="orders")
        assert server.allows("User:ANONYMOUS", "READ", topic="orders")

        server.add_acls([READ])

        assert server.allows("User:alice", "Describe", topic="orders")
        assert server.explain("User:alice", "READ", topic="orders").decision.binding == BINDING


def test_rejected_acl_raises() -> None:
    odd = BINDING._replace(entry=BINDING.entry._replace(principal="alice"))
    with DoorkeeperServer() as server, pytest.raises(ApiError, match="principal"):
        server.add_acls([odd])


def test_reset_restores_the_initial_state() -> None:
    with DoorkeeperServer(acls=[READ]) as server:
        server.add_acls([{**READ, "name": "more"}])
        fault = server.faults.drop("DescribeAcls")
        fault.__enter__()
        first = server.bootstrap_servers

        server.reset()

        assert listed(server) == [BINDING]
        assert first


def test_stopped_server_leaves_nothing() -> None:
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
        with pytest.raises(RuntimeError, match="the server is not running"):
            ask()
    assert repr(server) == "<DoorkeeperServer stopped>"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_users_authenticate(mechanism: str) -> None:
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
def test_tls_certificates_are_generated(listener: str) -> None:
    with DoorkeeperServer(listeners=[listener], acls=[READ]) as server:
        assert listed(server) == [BINDING]
        server.reset()
        assert listed(server) == [BINDING]


def test_certificate_is_a_principal() -> None:
    with DoorkeeperServer(listeners=["MTLS"], super_users=["User:CN=alice"]) as server:
        assert listed(server, "alice") == []
        with pytest.raises(Exception, match="CLUSTER_AUTHORIZATION_FAILED"):
            listed(server, "bob")


def test_custom_authorizer() -> None:
    name = f"{InMemory.__module__}.{InMemory.__name__}"
    with DoorkeeperServer(properties={"authorizer.class.name": name}) as server:
        answer = server.allows("User:alice", "READ", topic="orders")

        assert repr(answer) == "<User:alice is allowed READ on TOPIC 'orders' from 127.0.0.1>"
        assert not isinstance(server.authorizer, StandardAuthorizer)
        with pytest.raises(TypeError, match="StandardAuthorizer"):
            server.explain("User:alice", "READ", topic="orders")


def test_without_authorizer_everything_is_allowed() -> None:
    with DoorkeeperServer(properties={"authorizer.class.name": ""}) as server:
        assert server.allows("User:alice", "READ", topic="orders")
        with pytest.raises(TypeError, match="there are no ACLs"):
            server.acls()


def test_failed_start_is_explained() -> None:
    threads = threading.active_count()

    with pytest.raises(ConfigError, match=r"num\.partitions"):
        DoorkeeperServer(properties={"num.partitions": "x"}).start()
    with pytest.raises(StartError, match=r"no\.such\.Authorizer"):
        DoorkeeperServer(properties={"authorizer.class.name": "no.such.Authorizer"}).start()

    assert threading.active_count() == threads


def test_log_uses_python_logging(caplog: pytest.LogCaptureFixture) -> None:
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
        ({}, {"user": "alice"}, "all clients are User:ANONYMOUS on PLAINTEXT"),
        ({}, {"listener": "SSL"}, "listener: found 'SSL'; allowed: PLAINTEXT"),
        ({"users": {"a": "b"}}, {"user": "x"}, "user: found 'x'; allowed: admin, a"),
        ({"users": {"a": "b"}}, {"mechanism": "GSSAPI"}, "mechanism: found 'GSSAPI'"),
    ],
)
def test_impossible_client_is_rejected(
    options: dict[str, Any], asked: dict[str, Any], text: str
) -> None:
    with (
        DoorkeeperServer(**options) as server,
        pytest.raises(ValueError, match=text),
    ):
        server.client_config(**asked)
