"""``doorkeeper store release``: what it lists, asks and changes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from click.testing import CliRunner

from doorkeeper.acls.model import AclOperation
from doorkeeper.cli.acls.printing import row
from doorkeeper.cli.commands import doorkeeper
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import ACL, FEATURE
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, topic
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
    command = ["store", "release", *words, "--data-dir", str(data)]
    return CliRunner().invoke(doorkeeper, command, input=answer)


def level_in(data: Path) -> list[int]:
    store = open_store(data)
    found = [row.level for row in store.rows(FEATURE)]
    store.close()
    return found


def test_what_changes_is_listed_before_it_is_asked(tmp_path: Path) -> None:
    """An ALLOW gains, a DENY loses; what is no network is named; no is the default."""
    asyncio.run(fill(tmp_path, ACLS))

    result = release(tmp_path, "4.4", answer="\n")

    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert lines[:5] == [
        "2 ACLs begin to match the addresses in their network:",
        "  User:alice gains  User:alice,TOPIC,LITERAL,t,READ,ALLOW,10.0.0.0/8",
        "  User:bob loses  User:bob,TOPIC,LITERAL,t,WRITE,DENY,::/0",
        "1 ACLs have a host with a slash that is no network:",
        "  matches nothing  User:carol,TOPIC,LITERAL,t,READ,ALLOW,10.0.0.0/33",
    ]
    assert "nothing was changed" in result.output
    assert level_in(tmp_path) == []


def test_acls_without_an_effect_are_told_from_the_others(tmp_path: Path) -> None:
    """Nobody gains what others allow, or a super user has; nobody loses what they never had."""
    effects = {
        allow("erin", READ, topic("t"), host="10.0.0.0/8"): "gains",
        allow("erin", READ, topic("t"), host="10.9.9.9/8"): "gains",
        deny("erin", READ, topic("t"), host="10.3.0.0/16"): "changes nothing",
        allow("root", READ, topic("t"), host="10.0.0.0/8"): "changes nothing",
        allow("faye", READ, topic("t"), host="10.0.0.0/8"): "changes nothing",
        deny("gus", READ, topic("t"), host="10.3.0.0/16"): "loses",
        deny("gus", READ, topic("t"), host="10.4.0.0/16"): "changes nothing",
        allow("hal", READ, topic("t"), host="10.0.0.0/31"): "changes nothing",
        deny("hal", AclOperation.ALL, topic("*"), host="10.0.0.0/8"): "loses",
    }
    stored = (
        *effects,
        allow("faye", READ, topic("t")),
        allow("gus", READ, topic("t"), host="10.3.0.7"),
        allow("hal", READ, topic("t", PREFIXED), host="10.0.0.1"),
    )
    rows = [StoredBinding(f"{n:022}", each) for n, each in enumerate(stored)]
    asyncio.run(fill(tmp_path / "data", edit(ACL, set=rows)))
    file = tmp_path / "server.properties"
    standard = "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    file.write_text(f"doorkeeper.data.dir={tmp_path}/data\n{standard}\nsuper.users=User:root\n")

    for words, expected in (
        (["4.4"], effects),
        (["4.3"], {each: _turned(effect) for each, effect in effects.items()}),
    ):
        command = ["store", "release", *words, "--yes", "--config", str(file)]
        result = CliRunner().invoke(doorkeeper, command)
        listed = result.stdout.splitlines()[1 : len(effects) + 1]
        assert sorted(listed) == sorted(
            f"  {'' if effect == 'changes nothing' else f'{each.entry.principal} '}{effect}"
            f"  {row(each)}"
            for each, effect in expected.items()
        )


def _turned(effect: str) -> str:
    return {"gains": "loses", "loses": "gains"}.get(effect, effect)


def test_it_is_changed_there_and_back(tmp_path: Path) -> None:
    """On yes; the way back is the same command, and what gained loses."""
    asyncio.run(fill(tmp_path, ACLS))

    there = release(tmp_path, "4.4", answer="y\n")
    assert there.exit_code == 0, there.output
    assert there.output.endswith("the rules of Kafka 4.4; before: 4.3\n")
    assert level_in(tmp_path) == [33]
    assert release(tmp_path, "4.4").output == "the rules of Kafka 4.4\n"

    back = release(tmp_path, "4.3", "--yes")
    assert "User:alice loses" in back.output
    assert "User:bob gains" in back.output
    assert level_in(tmp_path) == [30]


def test_a_key_that_names_another_release_is_mentioned(tmp_path: Path) -> None:
    """The server would not start with it."""
    asyncio.run(fill(tmp_path, adding(1)))
    file = tmp_path / "server.properties"
    file.write_text(f"doorkeeper.data.dir={tmp_path}\ndoorkeeper.kafka.release=4.3\n")

    command = ["store", "release", "4.4", "--yes", "--config", str(file)]
    result = CliRunner().invoke(doorkeeper, command)

    assert result.exit_code == 0
    assert result.stderr == (
        "doorkeeper.kafka.release is 4.3 in the configuration: the server starts when it is 4.4,"
        " or not set\n"
    )
    assert level_in(tmp_path) == [33]


def test_without_a_store_it_fails(tmp_path: Path) -> None:
    """None is made."""
    result = release(tmp_path / "none", "4.4", "--yes")

    assert result.exit_code == 1
    assert not (tmp_path / "none").exists()
