"""``doorkeeper store release``: what it lists, asks and changes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import ACL, FEATURE
from testkit.acl import READ, WRITE, allow, deny, topic
from testkit.stores import adding, fill, open_store

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

BINDINGS = (
    allow("alice", READ, topic("t"), host="10.0.0.0/8"),
    deny("bob", WRITE, topic("t"), host="::/0"),
    allow("carol", READ, topic("t"), host="10.0.0.0/33"),
    allow("dave", READ, topic("t"), host="10.0.0.1"),
    allow("bob", WRITE, topic("t")),
)
ACLS = edit(ACL, set=[StoredBinding(f"{n:022}", each) for n, each in enumerate(BINDINGS)])


def release(data: Path, *words: str, answer: str = "") -> Result:
    command = ["store", "release", f"store:{data}", *words]
    return CliRunner().invoke(doorkeeper, command, input=answer)


def level_in(data: Path) -> list[int]:
    store = open_store(data)
    found = [row.level for row in store.rows(FEATURE)]
    store.close()
    return found


def test_changed_decisions_are_listed_before_confirmation(tmp_path: Path) -> None:
    asyncio.run(fill(tmp_path, ACLS))

    result = release(tmp_path, "4.4", answer="\n")

    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert [line for line in lines if line[:1] in "+-"] == [
        "+ User:alice  READ, DESCRIBE  topic t, from 10.0.0.0/8",
        "- User:bob  WRITE  topic t, from ::/0",
    ]
    assert "nothing was changed" in result.output
    assert level_in(tmp_path) == []


def test_unchanged_decisions_are_not_listed(tmp_path: Path) -> None:
    stored = (
        allow("root", READ, topic("t"), host="10.0.0.0/8"),
        allow("faye", READ, topic("t"), host="10.0.0.0/8"),
        allow("faye", READ, topic("t")),
        deny("gus", READ, topic("t"), host="10.4.0.0/16"),
        deny("gus", READ, topic("t"), host="10.3.0.0/16"),
        allow("gus", READ, topic("t"), host="10.3.0.7"),
    )
    rows = [StoredBinding(f"{n:022}", binding) for n, binding in enumerate(stored)]
    asyncio.run(fill(tmp_path / "data", edit(ACL, set=rows)))
    file = tmp_path / "server.properties"
    standard = "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    file.write_text(f"doorkeeper.data.dir={tmp_path}/data\n{standard}\nsuper.users=User:root\n")

    for words, sign in ((["4.4"], "-"), (["4.3"], "+")):
        command = ["store", "release", f"config:{file}", *words, "--yes"]
        lines = CliRunner().invoke(doorkeeper, command).stdout.splitlines()
        assert [line for line in lines if line[:1] in "+-"] == [
            f"{sign} User:gus  READ  topic t, from 10.3.0.7"
        ]


def test_release_changes_both_ways(tmp_path: Path) -> None:
    asyncio.run(fill(tmp_path, ACLS))

    there = release(tmp_path, "4.4", answer="y\n")
    assert there.exit_code == 0, there.output
    assert there.output.endswith("the store follows Kafka 4.4; previously 4.3\n")
    assert level_in(tmp_path) == [33]
    assert release(tmp_path, "4.4").output == "the store follows Kafka 4.4\n"

    back = release(tmp_path, "4.3", "--yes")
    assert "- User:alice  READ, DESCRIBE  topic t" in back.output
    assert "+ User:bob  WRITE  topic t" in back.output
    assert level_in(tmp_path) == [30]


def test_conflicting_configuration_key_is_reported(tmp_path: Path) -> None:
    asyncio.run(fill(tmp_path, adding(1)))
    file = tmp_path / "server.properties"
    file.write_text(f"doorkeeper.data.dir={tmp_path}\ndoorkeeper.kafka.release=4.3\n")

    command = ["store", "release", f"config:{file}", "4.4", "--yes"]
    result = CliRunner().invoke(doorkeeper, command)

    assert result.exit_code == 0
    assert result.stderr == (
        "doorkeeper.kafka.release is 4.3 in the configuration; set it to 4.4 or remove it, or the"
        " server will not start\n"
    )
    assert level_in(tmp_path) == [33]


def test_missing_store_fails(tmp_path: Path) -> None:
    result = release(tmp_path / "none", "4.4", "--yes")

    assert result.exit_code == 1
    assert not (tmp_path / "none").exists()
