"""ACLs in a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from doorkeeper.acls.formats.acl_set import AclSet
from doorkeeper.acls.formats.choosing import Format, read, read_set, write
from doorkeeper.cli.repositories.addresses import Address, AddressKind
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.repositories.file_ownership import AclFile, ownership_problems
from doorkeeper.cli.repositories.files import FileRepository
from doorkeeper.cli.repositories.repository import AclContents
from testkit.acl import READ, allow, topic
from testkit.counted import counted_calls

if TYPE_CHECKING:
    from collections.abc import Callable

ROW = "User:a,TOPIC,LITERAL,t,READ,ALLOW,*"
HEADER = "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host"
A = allow("a", READ, topic("t"))


def repository(path: Path, *, is_wanted: bool = False) -> FileRepository:
    return FileRepository(Address(AddressKind.FILE, str(path)), is_wanted=is_wanted)


async def test_duplicates_in_a_file_are_removed(tmp_path: Path) -> None:
    (tmp_path / "acls.csv").write_text(f"{HEADER}\n{ROW}\n{ROW}\n")
    found = repository(tmp_path / "acls.csv")

    assert await found.read() == AclContents([A])
    assert found.description == str(tmp_path / "acls.csv")


async def test_format_of_stdin_is_detected_from_content() -> None:
    names: list[str] = []

    def load(name: str) -> bytes:
        names.append(name)
        return f"{HEADER}\n{ROW}".encode()

    found = FileRepository(Address(AddressKind.FILE, "-"), load)

    assert (await found.read()).bindings == [A]
    assert (found.description, names) == ("standard input", ["-"])


async def test_unreadable_file_is_reported_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes(b"\xe9")
    (tmp_path / "powershell.csv").write_bytes(HEADER.encode("utf-16"))
    (tmp_path / "short.csv").write_text(f"{HEADER}\n{ROW}"[:-2])
    for name, text in (
        ("none", "No such file"),
        ("latin.csv", "byte 0 is not UTF-8"),
        ("powershell.csv", "found UTF-16; expected: UTF-8"),
        ("short.csv", "line 2: found 6 fields"),
    ):
        with pytest.raises(RepositoryError, match=f"{name}: {text}"):
            await repository(tmp_path / name).read()


def test_file_is_read_only(tmp_path: Path) -> None:
    found = repository(tmp_path / "acls.csv")

    with pytest.raises(RepositoryError, match=r"acls\.csv is read-only"):
        found.change()


OLD = """Current ACLs for resource `Topic:LITERAL:t`:
\t(principal=User:a, host=*, operation=READ, permissionType=ALLOW)
\t(principal=test, host=*, operation=READ, permissionType=ALLOW)
\t(principal=User:b, host=, operation=READ, permissionType=ALLOW)
"""


@pytest.mark.parametrize("name", ["acls.txt", "acls.csv", "acls.yaml", "acls.json"])
async def test_acls_of_old_clusters_are_read_but_not_written(tmp_path: Path, name: str) -> None:
    bindings = read(OLD)
    how = {"txt": Format.KAFKA}.get(name[-3:]) or Format(name[5:])
    (tmp_path / name).write_text(write(bindings, how), newline="")

    assert set((await repository(tmp_path / name).read()).bindings) == set(bindings)
    with pytest.raises(RepositoryError) as refused:
        await repository(tmp_path / name, is_wanted=True).read()

    principal, host = refused.value.problems
    assert f"{name} line " in principal
    assert "Could not parse principal from `test`" in principal
    assert f"{name} line " in host
    assert "the host is empty" in host


USER = """apiVersion: kafka.strimzi.io/v1
kind: KafkaUser
metadata: {name: app, labels: {strimzi.io/cluster: CLUSTER}}
spec:
  authorization: {type: simple, acls: [{resource: {type: topic, name: t}, operations: [Read]}]}
