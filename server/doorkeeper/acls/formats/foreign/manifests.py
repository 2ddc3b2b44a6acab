"""Resources with ``apiVersion`` and ``kind``, as Kubernetes and Jikkou have them.

A stream has several, and ``kubectl get -o yaml`` prints a ``List`` with ``items``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from doorkeeper.acls.formats.foreign.rows import mapping_at
from doorkeeper.acls.formats.names import FormatError, mismatch, short

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from doorkeeper.acls.formats.documents import Path, Source


class Manifest(Struct, frozen=True):
    """A resource, and the path to it."""

    path: Path
    group: str
    """The part of ``apiVersion`` before the slash: ``kafka.strimzi.io``."""
    version: str
    """The part of ``apiVersion`` behind the slash: ``v1``."""
    kind: str
    body: Mapping[str, Any]

    @property
    def name(self) -> object:
        """Return ``metadata.name``; None if there is none."""
        return mapping_at(self.body.get("metadata")).get("name")

    @property
    def where(self) -> str:
        """Return the kind and the name, for errors."""
        name = self.name
        return f"{self.kind} {name if isinstance(name, str) else short(name)}"

    @property
    def spec(self) -> Mapping[str, Any]:
        """Return ``spec``; empty if it is no mapping."""
        return mapping_at(self.body.get("spec"))


def has_manifests(source: Source) -> bool:
    """Return whether a document of a text is a resource."""
    return any(_is_manifest(document) for document in source.documents)


def manifests_of(source: Source) -> Iterator[Manifest]:
    """Yield the resources of a text. Empty documents are passed over."""
    for index, document in enumerate(source.documents):
        if document is None:
            continue
        manifest = _manifest(source, (index,), document)
        items = manifest.body.get("items")
        # Of a Jikkou list the items are of the kind in the list's name.
        if not manifest.kind.endswith("List") or not isinstance(items, list):
            yield manifest
            continue
        # A list in a list is passed over like any other kind: with aliases it would be endless.
        for number, item in enumerate(items):
            yield _manifest(source, (index, "items", number), item)


def _manifest(source: Source, path: Path, document: object) -> Manifest:
    if not _is_manifest(document):
        text = mismatch(document, "a resource with apiVersion and kind")
        raise FormatError(text, source.line_of(path))
    assert isinstance(document, dict)
    group, _, version = document["apiVersion"].rpartition("/")
    return Manifest(path, group, version, document["kind"], document)


def _is_manifest(document: object) -> bool:
    body = mapping_at(document)
    return isinstance(body.get("apiVersion"), str) and isinstance(body.get("kind"), str)
