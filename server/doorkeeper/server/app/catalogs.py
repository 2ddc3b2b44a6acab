"""The configured catalog. Modules for YAML are imported only with a catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from doorkeeper.base.garbage_collection import collection_paused
from doorkeeper.base.slices import parts
from doorkeeper.server.app.errors import StartError
from doorkeeper.server.resources.topics.table import EMPTY
from doorkeeper.server.runtime.threads import beside
from doorkeeper.server.runtime.turns import run_in_turns

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from doorkeeper.base.slices import Slices
    from doorkeeper.server.resources.catalog.loading import Catalog, CatalogIdentity
    from doorkeeper.server.resources.cluster import Group
    from doorkeeper.server.resources.topics.table import Layer

T = TypeVar("T")

# Larger files are read in a process of their own. Its start takes 0.2 s; a file of this size, about
# 200 topics, keeps a thread busy for ten milliseconds.
APART_BYTES: Final = 16 * 1024


class Declared(NamedTuple):
    """The topics and groups of a catalog in one cluster. ``mark`` is None without a catalog."""

    mark: CatalogIdentity | None
    topics: Layer
    groups: Mapping[str, Group]


NOTHING: Final = Declared(None, EMPTY, {})


def catalog_of(file: Path | None) -> Catalog | None:
    """Return the catalog of a file; None without a file.

    Raises:
        StartError: with every fault of the file.

    """
    if file is None:
        return None
    from doorkeeper.server.resources.catalog.errors import CatalogError
    from doorkeeper.server.resources.catalog.loading import load

    try:
        # The collector would traverse the new objects again and again and free none: more than half
        # of the time.
        with collection_paused():
            return load(file)
    except CatalogError as error:
        raise StartError(*map(str, error.problems)) from error


def declarations_of(catalog: Catalog | None, cluster_id: str) -> Declared:
    """Return the declared topics and groups at the start."""
    if catalog is None:
        return NOTHING
    return Declared(catalog.mark, EMPTY.with_changes(catalog.topics_in(cluster_id)), catalog.groups)


async def reload_declarations(file: Path | None, before: Declared, cluster_id: str) -> Declared:
    """Return the current declarations, in slices and threads; ``before`` if they are unchanged.

    Raises:
        StartError: with every fault of the file.

    """
    if file is None:
        return NOTHING
    from doorkeeper.server.resources.catalog.errors import CatalogError

    try:
        catalog = await _read_again(file, before.mark)
        if catalog is None:
            return before
        return Declared(
            catalog.mark,
            await run_in_turns(before.topics.replace_all(catalog.topics_in(cluster_id))),
            await run_in_turns(_kept_if_equal(before.groups, catalog.groups)),
        )
    except CatalogError as error:
        raise StartError(*map(str, error.problems)) from error


async def _read_again(file: Path, before: CatalogIdentity | None) -> Catalog | None:
    """Return the catalog of a file; None if the file is unchanged.

    Raises:
        CatalogError: with every fault of the file; or the process that reads it failed.

    """
    size, mark = await beside(lambda: _inspect(file), "doorkeeper-catalog")
    if mark == before:
        return None
    # _inspect imported these modules in its thread, so they do not delay the loop here.
    from doorkeeper.server.resources.catalog.loading import load
    from doorkeeper.server.resources.catalog.process import read_apart

    if size > APART_BYTES:
        return await read_apart(file)
    return await beside(lambda: load(file), "doorkeeper-catalog")


def _inspect(file: Path) -> tuple[int, CatalogIdentity]:
    from doorkeeper.server.resources.catalog.loading import (
        CatalogIdentity,
        content_of,
        digest_of,
    )

    content = content_of(file)
    return len(content), CatalogIdentity(str(file), digest_of(content))


def _kept_if_equal(before: Mapping[str, T], after: Mapping[str, T]) -> Slices[Mapping[str, T]]:
    """Return ``before`` if both are equal, so that caches stay valid."""
    if len(before) != len(after):
        return after
    for part in parts(after.items()):
        if any(before.get(name) != value for name, value in part):
            return after
        yield
    return before
