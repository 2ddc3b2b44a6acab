"""ACLs in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.acl.model import ANY_BINDING, ResourceType
from doorkeeper.repositories.addresses import Address, AddressKind
from doorkeeper.repositories.errors import RepositoryError
from doorkeeper.repositories.files import FileRepository
from doorkeeper.repositories.repository import AclContents
from testkit.acl import READ, allow, topic, wanted

if TYPE_CHECKING:
    from pathlib import Path

ROW = "User:a,TOPIC,LITERAL,t,READ,ALLOW,*"
HEADER = "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host"
A = allow("a", READ, topic("t"))
B = allow("b", READ, topic("u"))


def repository(path: Path, *, bare_principals: bool = False) -> FileRepository:
    return FileRepository(Address(AddressKind.FILE, str(path)), bare_principals=bare_principals)


async def test_a_file_of_any_format_has_each_binding_once(tmp_path: Path) -> None:
    """It describes no policy, no authorizer and no unknown codes."""
    (tmp_path / "acls.csv").write_text(f"{HEADER}\n{ROW}\n{ROW}\n")
    found = repository(tmp_path / "acls.csv")

    assert await found.read() == AclContents([A])
    assert found.description == str(tmp_path / "acls.csv")


async def test_filters_select_bindings(tmp_path: Path) -> None:
    """Each binding is returned once, sorted."""
    (tmp_path / "acls.csv").write_text(f"{HEADER}\nUser:b,TOPIC,LITERAL,u,READ,ALLOW,*\n{ROW}\n")
    found = repository(tmp_path / "acls.csv")

    assert await found.find([wanted(ResourceType.TOPIC, "t")]) == [A]
    assert await found.find([ANY_BINDING, ANY_BINDING]) == [A, B]


async def test_standard_input_has_no_name_to_tell_the_format() -> None:
    """The format is recognised by how the text begins; the loader gets the hyphen."""
    names: list[str] = []

    def load(name: str) -> bytes:
        names.append(name)
        return f"{HEADER}\n{ROW}".encode()

    found = FileRepository(Address(AddressKind.FILE, "-"), load)

    assert (await found.read()).bindings == [A]
    assert (found.description, names) == ("standard input", ["-"])


async def test_principals_without_a_type_are_read_on_request(tmp_path: Path) -> None:
    """Lint reports them; other commands refuse them."""
    (tmp_path / "acls.csv").write_text(f"{HEADER}\n{ROW.removeprefix('User:')}\n")

    lenient = await repository(tmp_path / "acls.csv", bare_principals=True).read()

    assert [each.entry.principal for each in lenient.bindings] == ["a"]
    with pytest.raises(RepositoryError, match="line 2"):
        await repository(tmp_path / "acls.csv").read()


async def test_an_unreadable_file_is_reported_with_its_name(tmp_path: Path) -> None:
    """And with the place in it."""
    (tmp_path / "latin.csv").write_bytes(b"\xe9")
    (tmp_path / "short.csv").write_text(f"{HEADER}\n{ROW}"[:-2])
    for name, text in (
        ("none", "No such file"),
        ("latin.csv", "byte 0 is not UTF-8"),
        ("short.csv", "line 2: found 6 cells"),
    ):
        with pytest.raises(RepositoryError, match=f"{name}: {text}"):
            await repository(tmp_path / name).read()


def test_a_file_is_read_only(tmp_path: Path) -> None:
    """Export writes files."""
    found = repository(tmp_path / "acls.csv")

    with pytest.raises(RepositoryError, match=r"acls\.csv: a file is read only"):
        found.change()
