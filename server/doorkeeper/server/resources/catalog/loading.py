"""Load a catalog from a file."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.server.resources.catalog.document import FaultList, YamlValue, parse
from doorkeeper.server.resources.catalog.errors import CatalogError, CatalogProblem
from doorkeeper.server.resources.catalog.groups import read_groups
from doorkeeper.server.resources.catalog.topics import DeclaredTopic, read_topics
from doorkeeper.server.resources.cluster import Group, Topic
from doorkeeper.server.resources.topics.table import declared_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

# Larger than a file of a hundred thousand topics; reading must not take minutes.
FILE_BYTES_MAX = 16 * 1024 * 1024


class CatalogIdentity(NamedTuple):
    """The identity of a catalog's content: file and digest."""

    file: str
    digest: bytes


class Catalog(NamedTuple):
    """A valid catalog."""

    mark: CatalogIdentity
    topics: tuple[DeclaredTopic, ...]
    groups: Mapping[str, Group]

    def topics_in(self, cluster_id: str) -> Iterator[Topic]:
        """Yield the topics with their ids in this cluster."""
        return (
            Topic(
                name=topic.name,
                topic_id=declared_id(cluster_id, topic.name),
                partitions=topic.partitions,
                replication_factor=topic.replication_factor,
                configs=topic.configs,
                internal=topic.internal,
                origin=self.mark.file,
            )
            for topic in self.topics
        )


def load(path: Path) -> Catalog:
    """Load and validate a catalog.

    Raises:
        CatalogError: with all faults, or with that of an unreadable file.

    """
    content = content_of(path)
    return _catalog(content, CatalogIdentity(str(path), digest_of(content)))


def content_of(path: Path) -> bytes:
    """Read a file.

    Raises:
        CatalogError: it cannot be read, or is too large.

    """
    try:
        # The size first: a huge file must not be read into memory.
        size = path.stat().st_size
        if size <= FILE_BYTES_MAX:
            return path.read_bytes()
        problem = f"{size} bytes; at most {FILE_BYTES_MAX}"
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    raise CatalogError([CatalogProblem(str(path), 0, "", problem)])


def digest_of(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def load_document(document: Mapping[str, object], name: str) -> Catalog:
    """Validate a catalog that is not a file; faults have ``name`` as the file.

    Raises:
        CatalogError: with all faults.

    """
    # JSON is YAML, so the same reader validates both.
    content = json.dumps(document, ensure_ascii=False).encode()
    return _catalog(content, CatalogIdentity(name, digest_of(content)))


def _catalog(content: bytes, mark: CatalogIdentity) -> Catalog:
    faults = FaultList(mark.file)
    text = _decode(content, faults)
    document = None if text is None else parse(text, faults)
    topics, groups = ([], []) if document is None else _parts(document)
    if faults.problems:
        raise CatalogError(faults.problems)
    return Catalog(mark, tuple(topics), {group.group_id: group for group in groups})


def _decode(content: bytes, faults: FaultList) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        faults.note(0, "", f"is not UTF-8 at byte {error.start}")
        return None


def _parts(document: YamlValue) -> tuple[list[DeclaredTopic], list[Group]]:
    fields = document.fields(("topics", "groups"))
    topics = read_topics(fields["topics"]) if "topics" in fields else []
    partitions = {topic.name: topic.partitions for topic in topics}
    groups = read_groups(fields["groups"], partitions) if "groups" in fields else []
    return topics, groups
