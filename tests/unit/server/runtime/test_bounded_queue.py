"""The queue to a thread."""

from __future__ import annotations

import threading

from doorkeeper.server.runtime.bounded_queue import Batch, BoundedQueue, Lost
from testkit.load import scaled


def test_item_without_room_is_rejected() -> None:
    queue = BoundedQueue[str](10)

    assert queue.put("a", 10)
    assert not queue.put("b")
    assert queue.put("c", must_be_kept=True)
    assert queue.size == 11
    assert queue.take(0).items == ["a", "c"]
    assert not queue.put("d")
    assert queue.take(0).items == []
    assert queue.size == 0
    assert queue.put("e")


def test_losses_are_reported_with_the_next_batch() -> None:
    queue = BoundedQueue[str](1)
    queue.put("a")
    queue.lose(2, 7)
    queue.lose(1, 9)

    assert queue.take(0) == Batch(["a"], Lost(3, 7, 9), False)
    assert queue.take(0).lost is None


def test_thread_runs_until_the_queue_is_closed() -> None:
    queue = BoundedQueue[int](10)
    batches: list[Batch[int]] = []
    done, ended = threading.Semaphore(0), threading.Event()

    def work(batch: Batch[int]) -> None:
        batches.append(batch)
        done.release()

    queue.start("doorkeeper-test", work, end=ended.set)
    queue.put(1)
    assert done.acquire(timeout=scaled(10))
    queue.put(2)
    assert queue.close(scaled(10))

    assert [item for batch in batches for item in batch.items] == [1, 2]
    assert (batches[-1].is_last, ended.is_set(), queue.size) == (True, True, 0)
    assert not queue.put(3)


def test_close_times_out() -> None:
    queue, hang = BoundedQueue[int](10), threading.Event()

    def work(batch: Batch[int]) -> None:
        hang.wait()

    queue.start("doorkeeper-test", work)
    queue.put(1)

    assert not queue.close(0.01)
    hang.set()
    assert queue.close(scaled(10))


def test_wait_returns_after_its_timeout() -> None:
    queue, batches = BoundedQueue[int](10), list[Batch[int]]()
    came = threading.Event()

    def work(batch: Batch[int]) -> None:
        batches.append(batch)
        came.set()

    queue.start("doorkeeper-test", work, timeout_s=lambda: 0.001)
    assert came.wait(scaled(10))
    queue.close(scaled(10))
    assert batches[0].items == []
