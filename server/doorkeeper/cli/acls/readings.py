"""The ACLs that a command reads: at its address, or those that its caller has read already.

A process that asks many questions, as the console does, reads a set once and keeps its index.
"""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

import click
from msgspec import Struct

from doorkeeper.acls.bulk import load
from doorkeeper.acls.snapshot import Snapshot
from doorkeeper.cli.repositories.repository import AclContents
from doorkeeper.cli.vocabulary.progress import Progress, progress

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from doorkeeper.cli.repositories.addresses import Address
    from doorkeeper.cli.repositories.repository import AclRepository

READER: Final = "doorkeeper.cli.reader"
"""The key of a function from a location to a reading in the ``meta`` of click's context."""


class Reading(Struct, frozen=True, dict=True):
    """The contents of a repository, and the repository in words; the index is built when used."""

    contents: AclContents
    description: str

    @cached_property
    def snapshot(self) -> Snapshot:
        """Return the index of the ACLs, with empty ids."""
        return load(("", binding) for binding in self.contents.bindings)


class Readable(Protocol):
    """As much of a ``Location`` as reading it takes."""

    @property
    def address(self) -> Address: ...

    @property
    def name(self) -> str: ...

    def repository(self) -> AclRepository: ...


def read_at(location: Readable) -> Reading:
    """Return the ACLs at a location.

    Raises:
        RepositoryError: they cannot be read.
    """
    context = click.get_current_context(silent=True)
    read: Callable[[Readable], Reading] | None = None
    if context is not None:
        read = context.meta.get(READER)
    return (read or read_anew)(location)


def read_anew(location: Readable) -> Reading:
    """Return the ACLs that are at a location now.

    Raises:
        RepositoryError: they cannot be read.
    """
    repository = location.repository()
    with reading_progress(location):
        return Reading(asyncio.run(repository.read()), repository.description)


def reading_progress(location: Readable) -> AbstractContextManager[Progress]:
    """Report that a location is read; not while somebody types its text."""
    return progress(f"reading {location.name}", quiet=location.address.is_stdin)
