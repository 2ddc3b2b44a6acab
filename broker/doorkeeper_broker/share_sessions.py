"""The sessions in which members of share groups fetch: which partitions each of them reads.

A session ends with the connection that opened it. Those that were idle longest make room for
others.

Source: ``SharePartitionManager.newContext`` and ``ShareSessionCache`` of Kafka 4.3.1, which has no
room beyond its bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.base.errors import ApiError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper_broker.assignors import Partition

INITIAL: Final = 0
FINAL: Final = -1
_EPOCH_MAX: Final = 0x7FFFFFFF

IDLE_MS: Final = 60_000
"""How long a session must be idle to make room: twice the default time of an acquisition lock."""

Key = tuple[str, str]
"""Ids of the group and of the member."""


class _Session:
    def __init__(self, partitions: Iterable[Partition], now_ms: int, connection: int) -> None:
        self.partitions = dict.fromkeys(partitions)
        self.epoch = 1
        self.used_ms = now_ms
        self.connection = connection


class ShareSessions:
    """The sessions of a server, the one that was used last at the end."""

    def __init__(self) -> None:
        self._sessions: dict[Key, _Session] = {}

    def open(
        self,
        key: Key,
        partitions: Iterable[Partition],
        now_ms: int,
        count_max: int,
        connection: int,
    ) -> None:
        """Open a session in the place of an earlier one, for the connection of this number.

        Raises:
            ApiError: there are too many.
        """
        self._sessions.pop(key, None)
        if len(self._sessions) >= count_max:
            oldest = next(iter(self._sessions))
            if self._sessions[oldest].used_ms > now_ms - IDLE_MS:
                raise ApiError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
            del self._sessions[oldest]
        self._sessions[key] = _Session(partitions, now_ms, connection)

    def of_connection(self, connection: int) -> tuple[Key, ...]:
        """Return the sessions that a connection opened."""
        return tuple(
            key for key, session in self._sessions.items() if session.connection == connection
        )

    def partitions(self, key: Key) -> tuple[Partition, ...]:
        """Return the partitions of a session, in the order in which they came.

        Raises:
            ApiError: there is none.
        """
        return tuple(self._find(key).partitions)

    def use(self, key: Key, epoch: int, now_ms: int) -> None:
        """Begin the next request of a session.

        Raises:
            ApiError: there is none, or another request is the next one.
        """
        session = self._find(key)
        if epoch == FINAL:
            return
        if epoch != session.epoch:
            raise ApiError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        session.epoch = 1 if epoch == _EPOCH_MAX else epoch + 1
        session.used_ms = now_ms
        self._sessions[key] = self._sessions.pop(key)

    def change(self, key: Key, add: Iterable[Partition], remove: Iterable[Partition]) -> None:
        """Add partitions to a session, and remove others."""
        partitions = self._find(key).partitions
        partitions.update(dict.fromkeys(add))
        for each in remove:
            partitions.pop(each, None)

    def close(self, key: Key) -> None:
        """Forget a session, if there is one."""
        self._sessions.pop(key, None)

    def _find(self, key: Key) -> _Session:
        session = self._sessions.get(key)
        if session is None:
            raise ApiError(ErrorCode.SHARE_SESSION_NOT_FOUND)
        return session
