"""``doorkeeper clusters``, with clusters that are Doorkeepers."""

from __future__ import annotations

import asyncio
import json
from shutil import rmtree
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.client.errors import ClientError
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import ACL
from doorkeeper.sync.drift import NO_DRIFT, AclDrift
from doorkeeper.sync.remote import RemoteCluster
from testkit.acl import READ, WRITE, allow, topic
from testkit.stores import fill
from testkit.synchronized import cluster, target

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from doorkeeper.sync.remote import Answers
    from doorkeeper.testing import DoorkeeperServer

ALICE = allow("alice", READ, topic("pay-in"))
BOB = allow("bob", WRITE, topic("pay-out"))
CAROL = allow("carol", READ, topic("hr-1"))
ADOPT = ("clusters", "adopt")
CHANGES = [
    "a: + ALLOW READ on LITERAL TOPIC 'pay-in' for User:alice from *",
    "a: - ALLOW WRITE on LITERAL TOPIC 'pay-out' for User:bob from *",
]
"""What would make the cluster equal to the store: drift and adopt show the same."""
STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@pytest.fixture(scope="module")
def server() -> Iterator[DoorkeeperServer]:
    with target() as server:
        yield server


@pytest.fixture
def kafka(server: DoorkeeperServer) -> DoorkeeperServer:
    """Return a cluster that lacks alice's ACL, and has bob's and carol's."""
    server.clear()
    server.add_acls([BOB, CAROL])
    return server


@pytest.fixture
def config(tmp_path: Path, kafka: DoorkeeperServer) -> Path:
    return configure(tmp_path, kafka.bootstrap_servers)


def configure(tmp_path: Path, bootstrap_servers: str) -> Path:
    """Return the configuration of a stopped server with alice's ACL and one cluster."""
    clusters = tmp_path / "clusters.yaml"
    declare(tmp_path, bootstrap_servers)
    file = tmp_path / "server.properties"
    file.write_text(
        f"authorizer.class.name={STANDARD}\nnode.id=1\nsuper.users=User:ANONYMOUS\n"
        f"doorkeeper.data.dir={tmp_path / 'data'}\ndoorkeeper.clusters.file={clusters}\n"
    )
    asyncio.run(fill(tmp_path / "data", edit(ACL, set=[StoredBinding("a" * 22, ALICE)])))
    return file


def declare(tmp_path: Path, bootstrap_servers: str, **keys: str) -> None:
    """Write the file of clusters: one, which belongs to no store."""
    scope = {"prefixes": ["pay-"]}
    entry = cluster("a", bootstrap_servers, scope=scope, limits={"max.removals": 0})
    del entry["store"]
    file = tmp_path / "clusters.yaml"
    file.write_text(json.dumps({"clusters": [entry | keys]}), encoding="utf-8")


def adopt(config: Path, kafka: DoorkeeperServer) -> str:
    """Give the cluster to the store; return the store's id."""
    store_id = str(json.loads(run(*ADOPT, f"config:{config}", "--output", "json")[1])["store"])
    declare(config.parent, kafka.bootstrap_servers, store=store_id)
    return store_id


def run(*words: str) -> tuple[int, str, str]:
    """Return the status and the outputs of a command."""
    done = CliRunner().invoke(doorkeeper, words, prog_name="doorkeeper")
    return done.exit_code, done.stdout, done.stderr


def test_drift_exits_with_3(config: Path) -> None:
    """Status 3, so that a script notices; what is outside the scope is none; + would be added."""
    code, text, _ = run("clusters", "drift", f"config:{config}")
    assert code == 3
    assert text.splitlines() == [
        *CHANGES,
        "a: Difference: 1 only in revision 1 of the store (+), 1 only in a (-); 0 in both",
    ]

    code, text, _ = run("clusters", "drift", f"config:{config}", "--output", "json")
    (found,) = json.loads(text)["clusters"]
    assert code == 3
    assert (found["inForce"], found["outside"]) == (False, 1)
    assert found["brokers"] == {"1": "1 missing, 1 extra"}


