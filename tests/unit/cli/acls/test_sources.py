"""Where ACLs come from."""

from __future__ import annotations

import asyncio
import io
from typing import TYPE_CHECKING, Any

import click
import pytest

from doorkeeper.acl.decision import Policy
from doorkeeper.acl.model import AclOperation, ResourceType
from doorkeeper.cli.acls.sources import (
    SourceError,
    bindings_in,
    is_known,
    judging,
    source_of,
)
from testkit.acl import READ, allow, topic
from testkit.kafka_broker import free_port
from testkit.stores import adding, binding, fill

if TYPE_CHECKING:
    from pathlib import Path

ROW = "User:a,TOPIC,LITERAL,t,READ,ALLOW,*"
TABLE = f"KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\n{ROW}"
STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def options(**given: Any) -> dict[str, Any]:
    names = ("acl_file", "file", "bootstrap_server", "bootstrap_controller", "command_config")
    return dict.fromkeys(names) | {"overrides": ()} | given


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "server.properties"
    path.write_text(
        f"listeners=PLAINTEXT://localhost:0\nauthorizer.class.name={STANDARD}\n"
        f"super.users=User:root\ndoorkeeper.data.dir={tmp_path / 'data'}\n"
    )
    return path


def test_a_file_of_any_format_each_binding_once(tmp_path: Path) -> None:
    """It knows of no policy."""
    (tmp_path / "acls.csv").write_text(f"{TABLE}\n{ROW}\n")
    source = source_of(options(acl_file=str(tmp_path / "acls.csv")))

    assert asyncio.run(source.read()) == [allow("a", READ, topic("t"))]
    assert source.description == str(tmp_path / "acls.csv")
    assert (source.policy, source.note) == (None, None)
    assert source.words == ("--bootstrap-server", "HOST:PORT")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hyphen stands for it; the format is recognised."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TABLE.encode())))
    source = source_of(options(acl_file="-"))

    assert asyncio.run(source.read()) == [allow("a", READ, topic("t"))]
    assert source.description == "standard input"


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """With its name, and where in it."""
    (tmp_path / "latin.csv").write_bytes(b"\xe9")
    (tmp_path / "short.csv").write_text(TABLE[:-2])
    for name, text in (
        ("none", "No such file"),
        ("latin.csv", "byte 0 is not UTF-8"),
        ("short.csv", "line 2: found 6 cells"),
    ):
        with pytest.raises(SourceError, match=f"{name}: {text}"):
            bindings_in(str(tmp_path / name))


def test_the_store_of_a_configuration_knows_the_policy(tmp_path: Path, config: Path) -> None:
    """Its words name it to the commands that change it."""
    asyncio.run(fill(tmp_path / "data", adding(3)))
    source = source_of(options(file=config, overrides=("allow.everyone.if.no.acl.found=true",)))

    assert asyncio.run(source.read()) == [binding(3).binding]
    assert source.policy == Policy(super_users=frozenset({"User:root"}), allow_everyone=True)
    assert source.words == (
        *("--config", str(config)),
        *("--override", "allow.everyone.if.no.acl.found=true"),
    )
    assert source.description == f"the store in {tmp_path / 'data'}"


def test_a_store_that_is_not_there_is_told(config: Path) -> None:
    """As a source that cannot be read."""
    with pytest.raises(SourceError, match="there is no such file"):
        asyncio.run(source_of(options(file=config)).read())


def test_another_authorizer_is_told(config: Path, tmp_path: Path) -> None:
    """The answer is not its own."""
    asyncio.run(fill(tmp_path / "data", adding(3)))
    named = ("authorizer.class.name=testkit.plugins.InMemory",)
    source = source_of(options(file=config, overrides=named))

    assert asyncio.run(source.read()) == []
    assert source.note is not None
    assert source.note.startswith("testkit.plugins.InMemory decides there")


def test_a_configuration_beside_a_file_says_what_decides(config: Path) -> None:
    """Options say it over that; what nobody says is assumed. Each has its origin."""
    plain = source_of(options(acl_file="x"))
    beside = source_of(options(acl_file="x", file=config))

    assumed = judging(plain, None, allow_everyone=None)
    assert assumed.policy == Policy()
    assert assumed.lines() == [
        "super users: none (assumed)",
        "where no ACL covers a resource: nobody may (assumed)",
    ]
    configured = judging(beside, None, allow_everyone=True)
    assert configured.record() == {
        "superUsers": ["User:root"],
        "superUsersFrom": "as configured",
        "allowEveryone": True,
        "allowEveryoneFrom": "--allow-everyone",
    }
    given = judging(beside, "User:a; User:b", allow_everyone=False)
    assert given.lines() == [
        "super users: User:a, User:b (--super-users)",
        "where no ACL covers a resource: nobody may (--no-allow-everyone)",
    ]
    with pytest.raises(click.UsageError, match="principalType:principalName"):
        judging(plain, "alice", allow_everyone=None)


def test_a_wrong_policy_beside_a_file_is_told(tmp_path: Path) -> None:
    """As what cannot be read."""
    with pytest.raises(SourceError, match=r"super\.users"):
        source_of(options(acl_file="x", overrides=("super.users=alice",)))


def test_a_server_that_runs(tmp_path: Path) -> None:
    """Its words are those of its commands; where nobody listens, that is told."""
    controllers = source_of(
        options(bootstrap_controller="h:1", command_config=tmp_path / "c.properties")
    )
    assert controllers.words == (
        *("--bootstrap-controller", "h:1"),
        *("--command-config", str(tmp_path / "c.properties")),
    )
    with pytest.raises(SourceError, match=r"c\.properties"):
        asyncio.run(controllers.read())

    nobody = source_of(options(bootstrap_server=f"localhost:{free_port()}"))
    with pytest.raises(SourceError, match="localhost"):
        asyncio.run(nobody.read())
    with pytest.raises(SourceError, match="an address is host:port"):
        asyncio.run(source_of(options(bootstrap_server="h")).read())


@pytest.mark.parametrize(
    "given",
    [
        {"acl_file": "x", "bootstrap_server": "h:1"},
        {"bootstrap_controller": "h:1", "bootstrap_server": "h:1"},
        {"command_config": "c"},
        {"acl_file": "x", "command_config": "c"},
    ],
)
def test_one_source_at_a_time(given: dict[str, Any]) -> None:
    """And --command-config is for servers."""
    with pytest.raises(click.UsageError):
        source_of(options(**given))


def test_a_jaas_file_in_the_environment_is_no_configuration() -> None:
    """It is for servers; the policy stays assumed."""
    source = source_of(options(acl_file="x", overrides=("doorkeeper.jaas.file=/none",)))

    assert source.policy is None


def test_the_store_that_nobody_named_has_a_name_for_others() -> None:
    """Commands that change a store want to be told which."""
    assert source_of(options()).words == ("--override", "doorkeeper.data.dir=data")


def test_a_wrong_configuration_is_a_source_that_cannot_be_read(tmp_path: Path) -> None:
    """So each command can say so in its way."""
    with pytest.raises(SourceError, match="none: "):
        source_of(options(file=tmp_path / "none"))


def test_what_a_newer_server_knows_is_not_known() -> None:
    """A code that came as UNKNOWN says nothing of what it is."""
    binding = allow("a", READ, topic("t"))

    assert is_known(binding)
    assert not is_known(binding._replace(entry=binding.entry._replace(operation=AclOperation(0))))
    assert not is_known(
        binding._replace(pattern=binding.pattern._replace(resource_type=ResourceType(0)))
    )
