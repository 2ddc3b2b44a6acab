"""The page of clusters that differ: a live cluster, and those that a server keeps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from doorkeeper.console.sets import Sets
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import ACL
from doorkeeper.testing import DoorkeeperServer
from testkit.acl import READ, WRITE, allow, topic
from testkit.consoles import console_over, sets_at
from testkit.stores import fill
from testkit.synchronized import cluster, target

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
ALICE = allow("alice", READ, topic("pay-in"))
BOB = allow("bob", WRITE, topic("pay-out"))


@pytest.fixture(scope="module")
def kafka() -> Iterator[DoorkeeperServer]:
    """Return a cluster that has bob's ACL and lacks alice's."""
    with target() as server:
        server.add_acls([BOB])
        yield server


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory, kafka: DoorkeeperServer) -> Sets:
    """Return the configuration of a stopped server, and its cluster."""
    folder = tmp_path_factory.mktemp("drift")
    entry = cluster("a", kafka.bootstrap_servers, scope={"prefixes": ["pay-"]}, limits={})
    (folder / "clusters.json").write_text(json.dumps({"clusters": [entry]}), encoding="utf-8")
    file = folder / "server.properties"
    file.write_text(
        f"authorizer.class.name={STANDARD}\nnode.id=1\nsuper.users=User:ANONYMOUS\n"
        f"doorkeeper.data.dir={folder / 'data'}\n"
        f"doorkeeper.clusters.file={folder / 'clusters.json'}\n",
        encoding="utf-8",
    )
    asyncio.run(fill(folder / "data", edit(ACL, set=[StoredBinding("a" * 22, ALICE)])))
    return sets_at(f"config:{file}", f"kafka://{kafka.bootstrap_servers}")


@pytest.fixture(scope="module")
def live(sets: Sets) -> Iterator[TestClient]:
    with console_over(sets) as client:
        yield client


def test_a_live_cluster_is_compared_with_the_wanted_set(
    live: TestClient, kafka: DoorkeeperServer
) -> None:
    """Each ACL that is missing there or extra leads to its history in the wanted set."""
    address = f"kafka://{kafka.bootstrap_servers}"
    page = live.get("/drift", params={"with": address}).text

    assert page.count('<span class="sign some">missing') == 1
    assert page.count('<span class="sign no">extra') == 1
    assert "User:alice" in page
    assert "User:bob" in page
    assert "/history?set=config%3A" in page


def test_the_clusters_of_a_server_are_asked_at_a_click(live: TestClient) -> None:
    """Reading every broker takes time, so that the page does it when somebody wants it."""
    first = live.get("/drift").text
    asked = live.get("/drift", params={"clusters": "1"}).text

    assert "Ask the clusters" in first
    assert "clusters drift" not in first
    assert "clusters drift" in asked
    assert '<th scope="row"><bdi>a</bdi>' in asked


def test_live_clusters_are_read_again_at_a_click(
    live: TestClient, sets: Sets, kafka: DoorkeeperServer
) -> None:
    """Until then the answer is about the ACLs that were read."""
    address = f"kafka://{kafka.bootstrap_servers}"
    kafka.add_acls([ALICE])
    query = {"name": "pay-in", "set": address}
    before = live.get("/who-can.json", params=query).json()["who"]
    live.post("/read-again", data={"set": address})
    sets.wait()
    after = live.get("/who-can.json", params=query).json()["who"]
    # Other tests have the same cluster.
    kafka.clear()
    kafka.add_acls([BOB])
    live.post("/read-again", data={"set": address})
    sets.wait()

    assert [row["principal"] for row in before] == []
    assert [row["principal"] for row in after] == ["User:alice"]