def test_adopt_prints_the_required_line(config: Path, kafka: DoorkeeperServer) -> None:
    code, text, _ = run("clusters", "status", f"config:{config}")
    assert code == 3
    assert "a (enforce): the cluster belongs to no store, but this is store " in text

    code, text, _ = run(*ADOPT, f"config:{config}")
    *rows, sentence, line, pinned = text.splitlines()
    assert (code, rows) == (0, CHANGES)
    assert "would add 1 ACLs, remove 1, and keep 1 outside the scope" in sentence
    assert set(kafka.acls()) == {BOB, CAROL}

    store_id = adopt(config, kafka)
    assert line == f"    store: {store_id}"
    assert pinned.startswith("    cluster: ")
    again = run(*ADOPT, f"config:{config}")[1].splitlines()
    assert again[0].startswith(f"a: belongs to this store, {store_id}. So that no other cluster")
    assert again[1:] == [pinned]
    clusters = config.parent / "clusters.yaml"
    entry = json.loads(clusters.read_text())
    entry["clusters"][0]["cluster"] = pinned.split()[1]
    clusters.write_text(json.dumps(entry))
    assert run(*ADOPT, f"config:{config}")[1] == f"a: belongs to this store, {store_id}\n"

    entry["clusters"][0]["cluster"] = "another-cluster-with-22"
    clusters.write_text(json.dumps(entry))
    *_, sentence, _, line = run(*ADOPT, f"config:{config}")[1].splitlines()
    assert "a: another cluster answers than its entry names: found " in sentence
    assert "expected: another-cluster-with-22; this store would" in sentence
    assert line == pinned
    clusters.write_text(
        json.dumps(entry | {"clusters": [entry["clusters"][0] | {"cluster": None}]})
    )

    # The same ACLs in another folder are another store.
    rmtree(config.parent / "data")
    asyncio.run(fill(config.parent / "data", edit(ACL, set=[StoredBinding("a" * 22, ALICE)])))
    code, text, _ = run("clusters", "status", f"config:{config}")
    assert code == 3
    assert f"the cluster belongs to store {store_id}, but this is store " in text


def test_applied_store_is_enforced_by_all_brokers(config: Path, kafka: DoorkeeperServer) -> None:
    adopt(config, kafka)
    code, text, _ = run("clusters", "status", f"config:{config}")
    assert (code, text) == (3, "a (enforce): broker 1: 1 missing, 1 extra\n")

    code, _, errors = run(
        *("acls", "apply", f"config:{config}", f"kafka://{kafka.bootstrap_servers}"),
        *("--own-prefix", "pay-", "--yes"),
    )
    assert (code, set(kafka.acls())) == (0, {ALICE, CAROL}), errors

    code, text, _ = run("clusters", "status", f"config:{config}", "--wait", "1")
    assert (code, text) == (0, "a (enforce): revision 1 is in force on brokers 1\n")
    code, _, errors = run(
        "clusters", "status", f"config:{config}", "--wait", "2", "--timeout", "0.1"
    )
    assert (code, errors) == (1, "doorkeeper: the store is at revision 1; expected: 2 or later\n")


def test_unreachable_cluster_is_reported(tmp_path: Path) -> None:
    config = configure(tmp_path, "127.0.0.1:1")

    code, text, _ = run("clusters", "status", f"config:{config}")
    assert code == 3
    assert "Connection refused" in text
    code, _, errors = run("clusters", "adopt", f"config:{config}")
    assert code == 1
    assert "Connection refused" in errors


def test_configuration_errors_are_reported(tmp_path: Path) -> None:
    """An unknown cluster, and a configuration without clusters."""
    config = configure(tmp_path, "127.0.0.1:1")
    code, _, errors = run("clusters", "status", f"config:{config}", "--cluster-name", "b")
    assert code == 2
    assert "found 'b'; allowed: a" in errors
    other = tmp_path / "other.properties"
    other.write_text("node.id=1\n")
    code, _, errors = run("clusters", "status", f"config:{other}")
    assert code == 1
    assert f"{other}: doorkeeper.clusters.file is not set" in errors


def test_nothing_to_examine_is_a_failure(config: Path) -> None:
    """Without clusters, and without one that --wait could wait for."""
    declare(config.parent, "127.0.0.1:1", mode="observe")
    code, text, errors = run("clusters", "status", f"config:{config}", "--wait", "2")
    assert (code, text) == (1, "")
    assert "--wait needs a cluster with mode: enforce; found only others: a" in errors

    (config.parent / "clusters.yaml").write_text("clusters: []\n")
    for words in (("clusters", "status"), ("clusters", "drift"), ADOPT):
        code, text, errors = run(*words, f"config:{config}")
        assert (code, text) == (1, "")
        assert "clusters.yaml: there is nothing to examine: clusters: is empty" in errors


DENIED = ClientError("CLUSTER_AUTHORIZATION_FAILED")
LACKS = AclDrift(frozenset({ALICE}), frozenset(), frozenset())


@pytest.mark.parametrize(
    ("brokers", "said"),
    [
        ({1: DENIED, 2: DENIED}, [f"a: broker {broker}: {DENIED}" for broker in (1, 2)]),
        ({1: NO_DRIFT, 2: DENIED}, [f"a: broker 2: {DENIED}"]),
        ({1: NO_DRIFT, 2: LACKS}, ["a: broker 2: 1 missing, 0 extra"]),
        ({}, ["a: the cluster has no brokers at the moment"]),
    ],
)
def test_drift_says_why_it_is_not_in_force(
    config: Path, monkeypatch: pytest.MonkeyPatch, brokers: Answers, said: list[str]
) -> None:
    """A login without DESCRIBE saw "No difference", and status 3."""

    async def answers(_remote: RemoteCluster, _brokers: object) -> Answers:
        return brokers

    monkeypatch.setattr(RemoteCluster, "compare", answers)

    code, text, _ = run("clusters", "drift", f"config:{config}")

    assert (code, text.splitlines()) == (3, said)