"""


async def test_folder_of_another_tool(tmp_path: Path) -> None:
    (tmp_path / "topic.yaml").write_text(USER.replace("KafkaUser", "KafkaTopic"))
    with pytest.raises(RepositoryError, match=r"topic\.yaml: .*no Strimzi KafkaUser: KafkaTopic"):
        await repository(tmp_path).read()

    (tmp_path / "user.yaml").write_text(USER.replace("CLUSTER", "one"))
    found = await repository(tmp_path).read()

    assert found.bindings == [allow("app", READ, topic("t"))]
    assert found.note == "files of other tools without ACLs: 1"
    (tmp_path / "other.yaml").write_text(USER.replace("CLUSTER", "two"))
    with pytest.raises(
        RepositoryError, match=r"of cluster 'two', and .* of 'one'; expected the ACLs"
    ):
        await repository(tmp_path).read()


async def test_folders_behind_links_are_read_once(tmp_path: Path) -> None:
    """A folder that was passed over had its ACLs removed."""
    teams, shared = tmp_path / "teams", tmp_path / "shared"
    for folder in (teams / "a", shared):
        folder.mkdir(parents=True)
        (folder / "acls.csv").write_text(f"{HEADER}\n{ROW.replace('t,', f'{folder.name},')}\n")
    (teams / "linked").symlink_to(shared)
    (teams / "again").symlink_to(shared)
    (teams / "a" / "loop").symlink_to(teams)

    found = await repository(teams).read()

    assert found.bindings == [allow("a", READ, topic("a")), allow("a", READ, topic("shared"))]
    (teams / "gone").symlink_to(tmp_path / "nothing")
    with pytest.raises(RepositoryError, match="teams/gone: No such file"):
        await repository(teams).read()


async def test_folder_that_cannot_be_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "acls.csv").write_text(f"{HEADER}\n{ROW}\n")
    (tmp_path / "secret").mkdir()
    refused = tmp_path / "secret"
    scandir, listdir = os.scandir, os.listdir

    def refusing(ask: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def call(path: Any = ".") -> Any:
            if Path(path) == refused:
                raise PermissionError(13, "Permission denied")
            return ask(path)

        return call

    # The tests may run as root, who may read anything.
    monkeypatch.setattr(os, "scandir", refusing(scandir))
    monkeypatch.setattr(os, "listdir", refusing(listdir))

    with pytest.raises(RepositoryError, match="secret: Permission denied"):
        await repository(tmp_path).read()


@pytest.mark.parametrize("of_another_tool", [False, True])
async def test_file_with_many_problems_is_parsed_once_for_their_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, of_another_tool: bool
) -> None:
    """With 100,000 ACLs each of the twenty lines took seconds."""
    rows: list[dict[str, str]] = [
        {"principal": "a", "host": "*", "operation": "READ", "name": "t", "resourceType": "TOPIC"}
        for _ in range(30)
    ]
    document: dict[str, Any] = {"version": 1, "acls": rows}
    if of_another_tool:
        acls = [{**row, "permissionType": "ALLOW"} for row in rows]
        document = {"/kafka-acl/Topic/t": {"version": 1, "acls": acls}}
    (tmp_path / "acls.json").write_text(json.dumps(document))
    compose, calls = yaml.compose_all, []

    def counted(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        return compose(*arguments, **options)

    monkeypatch.setattr(yaml, "compose_all", counted)

    with pytest.raises(RepositoryError, match="Could not parse principal"):
        await repository(tmp_path / "acls.json", is_wanted=True).read()
    assert len(calls) == 1


async def test_acls_of_nobody_are_not_compared_with_each_owner(tmp_path: Path) -> None:
    owner = "version: 1\nacls: []\nowns: {prefixes: [team-NUMBER.]}\n"
    for number in range(20):
        (tmp_path / f"{number}.yaml").write_text(owner.replace("NUMBER", str(number)))
    files = [AclFile(str(file), read_set(file.read_text())) for file in tmp_path.iterdir()]
    common = [allow("a", READ, topic(f"common-{number}")) for number in range(2_000)]

    with counted_calls() as calls:
        assert ownership_problems([*files, AclFile("common.csv", AclSet(common))]) == []

    assert calls.count < 50_000
