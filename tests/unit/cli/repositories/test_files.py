"""ACLs in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.cli.repositories.addresses import Address, AddressKind
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.repositories.files import FileRepository
from doorkeeper.cli.repositories.repository import AclContents
from testkit.acl import READ, allow, topic

if TYPE_CHECKING:
    from pathlib import Path

ROW = "User:a,TOPIC,LITERAL,t,READ,ALLOW,*"
HEADER = "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host"
A = allow("a", READ, topic("t"))


def repository(path: Path, *, bare_principals: bool = False) -> FileRepository:
    return FileRepository(Address(AddressKind.FILE, str(path)), bare_principals=bare_principals)


async def test_a_file_of_any_format_has_each_binding_once(tmp_path: Path) -> None:
    """It describes no policy, no authorizer and no unknown codes."""
    (tmp_path / "acls.csv").write_text(f"{HEADER}\n{ROW}\n{ROW}\n")
    found = repository(tmp_path / "acls.csv")

    assert await found.read() == AclContents([A])
    assert found.description == str(tmp_path / "acls.csv")


async def test_standard_input_has_no_name_to_tell_the_format() -> None:
    """The format is recognised by how the text begins; the loader gets the hyphen."""
    names: list[str] = []

    def load(name: str) -> bytes:
        names.append(name)
        return f"{HEADER}\n{ROW}".encode()

    found = FileRepository(Address(AddressKind.FILE, "-"), load)

    assert (await found.read()).bindings == [A]
    assert (found.description, names) == ("standard input", ["-"])


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

    with pytest.raises(RepositoryError, match=r"acls\.csv: it is read only"):
        found.change()
