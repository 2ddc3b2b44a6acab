"""Real brokers that get the ACLs of a Doorkeeper, with foreign edits by kafka-acls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.acl.formats import listing
from doorkeeper.acl.model import exactly
from doorkeeper.client import AdminClient, ClientConfig
from testkit.acl import READ, WRITE, allow, deny, group, topic
from testkit.kafka_jars import Unavailable, cannot, jars
from testkit.kafka_target import Target, kafka_target
from testkit.kafka_tools import KafkaTools
from testkit.synchronized import cluster, doorkeeper, eventually, status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from doorkeeper.acl.model import AclBinding

RELEASES = ("3.9.1", "4.3.1", "4.4.0")
OURS = [
    allow("alice", READ, topic("pay-in")),
    deny("eve", WRITE, topic("pay-in"), "10.0.0.1"),
    allow("alice", READ, group("pay-readers")),
]
FOREIGN = allow("dora", READ, topic("hr-1"))


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest) -> Iterator[Target]:
    """Give a broker of each release."""
    try:
        running = kafka_target(request.param)
    except Unavailable as missing:
        cannot(str(missing))
    yield running
    running.close()


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    """Give Kafka's tools."""
    try:
        found = KafkaTools(jars("4.3.1"))
    except Unavailable as missing:
        cannot(str(missing))
    yield found
    found.close()


def listed(tools: KafkaTools, kafka: Target) -> set[AclBinding]:
    """Return what ``kafka-acls --list`` shows."""
    done = tools.run("kafka-acls", "--bootstrap-server", kafka.plain, "--list")
    assert done.status == 0, done.text
    return set(listing.read(done.stdout))


def edit(tools: KafkaTools, kafka: Target, action: str, user: str, name: str) -> None:
    """Add or remove an ACL as an administrator of the cluster does."""
    words = ("--allow-principal", f"User:{user}", "--operation", "Read", "--topic", name)
    sure = ("--force",) if action == "--remove" else ()
    done = tools.run("kafka-acls", "--bootstrap-server", kafka.plain, action, *words, *sure)
    assert done.status == 0, done.text


@pytest.mark.slow
def test_foreign_edits_are_reverted_within_the_scope(
    kafka: Target, tools: KafkaTools, tmp_path: Path
) -> None:
    """``kafka-acls --list`` shows the desired set, and what is outside the scope as it was."""
    edit(tools, kafka, "--add", "dora", "hr-1")
    scope = {"scope": {"prefixes": ["pay-"]}}
    with doorkeeper(tmp_path, cluster("a", kafka.plain, **scope), acls=OURS) as server:
        eventually(lambda: status(server)["revision"] == 0, lambda: status(server))
        assert listed(tools, kafka) == {*OURS, FOREIGN}

        for number in range(5):
            edit(tools, kafka, "--add", f"mallory-{number}", "pay-in")
            edit(tools, kafka, "--remove", "alice", "pay-in")
            eventually(lambda: listed(tools, kafka) == {*OURS, FOREIGN}, lambda: status(server))

        server.remove_acls(OURS)
        eventually(lambda: listed(tools, kafka) == {FOREIGN}, lambda: status(server))
    edit(tools, kafka, "--remove", "dora", "hr-1")


@pytest.mark.slow
async def test_no_acknowledged_change_is_not_enforced(kafka: Target, tmp_path: Path) -> None:
    """A broker applies changes a little after its controller has acknowledged them."""
    scope = {"scope": {"prefixes": ["pay-"]}}
    with doorkeeper(
        tmp_path, cluster("a", kafka.plain, **scope), doorkeeper_acknowledge="clusters"
    ) as server:
        async with (
            AdminClient(ClientConfig(bootstrap=server.bootstrap_servers)) as mine,
            AdminClient(ClientConfig(bootstrap=kafka.plain)) as theirs,
        ):
            for number in range(30):
                binding = allow(f"user-{number}", READ, topic("pay-in"))
                (created,) = await mine.create_acls([binding])
                assert created.error is None
                assert await theirs.describe_acls() == sorted(server.acls())
            for binding in server.acls():
                (deleted,) = await mine.delete_acls([exactly(binding)])
                assert deleted.error is None
                assert binding not in await theirs.describe_acls()
