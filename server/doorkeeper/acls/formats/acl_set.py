"""A set of ACLs as a file has it: bindings, owned parts, accepted findings, and their lines.

The topics, users and quotas beside them are ``entities``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from doorkeeper.acls.entities.model import EntitySet

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.acls.formats.acceptances import Acceptance
    from doorkeeper.acls.formats.documents import Path
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.plan import Selector


class Owned(Struct, frozen=True):
    """An owned part of all ACLs, and the path to its declaration."""

    selector: Selector
    path: Path


class AclSet(Struct, frozen=True):
    """The contents of a file.

    ``paths`` has the path to the record of each binding, and is empty for formats without paths.
    ``line_of`` returns the line of a path, counting from 1, or 0 if it is unknown; it parses the
    text anew, because only errors need lines. ``cluster`` is the name of the cluster that a file of
    another tool is for; empty if the file does not say.
    """

    bindings: list[AclBinding]
    paths: tuple[Path, ...] = ()
    owned: tuple[Owned, ...] = ()
    accepted: tuple[Acceptance, ...] = ()
    entities: EntitySet = EntitySet()
    line_of: Callable[[Path], int] = lambda _path: 0
    cluster: str = ""

    def line_of_binding(self, index: int) -> int:
        """Return the line of the binding with this index; 0 if it is unknown."""
        return self.line_of(self.paths[index]) if self.paths else 0
