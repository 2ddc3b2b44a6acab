"""What the connections of a server share: the parts that they use, and the updates in flight."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple, Protocol

from doorkeeper.api.node import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from doorkeeper.api.node import Services
    from doorkeeper.authorizer.guard import GuardedAuthorizer
    from doorkeeper.connection.exchange import Login
    from doorkeeper.errors import ApiError
    from doorkeeper.limits import Limits
    from doorkeeper.logger import Logger
    from doorkeeper.metrics.requests import RequestMeter
    from doorkeeper.net.chunked_responses import ChunkedResponses
    from doorkeeper.net.fair_queue import FairQueue
    from doorkeeper.net.ledger import Ledger
    from doorkeeper.net.request_log import RequestLog


class Accepted(asyncio.Protocol, ABC):
    """The channel of a connection, as far as listeners and limits use it."""

    __slots__ = ()

    @property
    @abstractmethod
    def peer_id(self) -> str:
        """Return the connection as the log names it."""

    @property
    @abstractmethod
    def is_connected(self) -> bool:
        """Say whether there is a transport: with TLS, whether the handshake is over."""

    @abstractmethod
    def abort(self, reason: str) -> None:
        """Close now, whatever is under way."""


class AuditLog(Protocol):
    """The record of logins and changes. Nothing here blocks."""

    @property
    def is_recorded(self) -> bool:
        """Say whether every change so far is recorded as durably as is promised."""
        ...

    def recorded(self) -> Awaitable[ApiError | None]:
        """Wait until it is; return the error of a change that was made but not recorded."""
        ...

    def refusal(self) -> ApiError | None:
        """Return why nothing may be changed now; None where it may."""
        ...

    def logged_in(self, login: Login) -> None:
        """Record an authentication, successful or failed."""
        ...


class PendingUpdates:
    """The updates in flight, also those whose clients have left; channels count them.

    ``updates`` counts them by operation, one of ``OPERATIONS``, and ``items`` their items.
    ``tasks`` holds their tasks, since the event loop does not; ``none`` is set with the last.
    """

    __slots__ = ("items", "none", "tasks", "updates")

    def __init__(self) -> None:
        """Begin with none."""
        self.tasks: set[asyncio.Task[None]] = set()
        self.updates = dict.fromkeys(OPERATIONS, 0)
        self.items = dict.fromkeys(OPERATIONS, 0)
        self.none = asyncio.Event()

    def __len__(self) -> int:
        return len(self.tasks)

    async def wait_for_none(self) -> None:
        """Wait until there is none."""
        while self.tasks:
            self.none.clear()
            await self.none.wait()


class ServerContext(NamedTuple):
    """The parts of a server that channels use.

    ``clock`` gives seconds and is steady. ``requests`` is None without metrics, ``audit_log`` and
    ``request_log`` where there is none.
    """

    loop: asyncio.AbstractEventLoop
    clock: Callable[[], float]
    limits: Limits
    authorizer: GuardedAuthorizer | None
    services: Services
    logger: Logger
    incoming: Ledger[Accepted]
    outgoing: Ledger[Accepted]
    updates: PendingUpdates
    lost: Callable[[Accepted], None]
    fair_queue: FairQueue
    chunked_responses: ChunkedResponses
    requests: RequestMeter | None = None
    audit_log: AuditLog | None = None
    request_log: RequestLog | None = None
