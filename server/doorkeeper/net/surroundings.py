"""What all connections of a server share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from doorkeeper.authorizer.guard import GuardedAuthorizer
    from doorkeeper.limits import Limits
    from doorkeeper.metrics.requests import RequestMeter
    from doorkeeper.net.ledger import Ledger
    from doorkeeper.net.long_answers import LongAnswers
    from doorkeeper.net.request_log import RequestLog
    from doorkeeper.net.shell import Shell
    from doorkeeper.net.spec import Logger, Services, Trail
    from doorkeeper.net.strangers import Strangers
    from doorkeeper.net.updates import UnderWay


class Surroundings(NamedTuple):
    """The parts that a connection's shell uses.

    ``clock`` gives seconds and is steady. ``requests`` is None where nobody asks for metrics,
    ``trail`` where nothing is recorded, ``request_log`` where requests are never told.
    """

    loop: asyncio.AbstractEventLoop
    clock: Callable[[], float]
    limits: Limits
    authorizer: GuardedAuthorizer | None
    services: Services
    logger: Logger
    incoming: Ledger[Shell]
    outgoing: Ledger[Shell]
    updates: UnderWay
    lost: Callable[[Shell], None]
    strangers: Strangers
    long_answers: LongAnswers
    requests: RequestMeter | None = None
    trail: Trail | None = None
    request_log: RequestLog | None = None
