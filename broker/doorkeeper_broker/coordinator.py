"""The groups of a server that clients have joined, and the timers of their time-outs.

Live groups are published as ``State.live_groups``: the handlers that list and describe groups, and
those that commit and delete offsets, find them there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar
from uuid import uuid4

from doorkeeper.server.resources.cluster import Group
from doorkeeper.server.state.log import StateLog
from doorkeeper_broker.classic_group import ClassicGroup
from doorkeeper_broker.consumer_group import ConsumerGroup

LiveGroup = ClassicGroup | ConsumerGroup

G = TypeVar("G", ClassicGroup, ConsumerGroup)


class Coordinator:
    """The live groups of one server. For the event loop's thread."""

    def __init__(self, log: StateLog, now_ms: Callable[[], int]) -> None:
        self._log = log
        self._now_ms = now_ms
        self._groups: dict[str, LiveGroup] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def find(self, group_id: str, kind: type[G]) -> G | None:
        """Return a live group of a kind; None if no client has joined such a group."""
        found = self._groups.get(group_id)
        return found if isinstance(found, kind) else None

    def is_of_other_kind(self, group_id: str, kind: type[LiveGroup]) -> bool:
        """Return whether a group has members of another kind."""
        found = self._groups.get(group_id)
        return found is not None and not isinstance(found, kind) and found.has_members

    def create(self, group_id: str, kind: type[G]) -> G:
        """Return a group, which is created if it is missing; it takes the place of an empty one."""
        found = self.find(group_id, kind)
        if found is None:
            self.forget(group_id)
            found = kind(group_id)
            self._groups[group_id] = found
        return found

    def new_member_id(self, prefix: str) -> str:
        """Return an id for a member: the id of its client or instance, then a random one."""
        return f"{prefix}-{uuid4()}"

    def update(self, group: LiveGroup) -> None:
        """Publish a group that may have changed, and set the timer of its next deadline."""
        self._publish(group)
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

    def forget(self, group_id: str) -> None:
        """Forget a group that was deleted or replaced."""
        timer = self._timers.pop(group_id, None)
        if timer is not None:
            timer.cancel()
        if self._groups.pop(group_id, None) is not None:
            before: dict[str, Group] = dict(self._log.state.live_groups)
            if before.pop(group_id, None) is not None:
                self._log.amend(live_groups=before)

    def close(self) -> None:
        """Stop all timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
