"""Making and deleting topics: in order, durable before visible."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from doorkeeper.acl.model import ANONYMOUS
from doorkeeper.app.topic_changes import TopicChanges, author_of
from doorkeeper.authorizer.contract import AuthorizableRequestContext
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.node import ChangeTopics, RequestContext, Topic
from doorkeeper.pieces import finished
from doorkeeper.storage.contract import Author, Change, StorageError, StoredState, StoredTopic
from doorkeeper.topics import EMPTY, Topics
from doorkeeper_wire.messages.create_topics import CreateTopicsResponse
from testkit.hand_store import HandStore, PenStore

if TYPE_CHECKING:
    from collections.abc import Sequence

CONTEXT = RequestContext(
    AuthorizableRequestContext(
        "PLAINTEXT", "PLAINTEXT", ANONYMOUS, "10.0.0.7", 19, 7, "client-1", 5
    ),
    "Request(...)",
    controller_listener=False,
)


class World:
    """Changes over a store in the test's hand."""

    def __init__(self, *declared: Topic, store: HandStore | None = None) -> None:
        self.store = store or HandStore()
        self.failures: list[StorageError] = []
        self.changes = TopicChanges(
            Topics.of(declared),
            self.store,
            asyncio.get_running_loop(),
            on_failure=self.failures.append,
        )

    def begun(self) -> World:
        self.changes.begin()
        return self

    def change(
        self, *, created: Sequence[str] = (), deleted: Sequence[str] = ()
    ) -> asyncio.Future[Sequence[ApiError | None]]:
        return self.changes.change_topics(
            ChangeTopics(
                created=tuple(stored(name) for name in created),
                deleted=tuple(deleted),
                finish=lambda results: CreateTopicsResponse(),
            ),
            CONTEXT,
        )

    def names(self) -> list[str]:
        return list(self.changes.topics.names())


def stored(name: str) -> StoredTopic:
    return StoredTopic(name, name.encode().ljust(16, b"."), 1, 1, {})


def codes(results: Sequence[ApiError | None]) -> list[int]:
    return [0 if error is None else error.code for error in results]


async def test_a_topic_is_visible_when_it_is_durable() -> None:
    """Between submit and delivery nobody sees it; its answer comes with the delivery."""
    world = World().begun()
    answer = world.change(created=["a"])
    assert world.names() == []
    assert not answer.done()

    world.store.deliver(1)

    assert world.names() == ["a"]
    assert codes(await answer) == [0]


async def test_changes_are_judged_on_those_under_way() -> None:
    """A second creation, and a deletion, see the creation before them."""
    world = World().begun()
    first = world.change(created=["a"])
    again = world.change(created=["a", "b"])
    gone = world.change(deleted=["a", "c"])

    for revision in (1, 2, 3):
        world.store.deliver(revision)

    assert codes(await first) == [0]
    assert codes(await again) == [ErrorCode.TOPIC_ALREADY_EXISTS, 0]
    assert codes(await gone) == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert world.names() == ["b"]


async def test_one_request_is_one_change_with_its_author() -> None:
    """All topics of a request go to the store together, with who asked and from where."""
    world = World().begun()
    world.change(created=["a", "b"])

    ((change, _),) = world.store.submitted

    assert [topic.name for topic in change.topics_added] == ["a", "b"]
    assert change.author == Author("User:ANONYMOUS", "10.0.0.7", "PLAINTEXT", "client-1")
    assert author_of(CONTEXT) == change.author


async def test_a_failure_takes_all_under_way_back() -> None:
    """Every change under way fails with the store's; the next is judged on what is durable."""
    world = World().begun()
    durable = world.change(created=["a"])
    world.store.deliver(1)
    lost = world.change(created=["b"])
    behind = world.change(created=["b"], deleted=["a"])

    world.store.deliver(StorageError("disk full"))
    world.store.deliver(StorageError("disk full"))
    retried = world.change(created=["b"])
    world.store.deliver(2)

    assert codes(await durable) == [0]
    assert codes(await lost) == [ErrorCode.KAFKA_STORAGE_ERROR]
    assert codes(await behind) == [
        ErrorCode.TOPIC_ALREADY_EXISTS,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ]
    assert codes(await retried) == [0]
    assert world.names() == ["a", "b"]
    assert [str(error) for error in world.failures] == ["disk full", "disk full"]


async def test_until_the_start_is_over_changes_wait() -> None:
    """While ACLs are read from the store nothing is written to it; then all of it is, in order."""
    world = World()
    answer = world.change(created=["a"])
    world.change(created=["b"])
    assert world.store.submitted == []

    world.begun()

    assert [change.topics_added[0].name for change, _ in world.store.submitted] == ["a", "b"]
    world.store.deliver(1)
    assert codes(await answer) == [0]


async def test_the_catalog_may_change() -> None:
    """A newly declared topic is there at once, hides a stored one, and cannot be deleted."""
    world = World().begun()
    world.change(created=["a"])
    world.store.deliver(1)
    declared = Topic("a", bytes(16), 9, 1, {}, origin="catalog.yaml")

    world.changes.declare(EMPTY.changed([declared]))
    refused = world.change(deleted=["a"])

    (error,) = await refused
    assert error is not None
    assert error.code is ErrorCode.POLICY_VIOLATION
    assert "catalog.yaml" in str(error)
    assert world.changes.topics.get("a") == declared
    world.changes.declare(EMPTY)
    found = world.changes.topics.get("a")
    assert found is not None
    assert found.partitions == 1


async def test_changes_go_on_while_another_catalog_is_made() -> None:
    """What became durable meanwhile stays, and so does what is under way when it is declared."""
    world = World().begun()
    pieces = world.changes.topics.declared.replaced([Topic("c", bytes(16), 1, 1, {}, origin="c")])
    next(pieces)
    world.change(created=["a"])
    world.store.deliver(1)
    under_way = world.change(created=["b"])

    world.changes.declare(finished(pieces))
    seen = world.names()
    world.store.deliver(2)

    assert seen == ["a", "c"]
    assert codes(await under_way) == [0]
    assert world.names() == ["a", "b", "c"]


async def test_an_answer_that_nobody_waits_for() -> None:
    """A client that has gone does not stop the change."""
    world = World().begun()
    world.change(created=["a"]).cancel()

    world.store.deliver(1)

    assert world.names() == ["a"]


async def test_with_a_shared_store_a_plan_sees_what_other_nodes_did() -> None:
    """A topic that another node made is there already, also when the plan is made again."""
    store = PenStore()
    world = World(store=store).begun()
    answer = world.change(created=["a", "b"])
    assert len(store.plan().topics_added) == 2

    world.changes.rewind()
    world.changes.follow(Change(author=AUTHOR, topics_added=(stored("a"),)))
    again = store.plan()
    store.done(2)

    assert [topic.name for topic in again.topics_added] == ["b"]
    assert codes(await answer) == [ErrorCode.TOPIC_ALREADY_EXISTS, 0]
    assert world.names() == ["a", "b"]


async def test_a_whole_state_leaves_what_the_catalog_declares() -> None:
    """Stored topics that are not in it are gone."""
    world = World(Topic("declared", bytes(16), 1, 1, {}, origin="catalog.yaml")).begun()
    world.changes.follow(Change(author=AUTHOR, topics_added=(stored("old"),)))

    await world.changes.reload(StoredState(revision=4, topics=(stored("new"),)))

    assert world.names() == ["declared", "new"]


AUTHOR = Author("User:bob", "h", "l", "c")
