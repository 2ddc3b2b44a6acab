"""The socket's side of a connection, with a transport that does what the test says."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.net.channel import Channel
from doorkeeper.server.net.context import Ledger, ServerContext, UpdatesInFlight
from doorkeeper.server.net.fair_queue import FairQueue
from doorkeeper.server.net.large_requests import LargeRequests
from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.options import UNAUTHENTICATED, ConnectionSecurity
from doorkeeper.server.net.peer_log import PeerLog
from doorkeeper.server.net.protocol.exchange import Counts
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.edge import (
    Clock,
    HandAuthorizer,
    HandServices,
    Log,
    answer,
    connection,
    frames,
    until,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.server.api.node import Services
    from doorkeeper.server.authorizer.contract import AclCreateResult, Authorizer
    from doorkeeper.server.net.context import Accepted


class Transport(asyncio.Transport):
    """Keeps what is written; full while ``stuck``."""

    def __init__(self) -> None:
        super().__init__()
        self.channel: Channel | None = None
        self.writes: list[bytes] = []
        self.stuck = False
        self.reading = True
        self.closing = False
        self.aborted = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high == 0

    def get_write_buffer_size(self) -> int:
        return len(self.writes[-1]) if self.stuck else 0

    def write(self, data: Any) -> None:
        assert not self.closing
        self.writes.append(bytes(data))
        if self.stuck and self.channel is not None:
            self.channel.pause_writing()

    def is_reading(self) -> bool:
        return self.reading

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True

    def abort(self) -> None:
        self.closing = self.aborted = True

    def answers(self, first: int = 0) -> list[bytes]:
        """Return the answers without their sizes, from a write on."""
        return frames(b"".join(self.writes[first:]))

    def names(self, first: int = 0) -> list[str]:
        """Return the names that DescribeAcls answered, from a write on."""
        return [
            answer(frame, DescribeAclsResponse, 3)[1].error_message for frame in self.answers(first)
        ]


class PendingAuthorizer(HandAuthorizer):
    """Has a future for each item, which the test completes; ``begin`` is called by each request."""

    def __init__(self, begin: Callable[[], None] = lambda: None) -> None:
        super().__init__(self._promise)
        self.futures: list[asyncio.Future[AclCreateResult]] = []
        self._begin = begin

    def _promise(self, bindings: Sequence[AclBinding]) -> list[asyncio.Future[AclCreateResult]]:
        self._begin()
        made = [asyncio.get_running_loop().create_future() for _ in bindings]
        self.futures += made
        return made


class World:
    """One or more channels, and all that they share.

    ``told`` is whom channels tell of their work: fields of ``ServerContext`` that may be missing.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        authorizer: Authorizer | None = None,
        offers: ConnectionSecurity = UNAUTHENTICATED,
        **told: Any,
    ) -> None:
        self.log, self.clock = Log(), Clock()
        self.lost: list[Accepted] = []
        self.limits, self.offers = limits or Limits(), offers
        guarded = None if authorizer is None else GuardedAuthorizer(authorizer)
        self.services = HandServices(guarded, self.limits)
        self.fair_queue = FairQueue(asyncio.get_running_loop(), 1.0)
        self.context = ServerContext(
            asyncio.get_running_loop(),
            self.clock,
            self.limits,
            guarded,
            cast("Services", self.services),
            self.log,
            PeerLog(self.log, asyncio.get_running_loop()),
            Ledger(self.limits.queued_in_bytes_max, "in", self.log),
            Ledger(self.limits.queued_out_bytes_max, "out", self.log),
            UpdatesInFlight(),
            self.lost.append,
            self.fair_queue,
            asyncio.Lock(),
            LargeRequests(asyncio.get_running_loop()),
            **told,
        )

    async def turns(self) -> None:
        """Let the fair queue do its work until none waits."""
        await until(lambda: not self.fair_queue.waiting)

    def connect(self, transport: Transport | None = None) -> tuple[Channel, Transport]:
        """Return a channel that is connected."""
        counts = Counts(answers=self.context.requests is not None)
        inner = connection(self.offers, self.limits, counts=counts, established=False)
        channel, transport = Channel(inner, self.context), transport or Transport()
        transport.channel = channel
        channel.connection_made(transport)
        return channel, transport
