"""Kafka's Java clients, from release 2.1 to the newest, as administrators and as producers.

Those before 2.8 give up on a server that does not list Produce, whatever they want of it.
"""

from collections.abc import Iterator

import pytest

from doorkeeper.server.api.produce import NO_RECORDS
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.java_lines import client_calls
from testkit.kafka_broker import free_port
from testkit.kafka_jars import client_jars
from testkit.or_skip import or_skip

RELEASES = (
    *("2.1.1", "2.4.1", "2.5.1", "2.7.2", "2.8.2"),
    *("3.0.2", "3.6.2", "3.9.1", "4.3.1", "4.4.0"),
)

"""All calls of a release, on a busy machine too."""

STOCK = "Request parameters do not satisfy the configured policy."


@pytest.fixture(scope="module")
def server() -> Iterator[DoorkeeperServer]:
    port = free_port()
    listener = f"PLAINTEXT://localhost:{port}"
    authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    properties = {
        "listeners": listener,
        "authorizer.class.name": authorizer,
        "super.users": "User:ANONYMOUS",
    }
    running = DoorkeeperServer(properties, ports=(port,))
    running.start()
    yield running
    running.stop()
    running.close()


@pytest.mark.parametrize("release", RELEASES)
def test_java_client_release(server: DoorkeeperServer, release: str) -> None:
    jars = or_skip(lambda: client_jars(release))
    name = f"client-{release}"

    printed = client_calls(jars, f"localhost:{server.ports[0]}", name)

    assert printed == {
        "nodes": "1",
        "topic": "true",
        "deleted": "1",
        "left": "0",
        "topics": "true",
        # The response has a text since 2.4; producers show it since 2.6.
        "plain": f"PolicyViolationException: {STOCK if release < '2.6' else NO_RECORDS}",
        "idempotent": f"PolicyViolationException: {STOCK if release < '2.6' else NO_RECORDS}",
    }
