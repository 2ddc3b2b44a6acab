"""Changes of state, and their origins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import Struct

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.schema.kind import Kind

if TYPE_CHECKING:
    from doorkeeper.server.runtime.request_context import AuthorizableRequestContext


class Edit(NamedTuple):
    """Set rows and deleted rows of one kind; the deleted ones with their old values.

    A set row replaces the row with its key. No key is in both.
    """

    set: tuple[Any, ...] = ()
    deleted: tuple[Any, ...] = ()

    def parts(self, size: int) -> Iterator[Edit]:
        """Split into edits of at most ``size`` rows, the deleted ones first."""
        if len(self.set) + len(self.deleted) <= size:
            yield self
            return
        for at in range(0, len(self.deleted), size):
            yield Edit(deleted=self.deleted[at : at + size])
        for at in range(0, len(self.set), size):
            yield Edit(set=self.set[at : at + size])


Change = Mapping[Kind, Edit]
"""The change of one request, by kind. An empty change makes no revision."""

NO_CHANGE: Final[Change] = {}

RECORDS_MAX: Final = 10_000
"""The most records of one request, as of a broker's controller; a larger one changes nothing.

Source: ``QuorumController.MAX_RECORDS_PER_USER_OP``.
"""


def too_large() -> ApiError:
    """Return the refusal of a request that would write more records."""
    text = "Unable to perform excessively large batch operation."
    return ApiError(ErrorCode.POLICY_VIOLATION, text)


def edit(kind: Kind, *, set: Iterable[Any] = (), deleted: Iterable[Any] = ()) -> dict[Kind, Edit]:
    """Return the change of one kind; an empty one without rows."""
    changed = Edit(tuple(set), tuple(deleted))
    return {kind: changed} if changed.set or changed.deleted else {}


# Its positions are columns of the change log.
class Author(NamedTuple):
    """The principal and the client that caused a revision, as the change log keeps them."""

    principal: str
    host: str
    listener: str
    client_id: str
    software: str = ""
    """The client's ``name/version``, as it states it; empty if it has not."""
    correlation_id: int | None = None
    """That of the request, also in the audit log; None without a request."""


class Origin(Struct, frozen=True):
    """The author of a change, and the request if there is one.

    The request is not stored; subscribers on this node get it.
    """

    author: Author
    request: AuthorizableRequestContext | None = None


SERVER = Origin(Author("Server:doorkeeper", "", "", ""))
"""The origin of the server's own changes. No client can use this principal type."""


class Committed(Struct, frozen=True):
    """A durable, visible change.

    An empty change has the revision of the change before it. ``origin`` is None for a change of
    another node, which writes its audit event.
    """

    revision: int
    change: Change
    origin: Origin | None
