"""The least ACLs of a client of a test server, and the assertion that prints the difference."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaProducer
from kafka.errors import KafkaError

from doorkeeper.authorizer.contract import AuthorizationResult
from doorkeeper.authorizer.standard import StandardAuthorizer
from doorkeeper.testing import DoorkeeperServer
from testkit.acl import DESCRIBE, READ, WRITE, allow, topic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.authorizer.contract import Action
    from doorkeeper.request_context import AuthorizableRequestContext

SVC = "User:svc"
MAY_WRITE = allow("svc", WRITE, topic("orders"))
MAY_READ = allow("svc", READ, topic("orders"))


def run_service(**options: Any) -> DoorkeeperServer:
    """Return a server, still running, to which a producer has written a record."""
    server = DoorkeeperServer(users={"svc": "secret"}, topics=["orders"], records=True, **options)
    server.start()
    settings = server.client_config("svc").kafka_python()
    with closing(KafkaProducer(**settings, max_block_ms=10_000)) as producer:
        producer.send("orders", b"an order").get(10)
    return server


def test_the_least_acls_of_a_producer() -> None:
    """With ``learn`` all is allowed; an idempotent producer needs WRITE on its topic only."""
    with run_service(learn=True) as server:
        assert server.least_acls(SVC) == [MAY_WRITE]
        assert server.least_acls("User:admin") == []
        assert server.allows(SVC, "READ", topic="payments")
        server.assert_least_acls(SVC, [MAY_WRITE])


def test_the_assertion_names_what_is_missing_and_what_is_not_needed() -> None:
    """The missing ACL has the requests that need it."""
    with run_service(learn=True) as server, pytest.raises(AssertionError) as caught:
        server.assert_least_acls(SVC, [MAY_READ])

    first, missing, unneeded = str(caught.value).splitlines()
    assert first == "the least ACLs of User:svc are others:"
    assert missing.startswith("  missing: ALLOW User:svc WRITE on LITERAL TOPIC 'orders' from * ")
    assert " for Produce: WRITE (1 time)" in missing
    assert unneeded == "  not needed: ALLOW User:svc READ on LITERAL TOPIC 'orders' from *"


def test_a_refusal_before_a_topic_is_named() -> None:
    """The denial says that WRITE on some topic, or IDEMPOTENT_WRITE on the cluster, is missing."""
    options: Any = {"users": {"svc": "secret"}, "topics": ["orders"], "records": True}
    with DoorkeeperServer(acls=[allow("svc", DESCRIBE, topic("orders"))], **options) as server:
        settings = server.client_config("svc").kafka_python()
        with (
            closing(KafkaProducer(**settings, max_block_ms=2_000)) as producer,
            pytest.raises(KafkaError),
        ):
            producer.send("orders", b"an order").get(10)

        found = [each for each in server.denied(SVC) if each.on_any]

    assert repr(found[0]) == (
        "<User:svc was denied WRITE on any TOPIC in InitProducerId because no ACL allows it on a"
        " topic, nor IDEMPOTENT_WRITE on the cluster: a producer is asked before it names its"
        " topic>"
    )


def test_what_a_test_asks_is_no_request() -> None:
    """It is neither needed by the principal nor refused to it."""
    with DoorkeeperServer(learn=True) as server:
        assert server.allows(SVC, "READ", topic="orders")

        assert server.least_acls(SVC) == []
        assert server.denied(SVC) == []


class RefusesAll(StandardAuthorizer):
    """An authorizer of a user."""

    def authorize(
        self,
        context: AuthorizableRequestContext,
        actions: Sequence[Action],
    ) -> list[AuthorizationResult]:
        return [AuthorizationResult.DENIED for _ in actions]


def test_a_refusal_that_a_test_asks_for_is_none() -> None:
    """Any authorizer may be asked; only requests of clients are refused."""
    name = f"{__name__}.{RefusesAll.__name__}"
    with DoorkeeperServer(properties={"authorizer.class.name": name}) as server:
        assert server.denies(SVC, "READ", topic="orders")

        assert server.denied(SVC) == []
