"""The groups of a server that clients have joined, and the timers of their time-outs.

Live groups are published as ``State.live_groups``: the handlers that list and describe groups, and
those that commit and delete offsets, find them there.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Final, TypeVar
from uuid import uuid4

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.config.test_broker_keys import (
    GROUP_CONSUMER_MIGRATION_POLICY,
    GROUP_MAX_SIZE,
)
from doorkeeper.server.resources.cluster import Group
from doorkeeper.server.state.log import StateLog
from doorkeeper_broker.classic_group import ClassicGroup
from doorkeeper_broker.consumer_group import ConsumerGroup
from doorkeeper_broker.group_migration import DOWNGRADES, downgraded
from doorkeeper_broker.share_group import ShareGroup

LiveGroup = ClassicGroup | ConsumerGroup | ShareGroup

G = TypeVar("G", ClassicGroup, ConsumerGroup, ShareGroup)

GROUPS_MAX: Final = 10_000
"""The live groups of a server. A broker has no bound."""

GROUPS_BYTES_MAX: Final = 134_217_728
"""What the members of all live groups take. A broker's group is bounded by its largest record."""


class Coordinator:
    """The live groups of one server. For the event loop's thread."""

    def __init__(
        self, log: StateLog, now_ms: Callable[[], int], settings: Callable[[], Settings]
    ) -> None:
        self._log = log
        self._settings = settings
        self._now_ms = now_ms
        self._groups: dict[str, LiveGroup] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._sizes: Counter[str] = Counter()
        self._size = 0

    def find(self, group_id: str, kind: type[G]) -> G | None:
        """Return a live group of a kind; None if no client has joined such a group."""
        found = self._groups.get(group_id)
        return found if isinstance(found, kind) else None

    def is_of_other_kind(self, group_id: str, kind: type[LiveGroup]) -> bool:
        """Return whether a group is of another kind, and cannot become one of this kind."""
        found = self._groups.get(group_id)
        if found is None or isinstance(found, kind):
            return False
        return found.has_members or isinstance(found, ShareGroup)

    def create(self, group_id: str, kind: type[G]) -> G:
        """Return a group, which is created if it is missing; it takes the place of an empty one.

        Raises:
            ApiError: there are too many groups with members.
        """
        found = self.find(group_id, kind)
        if found is None:
            self.forget(group_id)
            if len(self._groups) >= GROUPS_MAX:
                self._forget_unused()
            found = kind(group_id)
            self._groups[group_id] = found
        return found

    def _forget_unused(self) -> None:
        """Forget the oldest group without members; its offsets are kept elsewhere."""
        unused = (
            group_id
            for group_id, each in self._groups.items()
            if not (each.has_members or isinstance(each, ShareGroup))
        )
        oldest = next(unused, None)
        if oldest is None:
            text = f"The coordinator has {GROUPS_MAX} groups, and takes no more."
            raise ApiError(ErrorCode.GROUP_MAX_SIZE_REACHED, text)
        self.forget(oldest)

    def new_member_id(self, prefix: str) -> str:
        """Return an id for a member: the id of its client or instance, then a random one."""
        return f"{prefix}-{uuid4()}"

    def replace(self, group: LiveGroup) -> None:
        """Let a group take the place of the one with its id, whose members it has."""
        timer = self._timers.pop(group.group_id, None)
        if timer is not None:
            timer.cancel()
        self._groups[group.group_id] = group

    def update(self, group: LiveGroup) -> None:
        """Publish a group that may have changed, and set the timer of its next deadline.

        A consumer group whose last member of the newer protocol has gone is a classic one again.
        """
        if isinstance(group, ConsumerGroup):
            settings = self._settings()
            if settings[GROUP_CONSUMER_MIGRATION_POLICY] in DOWNGRADES:
                classic = downgraded(group, settings[GROUP_MAX_SIZE], self._now_ms())
                if classic is not None:
                    self.replace(classic)
                    group = classic
        self._publish(group)
        self.schedule(group)
        self._size += group.size - self._sizes[group.group_id]
        self._sizes[group.group_id] = group.size
        while self._size > GROUPS_BYTES_MAX:
            # Its members join anew.
            [(largest, _)] = self._sizes.most_common(1)
            self.forget(largest)

    def schedule(self, group: LiveGroup) -> None:
        """Set the timer of the next deadline of a group."""
        timer = self._timers.pop(group.group_id, None)
        if timer is not None:
            timer.cancel()
        deadline_ms = group.next_deadline_ms
        if deadline_ms is not None:
            delay_s = max(deadline_ms - self._now_ms(), 1) / 1000
            loop = asyncio.get_running_loop()
            self._timers[group.group_id] = loop.call_later(delay_s, self._advance, group)

    def _advance(self, group: LiveGroup) -> None:
        if self._groups.get(group.group_id) is group:
            group.advance(self._now_ms())
            self.update(group)

    def _publish(self, group: LiveGroup) -> None:
        before = self._log.state.live_groups
        found = group.describe()
        if not group.is_visible:
            if group.group_id not in before:
                return
            after = {key: value for key, value in before.items() if key != group.group_id}
        elif before.get(group.group_id) == found:
            return
        else:
            after = {**before, group.group_id: found}
        self._log.amend(live_groups=after)

    def forget_topics(self, is_deleted: Callable[[bytes], bool]) -> None:
        """Let share groups forget topics that are deleted."""
        for group in self._groups.values():
            if isinstance(group, ShareGroup):
                for topic_id in filter(is_deleted, tuple(group.initialized)):
                    group.forget_topic(topic_id)

    def forget(self, group_id: str) -> None:
        """Forget a group that was deleted or replaced, or is too large."""
        timer = self._timers.pop(group_id, None)
        if timer is not None:
            timer.cancel()
        self._size -= self._sizes.pop(group_id, 0)
        group = self._groups.pop(group_id, None)
        if isinstance(group, ClassicGroup):
            group.dissolve()
        if isinstance(group, ShareGroup):
            for partition in tuple(group.partitions):
                group.drop(partition)
        if group is not None:
            before: dict[str, Group] = dict(self._log.state.live_groups)
            if before.pop(group_id, None) is not None:
                self._log.amend(live_groups=before)

    def close(self) -> None:
        """Stop all timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
