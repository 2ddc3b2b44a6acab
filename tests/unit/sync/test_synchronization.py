"""Clusters that are Doorkeepers: they speak the same admin API as brokers."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest

from doorkeeper.client import AdminClient, ClientConfig
from doorkeeper.sync import synchronization as module
from doorkeeper.sync.fleet import ClusterFleet
from doorkeeper.testing import DoorkeeperServer
from testkit.acl import READ, WRITE, allow, topic
from testkit.scripted_controller import ScriptedController, added, removed
from testkit.synchronized import cluster, doorkeeper, eventually, status, synchronization, target

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.acls.model import AclBinding

ALICE = allow("alice", READ, topic("pay-in"))
BOB = allow("bob", WRITE, topic("pay-out"))
CAROL = allow("carol", READ, topic("hr-1"))


def has(server: DoorkeeperServer, *bindings: object) -> bool:
    """Return whether a server has these ACLs and no others."""
    return set(server.acls()) == set(bindings)


def test_cluster_receives_acls_and_changes(tmp_path: Path) -> None:
    with (
        target([BOB, CAROL]) as kafka,
        doorkeeper(tmp_path, cluster("a", kafka.bootstrap_servers), acls=[ALICE, BOB]) as server,
    ):
        eventually(lambda: has(kafka, ALICE, BOB), kafka.acls)

        server.add_acls([CAROL])
        eventually(lambda: has(kafka, ALICE, BOB, CAROL), kafka.acls)
        server.remove_acls([ALICE, BOB])
        eventually(lambda: has(kafka, CAROL), kafka.acls)

        eventually(lambda: status(server)["revision"] == 2, lambda: status(server))
        found = status(server)
        assert (found["missing"], found["extra"], found["pending"]) == (0, 0, {})
        assert found["brokers"] == [1]


def test_observed_cluster_is_not_changed(tmp_path: Path) -> None:
    observed = {"mode": "observe", "scope": {"prefixes": ["pay-"]}}
    with (
        target([BOB, CAROL]) as kafka,
        doorkeeper(
            tmp_path, cluster("a", kafka.bootstrap_servers, **observed), acls=[ALICE]
        ) as server,
    ):
        eventually(lambda: status(server)["drift"], lambda: status(server))
        found = status(server)

        assert (found["missing"], found["extra"], found["outside"]) == (1, 1, 1)
        assert {(each["missing"], each["acl"].split(" for ")[1]) for each in found["drift"]} == {
            (True, "User:alice from *"),
            (False, "User:bob from *"),
        }
        since_ms = found["drift_since_ms"]
        reads = found["reads"]
        eventually(lambda: status(server)["reads"] > reads + 1)
        assert status(server)["drift_since_ms"] == since_ms
        assert has(kafka, BOB, CAROL)


def test_acls_outside_the_scope_are_not_changed(tmp_path: Path) -> None:
    scope = {"scope": [{"prefixes": ["pay-"], "resourceTypes": ["TOPIC"]}]}
    with (
        target([BOB, CAROL]) as kafka,
        doorkeeper(
            tmp_path,
            cluster("a", kafka.bootstrap_servers, **scope),
            acls=[ALICE, allow("dora", READ, topic("hr-2"))],
        ) as server,
    ):
        eventually(lambda: has(kafka, ALICE, CAROL), kafka.acls)
        eventually(lambda: status(server)["revision"] is not None)
        assert status(server)["outside"] == 1


def test_foreign_changes_are_reverted(tmp_path: Path) -> None:
    """What was added within the scope goes, what was removed returns: with a later receipt."""
    with (
        target() as kafka,
        doorkeeper(tmp_path, cluster("a", kafka.bootstrap_servers), acls=[ALICE]) as server,
    ):
        eventually(lambda: status(server)["revision"] == 0)
        before_ms = status(server)["since_ms"]

        kafka.remove_acls([ALICE])
        kafka.add_acls([BOB])

        eventually(lambda: has(kafka, ALICE), kafka.acls)
        eventually(lambda: status(server)["since_ms"] > before_ms)


@pytest.mark.parametrize("api", ["CreateAcls"])
def test_lost_responses_cause_no_unplanned_change(tmp_path: Path, api: str) -> None:
    with (
        target([BOB, CAROL]) as kafka,
        kafka.faults.drop(api, after=True, times=3),
        doorkeeper(
            tmp_path,
            cluster("a", kafka.bootstrap_servers, scope={"prefixes": ["pay-"]}),
            acls=[ALICE],
        ) as server,
    ):
        eventually(lambda: has(kafka, ALICE, CAROL), kafka.acls)
        eventually(lambda: status(server)["revision"] == 0, lambda: status(server))


def test_canary_is_changed_first(tmp_path: Path) -> None:
    with (
        target() as first,
        target([CAROL]) as second,
        first.faults.error("CreateAcls", "CLUSTER_AUTHORIZATION_FAILED") as fault,
        doorkeeper(
            tmp_path,
            cluster("second", second.bootstrap_servers, order=2),
            cluster("first", first.bootstrap_servers, order=1),
            acls=[ALICE],
        ) as server,
    ):
        eventually(lambda: status(server, 1)["held"])
        assert has(second, CAROL)

        fault.__exit__(None, None, None)

        eventually(lambda: has(first, ALICE))
        eventually(lambda: has(second, ALICE))
        eventually(lambda: status(server, 0)["revision"] == 0)


async def test_logged_change_is_looked_up_immediately(tmp_path: Path) -> None:
    with target([ALICE]) as kafka:
        async with ScriptedController() as controller:
            controller.append(added(1, ALICE))
            entry = cluster("a", kafka.bootstrap_servers, controllers=controller.address)

            def change() -> None:
                eventually(lambda: status(server)["follows_log"], lambda: status(server))
                eventually(lambda: not synchronization(server).follower.is_new)
                eventually(lambda: not synchronization(server).follower.changes)
                task = synchronization(server)
                reads = status(server)["reads"]
                for _ in range(2):
                    read_s = task.read_s
                    eventually(lambda read_s=read_s: task.read_s > read_s)  # type: ignore[misc]
                assert status(server)["reads"] == reads
                kafka.add_acls([BOB])
                loop.call_soon_threadsafe(controller.append, added(2, BOB))
                eventually(lambda: has(kafka, ALICE), kafka.acls)
                loop.call_soon_threadsafe(controller.append, removed(2))
                eventually(lambda: status(server)["extra"] == 0, lambda: status(server))

            loop = asyncio.get_running_loop()
            with doorkeeper(tmp_path, entry, acls=[ALICE]) as server:
                await asyncio.to_thread(change)


async def test_many_logged_changes_cause_a_full_reading(tmp_path: Path) -> None:
    many = [allow(f"user-{number}", READ, topic(f"pay-{number}")) for number in range(20)]
    with target([ALICE]) as kafka:
        async with ScriptedController() as controller:
            controller.append(added(1, ALICE))
            entry = cluster(
                "a", kafka.bootstrap_servers, controllers=controller.address, accept=["size"]
            )
            records = [added(number, each) for number, each in enumerate(many, 2)]

            def change() -> None:
                eventually(lambda: status(server)["follows_log"], lambda: status(server))
                task = synchronization(server)
                kafka.add_acls(many)
                loop.call_soon_threadsafe(controller.append, *records)
                eventually(lambda: has(kafka, ALICE), kafka.acls)
                gone = [removed(number) for number, _ in enumerate(many, 2)]
                loop.call_soon_threadsafe(controller.append, *gone)
                eventually(lambda: not task.follower.has_news, lambda: status(server))
                eventually(lambda: not status(server)["extra"], lambda: status(server))
                reads, read_s = status(server)["reads"], task.read_s
                eventually(lambda: task.read_s > read_s)
                assert status(server)["reads"] == reads

            loop = asyncio.get_running_loop()
            with doorkeeper(tmp_path, entry, acls=[ALICE]) as server:
                await asyncio.to_thread(change)


async def create(server: DoorkeeperServer, *bindings: AclBinding) -> list[str | None]:
    """Create ACLs by a client that does not try again; return the text of each error."""
    config = ClientConfig(bootstrap=server.bootstrap_servers, timeout_ms=30_000, retry_ms=60_000)
    async with AdminClient(config) as admin:
        return [
            None if each.error is None else str(each.error)
            for each in await admin.create_acls(bindings)
        ]


async def test_change_is_acknowledged_when_enforced(tmp_path: Path) -> None:
    with (
        target() as kafka,
        doorkeeper(
            tmp_path, cluster("a", kafka.bootstrap_servers), doorkeeper_acknowledge="clusters"
        ) as server,
    ):
        assert await create(server, ALICE) == [None]
        assert has(kafka, ALICE)
        # Not there any more, and this server has not read it yet.
        kafka.remove_acls([ALICE])
        assert await create(server, ALICE) == [None]
        assert has(kafka, ALICE)


async def test_error_lists_pending_clusters(tmp_path: Path) -> None:
    with (
        target() as kafka,
        kafka.faults.error("CreateAcls", "CLUSTER_AUTHORIZATION_FAILED") as fault,
        doorkeeper(
            tmp_path,
            cluster("a", kafka.bootstrap_servers),
            doorkeeper_acknowledge="clusters",
            doorkeeper_update_timeout_ms="600",
        ) as server,
    ):
        (error,) = await create(server, ALICE)

        assert error is not None
        assert "Stored as revision 1, but not in force everywhere: cluster a: ALLOW READ" in error
        assert "Cluster authorization failed., broker 1: 1 ACLs are missing" in error
        assert has(server, ALICE)
        fault.__exit__(None, None, None)
        eventually(lambda: has(kafka, ALICE))


def test_operations_port_shows_clusters(tmp_path: Path) -> None:
    with target() as gone:
        address = gone.bootstrap_servers
    with (
        target() as kafka,
        doorkeeper(
            tmp_path,
            cluster("a", kafka.bootstrap_servers),
            cluster("gone", address),
            doorkeeper_http_listener="http://127.0.0.1:0",
        ) as server,
    ):
        eventually(lambda: status(server)["revision"] == 0)
        eventually(lambda: status(server, 1)["failure"])
        port = server._running().operations_port
        assert port is not None

        def page(path: str) -> str:
            with urlopen(f"{port.url}{path}") as answer:
                return str(answer.read().decode())

        first, second = json.loads(page("/clusters"))["clusters"]
        ready = json.loads(page("/readyz"))
        metrics = page("/metrics")

    assert (first["name"], first["revision"], first["brokers"]) == ("a", 0, [1])
    assert "Connection refused" in second["failure"]
    assert ready["ready"]
    assert "a: revision 0 is in force; gone: " in ready["checks"]["clusters"]["detail"]
    assert 'doorkeeper_cluster_revision{cluster="a"} 0.0' in metrics
    assert 'doorkeeper_cluster_drift{cluster="a",kind="missing"} 0.0' in metrics
    assert 'doorkeeper_cluster_reachable{cluster="gone"} 0.0' in metrics


def test_events_are_in_the_audit_log(tmp_path: Path) -> None:
    """Drift, changes and receipts, each with the cluster and the revision."""
    folder = tmp_path / "audit"
    with (
        target() as kafka,
        doorkeeper(
            tmp_path,
            cluster("a", kafka.bootstrap_servers),
            acls=[ALICE],
            doorkeeper_audit_dir=str(folder),
            doorkeeper_audit_compression="none",
        ) as server,
    ):
        eventually(lambda: status(server)["revision"] == 0)
        kafka.add_acls([BOB])
        eventually(lambda: has(kafka, ALICE))
        eventually(lambda: status(server)["foreign"] == 0)

    (file,) = folder.glob("*.jsonl")
    events = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    found = [each for each in events if each["kind"] == "cluster"]
    assert [each["event"] for each in found][:3] == ["CHANGED", "IN_FORCE", "DRIFT"]
    assert {each["cluster"] for each in found} == {"a"}
    assert found[1]["brokers"] == ["1"]
    assert "User:bob" in found[2]["reason"]


async def test_waiting_change_uses_the_reloaded_file(tmp_path: Path) -> None:
    with (
        target() as kafka,
        doorkeeper(
            tmp_path,
            cluster("a", kafka.bootstrap_servers),
            cluster("b", "localhost:1"),
            doorkeeper_acknowledge="clusters",
        ) as server,
    ):
        fleet = server._running().fleet
        assert isinstance(fleet, ClusterFleet)

        async def without_b() -> None:
            await fleet.use([each.config for each in fleet.clusters if each.config.name == "a"])

        config = ClientConfig(bootstrap=server.bootstrap_servers)
        async with AdminClient(config) as admin:
            adding = asyncio.ensure_future(admin.create_acls([ALICE]))
            other = fleet.clusters[1].receipts
            await asyncio.to_thread(eventually, lambda: other.waiters)
            await asyncio.to_thread(server._run, without_b())
            (created,) = await adding

        assert created.error is None
        assert has(kafka, ALICE)
        assert [each["name"] for each in [status(server)]] == ["a"]


OTHER = "another-cluster-with-22"


def test_another_cluster_at_the_address_is_never_changed(tmp_path: Path) -> None:
    """Neither where the entry names the cluster, nor where another one answered before."""
    with (
        target([BOB]) as kafka,
        target() as read_before,
        doorkeeper(
            tmp_path,
            cluster("a", kafka.bootstrap_servers, cluster=OTHER),
            cluster("b", read_before.bootstrap_servers),
            acls=[ALICE],
        ) as server,
    ):
        eventually(lambda: has(read_before, ALICE), lambda: status(server, 1))
        eventually(lambda: status(server, 1)["revision"] == 0)
        synchronization(server, 1).remote.cluster_id = OTHER
        read_before.add_acls([CAROL])
        for number, known in enumerate(("as its entry says", "which answered first")):
            eventually(lambda number=number: status(server, number)["failure"])  # type: ignore[misc]
            failure = status(server, number)["failure"]
            assert f"expected: {OTHER}, {known}; see doorkeeper clusters adopt" in failure

        assert has(kafka, BOB)
        assert has(read_before, ALICE, CAROL)


def test_cluster_behind_a_canary_is_not_called_clean(tmp_path: Path) -> None:
    with (
        target([CAROL]) as second,
        doorkeeper(
            tmp_path,
            cluster("second", second.bootstrap_servers, order=2),
            cluster("first", "localhost:1", order=1),
            acls=[ALICE],
            doorkeeper_http_listener="http://127.0.0.1:0",
        ) as server,
    ):
        eventually(lambda: status(server, 1)["failure"])
        eventually(lambda: "lower order" in (status(server)["unread"] or ""))
        port = server._running().operations_port
        assert port is not None
        with urlopen(f"{port.url}/readyz") as answer:
            detail = json.loads(answer.read())["checks"]["clusters"]["detail"]
        with urlopen(f"{port.url}/metrics") as answer:
            metrics = answer.read().decode()

    assert "second: not read yet: it waits for the clusters of a lower order" in detail
    assert 'doorkeeper_cluster_drift{cluster="second"' not in metrics
    assert 'doorkeeper_cluster_reachable{cluster="second"' not in metrics


async def test_followed_cluster_is_read_and_its_brokers_are_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log may be that of another cluster, and controllers may live on without brokers."""
    monkeypatch.setattr(module, "_WHOLE_S", 0.5)
    monkeypatch.setattr("doorkeeper.sync.remote._CALL_MS", 1_000)
    kafka = DoorkeeperServer(listeners=["PLAINTEXT"], super_users=["User:ANONYMOUS"], acls=[ALICE])
    kafka.start()
    async with ScriptedController() as controller:
        controller.append(added(1, ALICE))
        entry = cluster("a", kafka.bootstrap_servers, controllers=controller.address)

        def change() -> None:
            eventually(lambda: status(server)["follows_log"], lambda: status(server))
            eventually(lambda: not synchronization(server).follower.changes)
            reads = status(server)["reads"]
            kafka.add_acls([BOB])
            # Without any record of it in the log.
            eventually(lambda: has(kafka, ALICE), kafka.acls)
            assert status(server)["reads"] > reads
            kafka.stop()
            eventually(lambda: status(server)["failure"], lambda: status(server))

        with doorkeeper(tmp_path, entry, acls=[ALICE]) as server:
            await asyncio.to_thread(change)


