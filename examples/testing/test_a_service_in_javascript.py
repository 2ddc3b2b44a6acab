"""A service in another language, configured by environment variables: here Node.js with kafkajs.

pip install . pytest    # in the folder of a checkout
npm install kafkajs
pytest examples/testing/test_a_service_in_javascript.py
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from doorkeeper.testing import DoorkeeperServer

SERVICE = Path(__file__).with_name("service.js")
NO_PERMISSION = 77
"""The status of the service where Kafka refuses its record."""

MAY_WRITE = {
    "resourceType": "TOPIC",
    "name": "orders",
    "principal": "User:svc",
    "operation": "WRITE",
}
MAY_DESCRIBE = {**MAY_WRITE, "operation": "DESCRIBE"}

pytestmark = pytest.mark.doorkeeper(
    users={"svc": "svc-secret"}, topics=["orders"], records=True, mechanisms=["PLAIN"]
)


def run_service(server: DoorkeeperServer) -> subprocess.CompletedProcess[str]:
    """Run the service to its end."""
    settings = server.client_config("svc")
    environment = {
        **os.environ,
        "KAFKA_BOOTSTRAP_SERVERS": settings.bootstrap_servers,
        "KAFKA_USER": "svc",
        "KAFKA_PASSWORD": "svc-secret",
    }
    return subprocess.run(
        ["node", str(SERVICE)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.doorkeeper(acls=[MAY_DESCRIBE])
def test_the_service_says_that_it_is_refused(doorkeeper_server: DoorkeeperServer) -> None:
    """Its status is its own; the server knows which permission is missing."""
    with doorkeeper_server.expect_denied("User:svc", "WRITE", topic="orders"):
        done = run_service(doorkeeper_server)

    assert (done.returncode, done.stderr) == (NO_PERMISSION, "TOPIC_AUTHORIZATION_FAILED\n")


@pytest.mark.doorkeeper(learn=True)
def test_the_acls_of_the_service_are_the_least(doorkeeper_server: DoorkeeperServer) -> None:
    """They stand in the repository of the service; this test keeps them true."""
    done = run_service(doorkeeper_server)

    assert (done.returncode, done.stderr) == (0, "")
    doorkeeper_server.assert_least_acls("User:svc", [MAY_WRITE])
