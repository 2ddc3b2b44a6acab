"""From a file to a catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.resources.catalog.errors import CatalogError
from doorkeeper.server.resources.catalog.loading import FILE_BYTES_MAX, load
from doorkeeper.server.resources.topics.table import declared_id

if TYPE_CHECKING:
    from pathlib import Path


def faults_of(path: Path) -> list[str]:
    """Return what is wrong with a file."""
    with pytest.raises(CatalogError) as caught:
        load(path)
    return [str(each) for each in caught.value.problems]


def test_topics_get_the_ids_of_their_cluster(tmp_path: Path) -> None:
    """The same at each start, others in another cluster; and they know their file."""
    file = tmp_path / "c.yaml"
    file.write_text("topics:\n  - {name: orders, partitions: 3}\n", encoding="utf-8")

    (topic,) = load(file).topics_in("cluster-1")

    assert (topic.name, topic.partitions, topic.origin) == ("orders", 3, str(file))
    assert topic.topic_id == declared_id("cluster-1", "orders")
    assert topic.topic_id != next(load(file).topics_in("cluster-2")).topic_id


def test_assignments_are_compared_with_the_topics_of_the_file(tmp_path: Path) -> None:
    """All faults of both parts at once, in the order of the file."""
    file = tmp_path / "c.yaml"
    file.write_text(
        "groups:\n  - id: g\n    members:\n      - member_id: m\n"
        "        assignment: {orders: [5]}\n"
        "topics:\n  - {name: orders, partitions: 3}\n  - {name: 'a b'}\nother: 1\n",
        encoding="utf-8",
    )

    found = faults_of(file)

    assert [each.removeprefix(f"{file}:").split(":")[0] for each in found] == ["5", "8", "9"]
    assert found[0].endswith("must be a whole number from 0 to 2, not '5'")
    assert found[2].endswith("other: unknown key; known are topics, groups")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """One fault each, with the reason."""
    absent, folder, latin, large = (tmp_path / name for name in "abcd")
    folder.mkdir()
    latin.write_bytes(b"topics: [\xe4]")
    (tmp_path / "e").write_text("a: [1\nb: 2\n")
    with large.open("wb") as file:
        file.truncate(FILE_BYTES_MAX + 1)

    assert faults_of(absent) == [f"{absent}: cannot be read: No such file or directory"]
    assert faults_of(folder) == [f"{folder}: cannot be read: Is a directory"]
    assert faults_of(tmp_path / "e")[0].startswith(f"{tmp_path / 'e'}:2: invalid YAML: ")
    assert faults_of(latin) == [f"{latin}: is not UTF-8 at byte 9"]
    assert faults_of(large) == [f"{large}: {FILE_BYTES_MAX + 1} bytes; at most {FILE_BYTES_MAX}"]
