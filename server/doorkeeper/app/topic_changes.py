"""Making, altering and deleting topics: in order, durable before visible.

Each change is computed on ``_tail``, the state with every change that is under way, and becomes
visible when the store has it. When the store fails, it fails all changes that are under way, and
the tail goes back to what is visible. ACLs follow the same rule.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.storage.contract import Author, Change, StorageError, StoredTopic
from doorkeeper.topic_alteration import altered_topic
from doorkeeper.topics import Topics, topic_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from doorkeeper.node import AlteredResource, ChangeTopics, RequestContext, Topic
    from doorkeeper.storage.contract import Store

    Results = list[ApiError | None]


class TopicChanges:
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
        self._visible = topics
        self._tail = topics
        self._store = store
        self._loop = loop
        self._on_failure = on_failure
        self._waiting: list[Callable[[], None]] | None = []

    def begin(self) -> None:
        """Let changes go to the store; until then, while ACLs are read from it, they wait."""
        waiting, self._waiting = self._waiting or [], None
        for submit in waiting:
            submit()

    @property
    def topics(self) -> Topics:
        """Return all topics that are durable."""
        return self._visible

    def declare(self, declared: Iterable[Topic]) -> None:
        """Replace what the catalog declares."""
        declared = tuple(declared)
        self._visible = self._visible.with_declared(declared)
        self._tail = self._tail.with_declared(declared)

    def change_topics(
        self, change: ChangeTopics, context: RequestContext
    ) -> asyncio.Future[Sequence[ApiError | None]]:
        """Make and delete topics in one revision; the results are in the order of the change."""
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
        return self._submitted(
            Change(
                author=author_of(context),
                topics_added=tuple(added),
                topics_removed=tuple(removed),
            ),
            results,
        )

    async def alter_topic(
        self,
        resource: AlteredResource,
        context: RequestContext,
        *,
        validate_only: bool,
    ) -> ApiError | None:
        """Change the settings of a topic, in a revision of its own; return why it is refused."""
        name = resource.name
        topic = self._tail.get(name)
        try:
            configs = altered_topic(resource, topic)
        except ApiError as error:
            return error
        assert topic is not None, "another one is refused"
        if validate_only or configs == topic.configs:
            return None
        stored = StoredTopic(
            name, topic.topic_id, topic.partitions, topic.replication_factor, configs
        )
        self._tail = self._tail.changed(added=[topic_of(stored)], removed=[name])
        change = Change(author=author_of(context), topics_altered=(stored,))
        (result,) = await self._submitted(change, [None])
        return result

    def _submitted(
        self, change: Change, results: Results
    ) -> asyncio.Future[Sequence[ApiError | None]]:
        answered: asyncio.Future[Sequence[ApiError | None]] = self._loop.create_future()

        def on_done(outcome: int | StorageError) -> None:
            if isinstance(outcome, StorageError):
                self._tail = self._visible
                failed = ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "The change could not be stored.")
                done: Results = [error or failed for error in results]
                self._on_failure(outcome)
            else:
                self._visible = self._visible.changed(
                    added=map(topic_of, (*change.topics_added, *change.topics_altered)),
                    removed=(
                        *change.topics_removed,
                        *(each.name for each in change.topics_altered),
                    ),
                )
                done = results
            if not answered.done():
                answered.set_result(done)

        if self._waiting is None:
            self._store.submit(change, on_done)
        else:
            self._waiting.append(lambda: self._store.submit(change, on_done))
        return answered


def author_of(context: RequestContext) -> Author:
    """Return who asked, as the change log keeps it."""
    asked = context.authorizable
    return Author(
        principal=str(asked.principal),
        host=asked.client_address,
        listener=asked.listener_name,
        client_id=asked.client_id,
    )


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
