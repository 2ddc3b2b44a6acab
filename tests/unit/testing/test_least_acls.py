"""The least ACLs of a client of a test server, and the assertion that prints the difference."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from kafka import KafkaProducer

from doorkeeper.testing import DoorkeeperServer
from testkit.acl import READ, WRITE, allow, topic

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


def test_minimal_acls_of_a_producer() -> None:
    """With ``learn`` all is allowed; an idempotent producer needs WRITE on its topic only."""
    with run_service(learn=True) as server:
        assert server.least_acls(SVC) == [MAY_WRITE]
        assert server.least_acls("User:admin") == []
        assert server.allows(SVC, "READ", topic="payments")
        server.assert_least_acls(SVC, [MAY_WRITE])


def test_assertion_lists_missing_and_unneeded_acls() -> None:
    with run_service(learn=True) as server, pytest.raises(AssertionError) as caught:
        server.assert_least_acls(SVC, [MAY_READ])

    first, missing, unneeded = str(caught.value).splitlines()
    assert first == "found other minimal ACLs for User:svc:"
    assert missing.startswith("  missing: ALLOW User:svc WRITE on LITERAL TOPIC 'orders' from * ")
    assert " for Produce: WRITE (1 time)" in missing
    assert unneeded == "  not needed: ALLOW User:svc READ on LITERAL TOPIC 'orders' from *"


def test_test_questions_are_not_requests() -> None:
    with DoorkeeperServer(learn=True) as server:
        assert server.allows(SVC, "READ", topic="orders")

        assert server.least_acls(SVC) == []
        assert server.denied(SVC) == []
