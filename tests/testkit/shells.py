"""The socket's side of a connection, with a transport that does what the test says."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from doorkeeper.authorizer.guard import GuardedAuthorizer
from doorkeeper.limits import Limits
from doorkeeper.net.ledger import Ledger
from doorkeeper.net.long_answers import LongAnswers
from doorkeeper.net.shell import Shell
from doorkeeper.net.spec import IN_CLEAR, Offers
from doorkeeper.net.strangers import Strangers
from doorkeeper.net.surroundings import Surroundings
from doorkeeper.net.updates import UnderWay
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.edge import Clock, HandServices, Log, answer, connection, frames, until

if TYPE_CHECKING:
    from doorkeeper.authorizer.contract import Authorizer
    from doorkeeper.remembering import AnswerMemory


class Transport(asyncio.Transport):
    """Keeps what is written; full while ``stuck``."""

    def __init__(self) -> None:
        super().__init__()
        self.shell: Shell | None = None
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
        if self.stuck and self.shell is not None:
            self.shell.pause_writing()

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


class World:
    """One or more shells, and all that they share.

    ``told`` is whom shells tell of their work: fields of ``Surroundings`` that may be missing.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        authorizer: Authorizer | None = None,
        offers: Offers = IN_CLEAR,
        **told: Any,
    ) -> None:
        self.log, self.services, self.clock = Log(), HandServices(), Clock()
        self.lost: list[Shell] = []
        self.limits, self.offers = limits or Limits(), offers
        self.strangers = Strangers(asyncio.get_running_loop(), 1.0)
        self.memory: AnswerMemory | None = None
        self.around = Surroundings(
            asyncio.get_running_loop(),
            self.clock,
            self.limits,
            None if authorizer is None else GuardedAuthorizer(authorizer),
            self.services,
            self.log,
            Ledger(self.limits.queued_in_bytes_max),
            Ledger(self.limits.queued_out_bytes_max),
            UnderWay(),
            self.lost.append,
            self.strangers,
            LongAnswers(asyncio.get_running_loop()),
            **told,
        )

    async def turns(self) -> None:
        """Let strangers have their turns until none waits."""
        await until(lambda: not self.strangers.waiting)

    def connect(self) -> tuple[Shell, Transport]:
        """Return a shell that is connected."""
        inner = connection(self.offers, self.limits, established=False, memory=self.memory)
        shell, transport = Shell(inner, self.around), Transport()
        transport.shell = shell
        shell.connection_made(transport)
        return shell, transport
