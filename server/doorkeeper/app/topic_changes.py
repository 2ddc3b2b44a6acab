"""Making, altering and deleting topics: in order, durable before visible.

Each change is computed on ``_tail``, the state with every change that is under way, and becomes
visible when the store has it. When the store fails, it fails all changes that are under way, and
the tail goes back to what is visible. ACLs follow the same rule.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from doorkeeper.app.not_stored import not_stored
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.storage.contract import Asker, Change, Participant, StorageError, StoredTopic
from doorkeeper.topic_alteration import altered_topic
from doorkeeper.topics import topic_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.node import AlteredResource, ChangeTopics, RequestContext
    from doorkeeper.storage.contract import Author, Store, StoredState
    from doorkeeper.topics import Layer, Topics

    Results = list[ApiError | None]


class TopicChanges(Participant):
    """All topics, and who changes them. For the loop's thread."""

    def __init__(
        self,
        topics: Topics,
        store: Store,
        loop: asyncio.AbstractEventLoop,
        *,
        on_failure: Callable[[StorageError], None],
    ) -> None:
        """Begin with the topics of the catalog and of the store."""
        self.topics = topics
        """All topics that are durable."""
        self._tail = topics
        store.join(self)
        self._store = store
        self._loop = loop
        self._on_failure = on_failure
        self._waiting: list[Callable[[], None]] | None = []

    def begin(self) -> None:
        """Let changes go to the store; until then, while ACLs are read from it, they wait."""
        waiting, self._waiting = self._waiting or [], None
        for submit in waiting:
            submit()

    def declare(self, declared: Layer) -> None:
        """Replace what the catalog declares, also under changes that are under way."""
        if declared is self.topics.declared:
            return
        self.topics = self.topics.with_declared(declared)
        self._tail = self._tail.with_declared(declared)

    def change_topics(
        self, change: ChangeTopics, context: RequestContext
    ) -> asyncio.Future[Sequence[ApiError | None]]:
        """Make and delete topics in one revision; the results are in the order of the change."""
        results: Results = []

        def plan() -> Change:
            results[:], added, removed = self._planned(change)
            return Change(author=author_of(context), topics_added=added, topics_removed=removed)

        return self._submitted(plan, results, len(change.created) + len(change.deleted))

    def _planned(
        self, change: ChangeTopics
    ) -> tuple[Results, tuple[StoredTopic, ...], tuple[str, ...]]:
        """Work a change out on the tail, which has it then; what is refused is left out."""
        tail = self._tail
        results: Results = []
        added: list[StoredTopic] = []
        removed: list[str] = []
        for stored in change.created:
            error = _refusal_of_creation(tail, stored.name)
            if error is None:
                added.append(stored)
                tail = tail.changed(added=[topic_of(stored)])
            results.append(error)
        for name in change.deleted:
            error = _refusal_of_deletion(tail, name)
            if error is None:
                removed.append(name)
                tail = tail.changed(removed=[name])
            results.append(error)
        self._tail = tail
        return results, tuple(added), tuple(removed)

    async def alter_topic(
        self,
        resource: AlteredResource,
        context: RequestContext,
        *,
        validate_only: bool,
    ) -> ApiError | None:
        """Change the settings of a topic, in a revision of its own; return why it is refused."""
        if validate_only:
            try:
                altered_topic(resource, self._tail.get(resource.name))
            except ApiError as error:
                return error
            return None
        results: Results = []

        def plan() -> Change:
            author = author_of(context)
            try:
                altered = self._altered(resource)
            except ApiError as error:
                results[:] = [error]
                return Change(author=author)
            results[:] = [None]
            return Change(author=author, topics_altered=altered)

        (result,) = await self._submitted(plan, results, 1)
        return result

    def _altered(self, resource: AlteredResource) -> tuple[StoredTopic, ...]:
        """Return the topic as it shall be, and put it into the tail; nothing where it is so.

        Raises:
            ApiError: it cannot be so.

        """
        name = resource.name
        topic = self._tail.get(name)
        configs = altered_topic(resource, topic)
        assert topic is not None, "another one is refused"
        if configs == topic.configs:
            return ()
        stored = StoredTopic(
            name, topic.topic_id, topic.partitions, topic.replication_factor, configs
        )
        self._tail = self._tail.changed(added=[topic_of(stored)], removed=[name])
        return (stored,)

    def _submitted(
        self, plan: Callable[[], Change], results: Results, count: int
    ) -> asyncio.Future[Sequence[ApiError | None]]:
        """Write what is planned; ``plan`` puts the results there, as they are without a failure."""
        answered: asyncio.Future[Sequence[ApiError | None]] = self._loop.create_future()
        change: Change | None = None

        def planned() -> Change:
            nonlocal change
            change = plan()
            return change

        def on_done(outcome: int | StorageError) -> None:
            if isinstance(outcome, StorageError):
                self._tail = self.topics
                failed = not_stored(outcome)
                done: Results = [error or failed for error in results or [None] * count]
                self._on_failure(outcome)
            else:
                assert change is not None
                self.topics = _after(self.topics, change)
                done = results
            if not answered.done():
                answered.set_result(done)

        if self._waiting is None:
            self._store.submit(planned, on_done)
        else:
            self._waiting.append(lambda: self._store.submit(planned, on_done))
        return answered

    def rewind(self) -> None:
        """Forget what was planned and is not durable."""
        self._tail = self.topics

    def follow(self, change: Change) -> None:
        """Make a change of another node visible."""
        self.topics = self._tail = _after(self.topics, change)

    async def reload(self, state: StoredState) -> None:
        """Make a whole state visible; what the catalog declares stays."""
        self.topics = self._tail = self.topics.with_stored(map(topic_of, state.topics))


def _after(topics: Topics, change: Change) -> Topics:
    return topics.changed(
        added=map(topic_of, (*change.topics_added, *change.topics_altered)),
        removed=(*change.topics_removed, *(each.name for each in change.topics_altered)),
    )


def author_of(context: RequestContext) -> Author:
    """Return who asked, as the change log keeps it."""
    return Asker.of(context.authorizable)


def _refusal_of_creation(topics: Topics, name: str) -> ApiError | None:
    if topics.get(name) is None:
        return None
    return ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")


def _refusal_of_deletion(topics: Topics, name: str) -> ApiError | None:
    topic = topics.get(name)
    if topic is None:
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if topic.origin is None:
        return None
    # The file was read again since the request was judged.
    return ApiError(
        ErrorCode.POLICY_VIOLATION,
        f"Topic '{name}' cannot be deleted: it is declared in {topic.origin}.",
    )
