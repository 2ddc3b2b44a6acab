"""Ownership between files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.cli.repositories.addresses import Address, AddressKind
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.repositories.files import FileRepository

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.cli.repositories.repository import AclContents

ORDERS = "- {resourceType: TOPIC, name: pay-orders, principal: 'User:a', operation: READ}"
LABELS = "- {resourceType: TOPIC, name: ship-labels, principal: 'User:a', operation: READ}"


def file(path: Path, owns: str, *rows: str) -> None:
    lines = ["version: 1", *([f"owns: {owns}"] if owns else []), "acls:", *rows]
    path.write_text("\n".join(lines) + ("\n" if rows else " []\n"))


async def read(*paths: Path) -> AclContents:
    first, *others = (Address(AddressKind.FILE, str(each)) for each in paths)
    return await FileRepository(first, others=others).read()


async def test_folder_is_read_as_one_set(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    file(tmp_path / "a.yaml", "{prefixes: pay-}", ORDERS)
    file(tmp_path / "more" / "b.yml", "{prefixes: ship-}", LABELS)
    (tmp_path / ".c.yaml").write_text("nonsense")
    (tmp_path / "README.txt").write_text("nonsense")

    found = await read(tmp_path)
    again = await read(tmp_path / "a.yaml", tmp_path)

    assert [each.pattern.name for each in found.bindings] == ["pay-orders", "ship-labels"]
    assert [each.prefixes for each in found.owned] == [("pay-",), ("ship-",)]
    assert again == found


async def test_folder_without_files_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match=r"the folder has no files \.yaml"):
        await read(tmp_path)


@pytest.mark.parametrize(
    ("left", "right", "part"),
    [
        ("{prefixes: pay-}", "{prefixes: [x, pay-o]}", "begin with 'pay-o' for any principal"),
        ("{prefixes: pay-}", "{principals: 'User:a'}", "begin with 'pay-' for User:a"),
        ("{resourceTypes: [GROUP, TOPIC]}", "{resourceTypes: topic}", "ACLs of TOPIC with any"),
        ("{prefixes: pay-}", "{prefixes: ship-}", None),
        ("{prefixes: a, resourceTypes: GROUP}", "{prefixes: a, resourceTypes: TOPIC}", None),
        ("{principals: 'User:a'}", "{principals: 'User:b'}", None),
    ],
)
async def test_overlapping_ownership_is_rejected(
    tmp_path: Path, left: str, right: str, part: str | None
) -> None:
    one, other = tmp_path / "a.yaml", tmp_path / "b.yaml"
    file(one, left)
    file(other, right)

    if part is None:
        assert len((await read(tmp_path)).owned) == 2
        return
    with pytest.raises(RepositoryError) as raised:
        await read(tmp_path)
    [problem] = raised.value.problems
    assert str(problem).startswith(f"{one} line 2 and {other} line 2 both own the ACLs of ")
    assert part in str(problem)


async def test_file_with_ownership_has_only_owned_acls(tmp_path: Path) -> None:
    one, other = tmp_path / "a.yaml", tmp_path / "b.yaml"
    file(one, "{prefixes: pay-}", ORDERS, LABELS)
    file(other, "", ORDERS)

    with pytest.raises(RepositoryError) as raised:
        await read(tmp_path)

    assert [str(each) for each in raised.value.problems] == [
        f"{one} line 5: not owned: TOPIC 'ship-labels' for User:a; see owns: in line 2",
        f"{other} line 3: TOPIC 'pay-orders' for User:a is owned by {one} line 2",
    ]


async def test_topic_is_defined_in_one_file(tmp_path: Path) -> None:
    one, other, plain = (tmp_path / f"{name}.yaml" for name in "abc")
    owns = "version: 1\nacls: []\nowns: {{topics: {{name: {}, patternType: PREFIXED}}}}\n{}"
    one.write_text(owns.format("pay-", "topics: [{name: pay-a}, {name: ship-a}]\n"))
    other.write_text(owns.format("pay-o", "topics:\n- {name: pay-o1}\n"))
    plain.write_text("version: 1\nacls: []\ntopics: [{name: pay-a}, {name: free}]\n")

    with pytest.raises(RepositoryError) as raised:
        await read(tmp_path)

    assert [str(each) for each in raised.value.problems] == [
        f"{one} line 3 and {other} line 3 both own topic 'pay-o' and all with this prefix",
        f"{one} line 4: not owned: topic 'ship-a'",
        f"{plain} line 3: topic 'pay-a' is owned by {one} line 3",
        f"{plain} line 3: topic 'pay-a' is also in {one}",
    ]