def test_revocation_overtakes_a_slow_change(tmp_path: Path) -> None:
    many = [allow(f"user-{number}", READ, topic(f"pay-{number}")) for number in range(200)]
    with (
        target() as kafka,
        doorkeeper(
            tmp_path,
            cluster("a", kafka.bootstrap_servers, limits={"rate": 4, "batch": 1}),
            acls=[ALICE],
        ) as server,
    ):
        eventually(lambda: has(kafka, ALICE))
        server.add_acls(many)
        eventually(lambda: len(kafka.acls()) > 2)

        server.remove_acls([*many, ALICE])

        # What it has got of the change before goes first.
        eventually(lambda: ALICE not in kafka.acls(), kafka.acls)
        eventually(lambda: has(kafka), kafka.acls)


def test_part_of_a_change_is_reported_at_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    many = [allow(f"user-{number}", READ, topic(f"pay-{number}")) for number in range(50)]
    with (
        target() as kafka,
        doorkeeper(
            tmp_path,
            cluster("a", kafka.bootstrap_servers, limits={"rate": 4, "batch": 1}),
            acls=many,
            doorkeeper_audit_dir=str(folder),
            doorkeeper_audit_compression="none",
        ),
    ):
        eventually(kafka.acls)

    (file,) = folder.glob("*.jsonl")
    events = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    changed = [each for each in events if each["kind"] == "cluster" and each["event"] == "CHANGED"]
    assert [each["missing"] > 0 for each in changed] == [True]
