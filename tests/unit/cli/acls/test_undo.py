"""``doorkeeper acls undo``, and plans of a store."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper.acls.live_changes import LiveCluster
from doorkeeper.cli.commands import doorkeeper
from doorkeeper.cli.repositories.clusters import ClusterRepository
from doorkeeper.cli.repositories.repository import AclContents
from doorkeeper.cli.repositories.sessions import ClusterSession
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import ACL, TOPIC
from doorkeeper.server.state.storage.backup import backup
from testkit.acl import READ, WRITE, allow
from testkit.acl import topic as topic_pattern
from testkit.stores import fill, query, topic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    Run = Callable[..., Result]

A = StoredBinding("a", allow("alice", READ, topic_pattern("orders")))
B = StoredBinding("b", allow("bob", READ, topic_pattern("orders")))
C = StoredBinding("c", allow("bob", WRITE, topic_pattern("orders")))
HISTORY = (
    edit(ACL, set=[A]),
    edit(ACL, set=[B]) | edit(TOPIC, set=[topic("t")]),
    edit(ACL, set=[C], deleted=[A]),
)
ROWS = {
    "A": "User:alice,TOPIC,LITERAL,orders,READ,ALLOW,*",
    "B": "User:bob,TOPIC,LITERAL,orders,READ,ALLOW,*",
    "C": "User:bob,TOPIC,LITERAL,orders,WRITE,ALLOW,*",
}


AUTHORIZER = (
    "--override",
    "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
)


@pytest.fixture
def config(tmp_path: Path) -> str:
    asyncio.run(fill(tmp_path / "data", *HISTORY))
    file = tmp_path / "server.properties"
    file.write_text(
        f"doorkeeper.data.dir={tmp_path / 'data'}\nlisteners=PLAINTEXT://localhost:0\n"
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
    )
    return f"config:{file}"


def run(*words: str) -> Result:
    return CliRunner().invoke(doorkeeper, ["acls", *words], catch_exceptions=False)


def rows(config: str, *words: str) -> list[str]:
    lines = run("export", config, "--output", "csv", *words).output.splitlines()[1:]
    return sorted(name for name, row in ROWS.items() if row in lines)


def test_revision_is_undone(config: str, tmp_path: Path) -> None:
    found = run("undo", "3", config, "--yes")

    assert found.exit_code == 0
    assert f"+ {ROWS['A']}\n- {ROWS['C']}\nPlan: 1 to add, 1 to remove" in found.output
    assert rows(config) == ["A", "B"]
    assert query(tmp_path / "data", "SELECT max(revision) FROM change_log") == [(5,)]


def test_changes_since_a_time_are_undone(config: str) -> None:
    nothing = run("undo", config, "--since", "3", "--yes")
    assert (nothing.exit_code, nothing.output) == (
        0,
        "doorkeeper: nothing to undo: no change since revision 3\n",
    )
    assert run("undo", "1", config, "--since", "1").exit_code == 2
    assert run("undo").exit_code == 2
    assert run("undo", config, "--since", "1", "--yes").exit_code == 0
    assert rows(config) == ["A"]


def test_overlapping_later_changes_are_listed(config: str) -> None:
    found = run("undo", "1", config, "--dry-run")

    assert "note: a later change overlaps: 3 " in found.output
    assert "No changes" in found.output


def test_acl_that_later_changes_set_or_removed_is_left_as_they_left_it(tmp_path: Path) -> None:
    """Else the undo of a removal grants what was removed again since, and that of a grant takes
    away one that was made anew."""
    set_a, drop_a = edit(ACL, set=[A]), edit(ACL, deleted=[A])
    asyncio.run(fill(tmp_path / "off", set_a, drop_a, set_a, drop_a))
    asyncio.run(fill(tmp_path / "on", set_a, drop_a, set_a))
    off, on = (f"store:{tmp_path / name}" for name in ("off", "on"))

    assert "No changes" in run("undo", "2", off, "--yes", *AUTHORIZER).output
    assert "No changes" in run("undo", "1", on, "--yes", *AUTHORIZER).output
    assert "note: a later change overlaps: 3 " in run("undo", "1", on, *AUTHORIZER).output
    assert (rows(off, *AUTHORIZER), rows(on, *AUTHORIZER)) == ([], ["A"])


def test_history_of_another_store_is_rejected(config: str, tmp_path: Path) -> None:
    asyncio.run(fill(tmp_path / "other", edit(ACL, set=[B])))

    found = run("undo", "1", config, "--history", f"store:{tmp_path / 'other'}", "--yes")
    same = run("undo", "2", config, "--history", config, "--yes")

    assert found.exit_code == 1
    assert "give the store of that cluster with --history" in found.output
    assert (same.exit_code, rows(config)) == (0, ["C"])


def test_history_of_a_backup_is_said_to_end_with_it(config: str, tmp_path: Path) -> None:
    """Whatever was granted or revoked since is not among the later changes."""
    backup(tmp_path / "data", tmp_path / "acls.backup")
    asyncio.run(fill(tmp_path / "data", edit(ACL, set=[A]), edit(ACL, deleted=[A])))

    found = run("undo", "3", config, "--history", f"backup:{tmp_path}/acls.backup", "--dry-run")

    assert f"+ {ROWS['A']}" in found.output
    assert "acls.backup are not known, and may be undone too" in found.output


def test_history_is_that_of_the_store_that_overrides_name(config: str, tmp_path: Path) -> None:
    asyncio.run(fill(tmp_path / "other", edit(ACL, set=[B]), edit(ACL, set=[A])))
    other = ("--override", f"doorkeeper.data.dir={tmp_path / 'other'}")

    assert run("undo", "1", config, "--yes", *other).exit_code == 0
    assert (rows(config, *other), rows(config)) == (["A"], ["B", "C"])


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("0", "allowed: a revision, FIRST..LAST, or --since"),
        ("3..2", "allowed: a revision, FIRST..LAST, or --since"),
        ("9", "revisions 9 to 9 are not all in the log"),
        ("--since=9", "revision 9 does not exist"),
        ("--since=2001-01-01", "before the start of the history"),
        ("--since=2999-01-01", "in the future"),
        ("--since=yesterday", "allowed: a revision, an ISO date"),
    ],
)
def test_invalid_revisions_are_rejected(config: str, word: str, text: str) -> None:
    found = run("undo", word, config)

    assert found.exit_code != 0
    assert text in found.output


def test_live_cluster_requires_its_store() -> None:
    """The Kafka protocol has no history."""
    found = run("undo", "1", "kafka://localhost:1")

    assert found.exit_code == 2
    assert "Doorkeeper server, give its store with --history." in " ".join(found.output.split())
    assert "A Kafka cluster keeps no history" in " ".join(found.output.split())


def test_history_must_belong_to_the_cluster(config: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def cluster_id(_: ClusterSession) -> str:
        return "another-cluster"

    monkeypatch.setattr(ClusterSession, "cluster_id", cluster_id)

    found = run("undo", "1", "kafka://localhost:1", "--history", config)

    assert found.exit_code == 1
    assert (
        "kafka://localhost:1 is cluster another-cluster; give the store of that cluster with"
        " --history"
    ) in found.output


def test_saved_plan_contains_the_revision(config: str, tmp_path: Path) -> None:
    wanted, plan = tmp_path / "wanted.csv", tmp_path / "a.plan"
    heading = "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host"
    wanted.write_text(f"{heading}\n{ROWS['A']}\n{ROWS['B']}\n")
    run("plan", str(wanted), config, "--out", str(plan))
    assert json.loads(plan.read_text())["revision"] == 3
    shown = run("plan", str(wanted), config, "--output", "json").stdout
    assert json.loads(shown) == json.loads(plan.read_text())

    run("undo", "2", config, "--yes")
    assert run("apply", str(plan), config, "--plan", "--yes").exit_code == 0
    assert rows(config) == ["A", "C"]


def test_undo_removes_what_no_broker_lists_yet(
    config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history has the ACL; the brokers that were asked may lag."""
    found = CliRunner().invoke(doorkeeper, ["store", "check", config, "--output", "json"])
    cluster = json.loads(found.stdout)["clusterId"]

    async def cluster_id(_: ClusterSession) -> str:
        return str(cluster)

    async def read(_: ClusterRepository) -> AclContents:
        return AclContents([])

    async def live_cluster(*_: object) -> LiveCluster:
        return LiveCluster()

    monkeypatch.setattr(ClusterSession, "cluster_id", cluster_id)
    monkeypatch.setattr(ClusterSession, "live_cluster", live_cluster)
    monkeypatch.setattr(ClusterRepository, "read", read)

    undone = run("undo", "2", "kafka://localhost:1", "--history", config, "--dry-run")

    assert undone.stdout.startswith(f"- {ROWS['B']}\nPlan: 0 to add, 1 to remove")
