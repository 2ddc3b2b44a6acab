"""The page of clusters that differ: a live cluster, and those that a server keeps."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.console.sets import Sets
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import ACL
from doorkeeper.testing import DoorkeeperServer
from testkit.acl import READ, WRITE, allow, topic
from testkit.consoles import HEAD, console_over, sets_at, wait_for
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
    """An ACL that is missing has the change of the wanted set; a cluster keeps no history."""
    address = f"kafka://{kafka.bootstrap_servers}"
    page = live.get("/drift", params={"with": address}).text
    missing, extra = re.findall(r'<tr><td><span class="sign .*?</tr>', page, re.DOTALL)

    assert ">missing<" in missing
    assert "User:alice" in missing
    assert re.search(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{5}</a>, added to .* by ", missing)
    assert "/history?set=config%3A" in missing
    assert ">extra<" in extra
    assert "User:bob" in extra
    assert "not known" in extra
    assert f"{kafka.bootstrap_servers}</bdi> keeps no history" in page


def test_a_difference_has_the_newest_change_of_either_address(tmp_path: Path) -> None:
    """Whoever took the ACL away from the other address made the difference."""
    stores = [f"store:{tmp_path / name}" for name in ("wanted", "other")]
    row = "User:alice,TOPIC,LITERAL,orders,READ,ALLOW,*"
    (tmp_path / "acls.csv").write_text(f"{HEAD}{row}\n", encoding="utf-8")
    for store in stores:
        acls("import", str(tmp_path / "acls.csv"), store)
    words = ("--allow-principal", "User:alice", "--operation", "Read", "--topic", "orders")
    acls("remove", stores[1], *words, "--force")
    with console_over(sets_at(*stores)) as console:
        page = console.get("/drift", params={"with": stores[1]}).text
        swapped = console.get("/drift", params={"set": stores[1], "with": stores[0]}).text

    for text in (page, swapped):
        # A long path unfolds.
        (since,) = re.findall(r'data-label="Since">(.*?)</td>', text, re.DOTALL)
        assert "removed from" in since
        assert "/other</bdi>" in since
        assert "by a command on the stopped server" in since
        assert "keeps no history" not in text


def acls(*words: str) -> None:
    """Run a command about ACLs."""
    assert CliRunner().invoke(doorkeeper, ["acls", *words]).exit_code == 0


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
    wait_for(sets)
    after = live.get("/who-can.json", params=query).json()["who"]
    # Other tests have the same cluster.
    kafka.clear()
    kafka.add_acls([BOB])
    live.post("/read-again", data={"set": address})
    wait_for(sets)

    assert [row["principal"] for row in before] == []
    assert [row["principal"] for row in after] == ["User:alice"]
