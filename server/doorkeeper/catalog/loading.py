"""From a file to a catalog."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.catalog.document import Faults, Value, parse
from doorkeeper.catalog.errors import CatalogError
from doorkeeper.catalog.groups import read_groups
from doorkeeper.catalog.topics import DeclaredTopic, read_topics
from doorkeeper.node import Group, Topic
from doorkeeper.topics import declared_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FILE_BYTES_MAX = 16 * 1024 * 1024
"""A file of a hundred thousand topics is smaller; reading is not meant to take minutes."""


class Catalog(NamedTuple):
    """What a file declares."""

    file: str
    topics: tuple[DeclaredTopic, ...]
    groups: Mapping[str, Group]

    def declared(self, cluster_id: str) -> Iterator[Topic]:
        """Return the topics with the ids that they have in this cluster, made one by one."""
        return (
            Topic(
                name=topic.name,
                topic_id=declared_id(cluster_id, topic.name),
                partitions=topic.partitions,
                replication_factor=topic.replication_factor,
                configs=topic.configs,
                internal=topic.internal,
                origin=self.file,
            )
            for topic in self.topics
        )


def load(path: Path) -> Catalog:
    """Read and check a catalog.

    Raises:
        CatalogError: with all faults; or with one, where the file cannot be read.

    """
    faults = Faults(str(path))
    return _catalog(_read(path, faults), faults)


def parsed(document: Mapping[str, object], name: str) -> Catalog:
    """Check a catalog that is no file; faults name it so.

    Raises:
        CatalogError: with all faults.

    """
    # JSON is YAML; so one reader checks both.
    return _catalog(json.dumps(document, ensure_ascii=False), Faults(name))


def _catalog(text: str, faults: Faults) -> Catalog:
    document = parse(text, faults) if not faults.problems else None
    topics, groups = ([], []) if document is None else _parts(document)
    if faults.problems:
        raise CatalogError(faults.problems)
    return Catalog(faults.file, tuple(topics), {group.group_id: group for group in groups})


def _read(path: Path, faults: Faults) -> str:
    try:
        size = path.stat().st_size
        if size > FILE_BYTES_MAX:
            faults.note(0, "", f"{size} bytes; at most {FILE_BYTES_MAX}")
            return ""
        return path.read_text(encoding="utf-8")
    except OSError as error:
        faults.note(0, "", f"cannot be read: {error.strerror}")
    except UnicodeDecodeError as error:
        faults.note(0, "", f"is not UTF-8 at byte {error.start}")
    return ""


def _parts(document: Value) -> tuple[list[DeclaredTopic], list[Group]]:
    fields = document.fields(("topics", "groups"))
    topics = read_topics(fields["topics"]) if "topics" in fields else []
    partitions = {topic.name: topic.partitions for topic in topics}
    groups = read_groups(fields["groups"], partitions) if "groups" in fields else []
    return topics, groups
