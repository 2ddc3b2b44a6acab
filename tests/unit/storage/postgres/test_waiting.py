"""What waits to be written, and what goes together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.storage.contract import Change, StorageError
from doorkeeper.storage.postgres import waiting
from doorkeeper.storage.postgres.waiting import Queue, Waiting
from testkit.stores import AUTHOR, adding, plan

if TYPE_CHECKING:
    import pytest

EMPTY = Change(author=AUTHOR)


def queued(*changes: Change) -> tuple[Queue, list[Waiting]]:
    queue = Queue()
    items = [Waiting(plan(change), lambda _: None, 10.0 + at) for at, change in enumerate(changes)]
    for item in items:
        queue.put(item)
    return queue, items


def test_a_batch_numbers_what_changes_something() -> None:
    """An empty change has the revision before it, and is not written."""
    queue, items = queued(adding(1), EMPTY, adding(2))

    batch = queue.plan(41)

    assert [item.revision for item in items] == [42, 42, 43]
    assert [(revision, change) for revision, change in batch.changes()] == [
        (42, adding(1)),
        (43, adding(2)),
    ]
    assert batch.last_revision == 43
    assert len(queue) == 0


def test_a_batch_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of changes, and of rows; one that is larger goes alone."""
    monkeypatch.setattr(waiting, "BATCH_ROWS_MAX", 5)
    queue, _ = queued(adding(1, 2, 3, 4, 5, 6), adding(7), adding(8))

    assert len(queue.plan(0).items) == 1
    assert len(queue.plan(1).items) == 2
    monkeypatch.setattr(waiting, "BATCH_CHANGES_MAX", 1)
    queue, _ = queued(adding(1), adding(2))
    assert len(queue.plan(0).items) == 1


def test_what_did_not_become_durable_goes_before_all_others() -> None:
    """In its old order."""
    queue, items = queued(adding(1), adding(2))
    batch = queue.plan(0)
    later = Waiting(plan(EMPTY), lambda _: None, 99.0)
    queue.put(later)

    queue.put_back(batch.items)

    assert queue.plan(0).items == [*items, later]


def test_those_under_suspicion_go_alone() -> None:
    """Also where the next one is under none."""
    queue, items = queued(adding(1), adding(2), adding(3))
    items[0].singly = items[1].singly = True

    assert [queue.plan(0).items for _ in range(3)] == [[item] for item in items]


def test_only_those_whose_time_is_over_are_withdrawn() -> None:
    """The others keep their order."""
    queue, items = queued(adding(1), adding(2), adding(3))

    assert queue.withdraw(11.0) == items[:2]
    assert queue.withdraw(11.0) == []
    assert queue.withdraw_first() is items[2]


def test_the_first_is_over_first() -> None:
    """Whatever was taken out and put back: nobody's time is over before that of the first."""
    queue, _ = queued(adding(1), adding(2), adding(3))
    taken = queue.plan(0).items
    queue.put(Waiting(plan(adding(4)), lambda _: None, 13.0))
    assert queue.first_deadline_s == 13.0

    queue.put_back(taken)

    assert queue.first_deadline_s == 10.0


def test_a_planner_that_fails_changes_nothing() -> None:
    """Its item has the error; the next one has the revision."""
    queue, items = queued(adding(1), adding(2))
    items[0].plan = lambda: 1 // 0  # type: ignore[assignment, return-value]

    batch = queue.plan(0)

    assert isinstance(items[0].error, StorageError)
    assert [revision for revision, _ in batch.changes()] == [1]
    assert queue.withdraw_all() == []
