"""docker/compose.dev.yaml, and the image in Testcontainers, as docs/how-to/develop.md has both."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    KafkaAdminClient,
    ResourcePattern,
    ResourceType,
)
from kafka.errors import TopicAuthorizationFailedError

from testkit.checkout import ROOT
from testkit.kafka_broker import free_port
from testkit.podman import PATIENCE_S, Compose, Podman, healthy, until

PAGE = ROOT / "docs" / "how-to" / "develop.md"
CONTAINER = "doorkeeper-dev_doorkeeper_1"


@pytest.fixture
def port(podman: Podman, image: str) -> Iterator[int]:
    """Start what a developer starts, at a free port; give the port."""
    assert image.endswith(":latest")
    found = free_port()
    file = ROOT / "docker" / "compose.dev.yaml"
    with Compose(podman, file, DOORKEEPER_PORT=str(found)) as stack:
        stack.up()
        until(lambda: healthy(podman, CONTAINER), lambda: podman.run("logs", CONTAINER).stderr)
        yield found


def login(port: int, name: str) -> dict[str, object]:
    return {
        "bootstrap_servers": f"localhost:{port}",
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": name,
        "sasl_plain_password": f"{name}-secret",
    }


def sent(port: int, name: str) -> None:
    """Send a record to the topic orders; raise what the server says."""
    settings = {**login(port, name), "enable_idempotence": False}
    with closing(KafkaProducer(**settings)) as producer:
        producer.send("orders", b"an order").get(PATIENCE_S)


def test_clients_are_denied_then_granted(port: int) -> None:
    """Records are written and read as soon as ACLs say so, and not before."""
    orders = ResourcePattern(ResourceType.TOPIC, "orders")
    billing = ResourcePattern(ResourceType.GROUP, "billing")
    with closing(KafkaAdminClient(**login(port, "admin"))) as admin:
        admin.create_topics({"orders": {"num_partitions": 1, "replication_factor": 1}})
        with pytest.raises(TopicAuthorizationFailedError):
            sent(port, "alice")
        allow = ACLPermissionType.ALLOW
        admin.create_acls(
            [
                ACL("User:alice", "*", ACLOperation.WRITE, allow, orders),
                ACL("User:bob", "*", ACLOperation.READ, allow, orders),
                ACL("User:bob", "*", ACLOperation.READ, allow, billing),
            ]
        )
    sent(port, "alice")
    with closing(
        KafkaConsumer(
            "orders", **login(port, "bob"), group_id="billing", auto_offset_reset="earliest"
        )
    ) as consumer:
        assert next(consumer).value == b"an order"


@pytest.fixture
def socket(podman: Podman) -> Iterator[str]:
    """Give the address at which podman speaks Docker's protocol."""
    path = podman.folder / "podman.sock"
    path.unlink(missing_ok=True)
    service = subprocess.Popen(
        ["podman", "system", "service", "--time", "0", f"unix://{path}"],
        env=podman.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(path.exists)
        yield f"unix://{path}"
    finally:
        service.terminate()
        service.wait()


def test_testcontainers_example_passes(socket: str, image: str, tmp_path: Path) -> None:
    [example] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "test_example.py").write_text(example)
    (tmp_path / "docker").symlink_to(ROOT / "docker")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_example.py"],
        # The helper that removes left containers is an image of its own, of a registry.
        env={**os.environ, "DOCKER_HOST": socket, "TESTCONTAINERS_RYUK_DISABLED": "true"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert image.endswith(":latest")
    assert "1 passed" in done.stdout, done.stdout + done.stderr
