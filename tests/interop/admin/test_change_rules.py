"""What a command refuses to do to a real broker, and the order in which it changes one."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper.acls.formats.choosing import Format, write
from doorkeeper.acls.model import CLUSTER_NAME, AclOperation
from doorkeeper.cli.commands import doorkeeper
from doorkeeper.client.admin import AdminClient
from doorkeeper.client.config import ClientConfig
from testkit.acl import PREFIXED, READ, allow, cluster, deny, topic
from testkit.kafka_jars import Unavailable, cannot
from testkit.kafka_target import kafka_target

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result

    from doorkeeper.acls.model import AclBinding
    from testkit.kafka_target import Target

ALICE = allow("alice", AclOperation.ALTER, cluster(CLUSTER_NAME))
BOB = allow("bob", AclOperation.ALTER, cluster(CLUSTER_NAME))
EVERYONE = allow("*", READ, topic("a"))
NOT_MALLORY = deny("mallory", READ, topic("a", PREFIXED))
OTHERS = [allow(f"user-{number:04}", READ, topic("a")) for number in range(1500)]
"""More than a request has, and in the order of fields between the two above."""

ADMINISTRATORS = (ALICE, BOB)
WATCH_S = 30


class Broker:
    """A broker that allows everyone what no ACL is about, and commands of some users."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.target = target
        self._folder = folder

    def run(self, *words: str, user: str | None = None) -> Result:
        config = self.target.config(user)
        address = config.pop("bootstrap.servers")
        file = self._folder / f"{user}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
        live = [f"kafka://{address}", "--command-config", str(file)]
        return CliRunner().invoke(doorkeeper, ["acls", *words, *live], input="")

    def apply(self, *bindings: AclBinding, user: str | None = None, accept: str = "") -> Result:
        wanted = self._folder / "wanted.csv"
        wanted.write_text(write(list(bindings), Format.CSV))
        accepted = ["--accept", accept] if accept else []
        words = ("apply", str(wanted), "--whole", "--yes", "--max-removals", "9999", *accepted)
        return self.run(*words, user=user)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    try:
        target = kafka_target(allow_everyone_if_no_acl_found="true")
    except Unavailable as missing:
        cannot(str(missing))
    yield Broker(target, tmp_path_factory.mktemp("clients"))
    target.close()


def test_login_does_not_lock_itself_out(broker: Broker) -> None:
    assert broker.apply(*ADMINISTRATORS).exit_code == 0

    refused = broker.apply(BOB, user="alice")
    removal = ("remove", "--force", "--allow-principal", "User:alice", "--operation", "Alter")
    also = broker.run(*removal, "--cluster", user="alice")
    before = broker.run("list", user="alice")
    done = broker.apply(BOB, user="alice", accept="lock-out")
    after = broker.run("list", user="alice")

    for each in (refused, also):
        assert each.exit_code == 1
        assert "User:alice would lose ALTER and DESCRIBE on the cluster" in each.stderr
        assert "--accept lock-out" in each.stderr
    assert (before.exit_code, done.exit_code, after.exit_code) == (0, 0, 1)
    assert "your principal does not have it" in after.stderr


def test_last_acl_of_a_resource_is_named(broker: Broker) -> None:
    assert broker.apply(BOB, EVERYONE).exit_code == 0

    removed = broker.run("remove", "--force", "--topic", "a")

    assert removed.exit_code == 0
    assert "the last ACL of TOPIC 'a' would be removed" in removed.stderr


def test_no_intermediate_state_is_wider_than_both_ends(broker: Broker) -> None:
    assert broker.apply(BOB).exit_code == 0
    ends, seen = threading.Event(), [0, 0]

    async def watch() -> None:
        async with AdminClient(ClientConfig(bootstrap=broker.target.plain)) as client:
            while not ends.is_set():
                acls = set(await client.describe_acls())
                seen[0] += 1
                seen[1] += EVERYONE in acls and NOT_MALLORY not in acls

    watcher = threading.Thread(target=lambda: asyncio.run(watch()))
    watcher.start()
    try:
        added = broker.apply(BOB, EVERYONE, NOT_MALLORY, *OTHERS)
        removed = broker.apply(BOB)
    finally:
        ends.set()
        watcher.join(WATCH_S)

    assert (added.exit_code, removed.exit_code) == (0, 0)
    assert seen[0] > 5
    assert seen[1] == 0
