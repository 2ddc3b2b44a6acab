"""What waits to be written, and what is being written.

submit -> waiting -> taken into a batch -> planned -> written -> committed -> delivered
|                                             |
|  its time is over: withdrawn                |  the connection is lost:
v                                             v  in doubt until the log is read
StoreAway                                    the batch is found there, or not
"""

from __future__ import annotations

import uuid
from collections import deque
from typing import TYPE_CHECKING, Final

from doorkeeper.storage.contract import Author, Change, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Plan = Callable[[], Change]
    OnDone = Callable[[int | StorageError], None]

BATCH_CHANGES_MAX: Final = 1_000
"""Changes in one transaction: others wait for its end to write, and all of them for its failure."""

BATCH_ROWS_MAX: Final = 20_000
"""Rows of the log after which no further change is taken into a transaction."""


class Waiting:
    """A change that was submitted and is not delivered."""

    __slots__ = ("change", "deadline_s", "error", "on_done", "plan", "revision", "singly")

    def __init__(self, plan: Plan, on_done: OnDone, deadline_s: float) -> None:
        """Wait until ``deadline_s`` of the loop's clock."""
        self.plan = plan
        self.on_done = on_done
        self.deadline_s = deadline_s
        self.change: Change | None = None
        self.revision = 0
        self.error: StorageError | None = None
        """Why there is no plan: the planner failed."""
        self.singly = False
        """True where the batch that it was in failed: who is to blame is found out one by one."""


class Batch:
    """Changes that are planned and not delivered. They share a transaction and a fate."""

    __slots__ = ("batch_id", "items", "last_revision")

    def __init__(self, items: list[Waiting], last_revision: int) -> None:
        """Take items whose changes and revisions are known."""
        self.batch_id = uuid.uuid4()
        self.items = items
        self.last_revision = last_revision

    def changes(self) -> Iterator[tuple[int, Change]]:
        """Yield the revisions, in order, each with what it changes."""
        for item in self.items:
            if item.change:
                yield item.revision, item.change


class Queue:
    """The changes that wait, in the order of their submission."""

    def __init__(self) -> None:
        """Begin empty."""
        self._items: deque[Waiting] = deque()

    def __len__(self) -> int:
        return len(self._items)

    @property
    def first_deadline_s(self) -> float:
        """Return when the time of the first is over: that of the others is not over before."""
        return self._items[0].deadline_s

    def put(self, item: Waiting) -> None:
        """Put a change at the end."""
        self._items.append(item)

    def put_back(self, items: Iterable[Waiting]) -> None:
        """Put changes that did not become durable before all others, in their order."""
        self._items.extendleft(reversed(list(items)))

    def withdraw(self, now_s: float) -> list[Waiting]:
        """Take out and return those whose time is over."""
        late = [item for item in self._items if item.deadline_s <= now_s]
        if late:
            self._items = deque(item for item in self._items if item.deadline_s > now_s)
        return late

    def withdraw_all(self) -> list[Waiting]:
        """Take out and return everything."""
        items, self._items = list(self._items), deque()
        return items

    def withdraw_first(self) -> Waiting:
        """Take out the oldest."""
        return self._items.popleft()

    def plan(self, revision: int) -> Batch:
        """Take out what goes into the next transaction and plan it on the newest state.

        ``revision`` is the head. A change whose failure took others with it goes alone.
        """
        items: list[Waiting] = []
        rows = 0
        while self._items and len(items) < BATCH_CHANGES_MAX and rows < BATCH_ROWS_MAX:
            if items and (items[-1].singly or self._items[0].singly):
                break
            item = self._items.popleft()
            items.append(item)
            item.change = _planned(item)
            revision += bool(item.change)
            item.revision = revision
            rows += len(item.change.bindings_added) + len(item.change.bindings_removed) + 1
        return Batch(items, revision)


def _planned(item: Waiting) -> Change:
    """Return what a change comes to; what its planner raises is its own affair."""
    item.error = None
    try:
        return item.plan()
    except Exception as error:  # noqa: BLE001 - the others of the batch are innocent
        item.error = StorageError(f"the change could not be planned: {error!r}")
        return _NOTHING


_NOTHING: Final = Change(author=Author("", "", "", ""))
