"""The parts of a server that its connections share, and the number of updates in flight."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from msgspec import Struct

from doorkeeper.base.errors import ApiError
from doorkeeper.server.api.node import Services, UpdateOperation
from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.net.fair_queue import FairQueue
from doorkeeper.server.net.large_requests import LargeRequests
from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.peer_log import PeerLog
from doorkeeper.server.net.protocol.exchange import Login
from doorkeeper.server.net.request_log import RequestLogger
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.runtime.metrics.meters import RequestMeter


class Accepted(asyncio.Protocol, ABC):
    """The interface of a channel that listeners and limits use."""

    __slots__ = ()

    peer_id: str
    """The connection id that log lines have."""

    @property
    @abstractmethod
    def is_connected(self) -> bool:
        """Return whether there is a transport: with TLS, after the handshake."""

    @abstractmethod
    def abort(self, reason: str) -> None:
        """Close without an answer."""


class AuditLog(Protocol):
    """The audit log of logins and changes. No method blocks."""

    def wait_until_recorded(self, timeout_s: float) -> Awaitable[str | None]:
        """Wait until all changes so far are recorded as durably as configured.

        Return why the client must hear that its change was not recorded, or None. It ends in about
        the time-out.
        """
        ...

    def refusal(self) -> ApiError | None:
        """Return the reason to refuse changes now; None where they are allowed."""
        ...

    def record_login(self, login: Login) -> None:
        """Record an authentication, successful or failed."""
        ...


@dataclass(slots=True, eq=False)
class UpdatesInFlight:
    """The updates in flight, including those whose clients have left.

    ``updates`` counts them by operation, and ``items`` their items.
    ``tasks`` keeps their tasks alive (the event loop does not); ``none`` is set by the last one.
    """

    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    updates: dict[str, int] = field(default_factory=lambda: dict.fromkeys(UpdateOperation, 0))
    items: dict[str, int] = field(default_factory=lambda: dict.fromkeys(UpdateOperation, 0))
    none: asyncio.Event = field(default_factory=asyncio.Event)

    def __len__(self) -> int:
        return len(self.tasks)

    async def wait_for_none(self) -> None:
        while self.tasks:
            self.none.clear()
            await self.none.wait()


class ServerContext(Struct, frozen=True):
    """The parts of a server that channels use.

    ``clock`` is monotonic, in seconds. ``building`` is held while a chunked response is built: one
    after the other, because the next one often needs what the first has encoded. ``requests`` is
    None without metrics, ``audit_log`` and ``request_log`` where they are off.
    """

    loop: asyncio.AbstractEventLoop
    clock: Callable[[], float]
    limits: Limits
    authorizer: GuardedAuthorizer | None
    services: Services
    logger: Logger
    peer_log: PeerLog
    incoming: Ledger
    outgoing: Ledger
    updates: UpdatesInFlight
    lost: Callable[[Accepted], None]
    fair_queue: FairQueue
    building: asyncio.Lock
    large_requests: LargeRequests
    requests: RequestMeter | None = None
    audit_log: AuditLog | None = None
    request_log: RequestLogger | None = None

    def observe(self, report: Callable[..., object], *arguments: Any) -> None:
        """Call a function that counts or logs: its fault must not cost a client its answer."""
        try:
            report(*arguments)
        except Exception as fault:  # the change, if any, is made
            message = "a request could not be counted or logged"
            self.loop.call_exception_handler({"message": message, "exception": fault})


# --- bytes held for connections


class Ledger:
    """The bytes held for each connection, and their sum."""

    __slots__ = ("_held", "_logger", "_what", "bytes_max", "total")

    def __init__(self, bytes_max: int, what: str, logger: Logger) -> None:
        """``what`` names what is held, for the log."""
        self.bytes_max = bytes_max
        self._what = what
        self._logger = logger
        self.total = 0
        self._held: dict[Accepted, int] = {}

    def hold(self, holder: Accepted, size: int) -> None:
        """Set the bytes of a connection; beyond the limit close the one that holds most."""
        # Holders of nothing have no entry: idle connections cost no memory here.
        before = self._held.pop(holder, 0)
        if size:
            self._held[holder] = size
        self.total += size - before
        if size and self.total > self.bytes_max:
            # O(n) in the number of connections that hold any.
            victim = max(self._held, key=self._held.__getitem__)
            self._logger.warning(
                "too much memory in use by connections: closing the largest",
                what=self._what,
                connection=victim.peer_id,
                bytes=self._held[victim],
                bytes_of_all=self.total,
                bytes_max=self.bytes_max,
            )
            self.total -= self._held.pop(victim)
            victim.abort("connection closed to free memory")

    def bytes_of(self, holder: Accepted) -> int:
        return self._held.get(holder, 0)
