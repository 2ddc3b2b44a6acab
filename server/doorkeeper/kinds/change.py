"""What changes, and who asked for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from doorkeeper.kinds.kind import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from doorkeeper.request_context import AuthorizableRequestContext


class Edit(NamedTuple):
    """The rows of one kind that are set, and those that are deleted, as they were.

    A row that is set replaces the one of its key. No key is in both.
    """

    set: tuple[Any, ...] = ()
    deleted: tuple[Any, ...] = ()

    def parts(self, size: int) -> Iterator[Edit]:
        """Cut the edit into edits of at most ``size`` rows, the deleted ones first."""
        if len(self.set) + len(self.deleted) <= size:
            yield self
            return
        for at in range(0, len(self.deleted), size):
            yield Edit(deleted=self.deleted[at : at + size])
        for at in range(0, len(self.set), size):
            yield Edit(set=self.set[at : at + size])


Change = Mapping[Kind, Edit]
"""What one request changes, by kind. An empty one changes nothing, and is no revision."""


def edit(kind: Kind, *, set: Iterable[Any] = (), deleted: Iterable[Any] = ()) -> dict[Kind, Edit]:  # noqa: A002 - as the field
    """Return the change of one kind; an empty one without rows."""
    found = Edit(tuple(set), tuple(deleted))
    return {kind: found} if found.set or found.deleted else {}


class Author(NamedTuple):
    """Who changed something, and from where: what the log keeps with each revision."""

    principal: str
    host: str
    listener: str
    client_id: str


class Origin(NamedTuple):
    """Who asked for a change: the author, and the request where there was one.

    The request is not stored; subscribers on this node get it.
    """

    author: Author
    request: AuthorizableRequestContext | None = None


SERVER = Origin(Author("Server:doorkeeper", "", "", ""))
"""The origin of changes that no client asked for. No client can be it: clients are of type User."""


class Committed(NamedTuple):
    """A change that is durable and visible.

    ``revision`` is that of the last change before it where the change is empty. ``origin`` is None
    for a change of another node, whose audit log has it.
    """

    revision: int
    change: Change
    origin: Origin | None
