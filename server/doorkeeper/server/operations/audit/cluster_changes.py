"""Events of clusters: for the log and the audit log of the server."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct


class EventKind(Enum):
    """The kinds of events; the value is their text in the log."""

    DRIFT = "ACLs of a cluster differ"
    AGREED = "the ACLs of a cluster agree again"
    CHANGED = "ACLs of a cluster were changed"
    IN_FORCE = "all brokers of a cluster enforce a revision"
    HELD = "changes of a cluster are held back"
    FAILED = "a cluster cannot be read or changed"
    REACHED = "a cluster can be read again"


class ClusterEvent(Struct, frozen=True):
    """An event of one cluster; ``revision`` is that of its last receipt.

    ``missing`` and ``extra`` count ACLs: of CHANGED those that were added and removed.
    """

    cluster: str
    kind: EventKind
    revision: int | None
    missing: int
    extra: int
    brokers: tuple[int, ...]
    detail: str

    @property
    def is_warning(self) -> bool:
        # The detail of a change is a risk of it.
        is_risk = self.kind is EventKind.CHANGED and bool(self.detail)
        return is_risk or self.kind in (EventKind.DRIFT, EventKind.HELD, EventKind.FAILED)
