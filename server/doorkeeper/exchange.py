"""What a connection and its shell tell each other: values, and what is counted.

Peer       who is connected to what
Advance    what came of a frame: an answer, an ``Update``, ``Lengthy``, ``Authenticating``,
           ``Refused``, ``Closed``, or nothing
Note       something that somebody should read
Answered   an answer and its request, where somebody tells of them
Login      who a client has proved to be, or that it has failed to
Counts     what is only counted, over all connections
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from doorkeeper.node import (
    AlterConfigs,
    AlterCredentials,
    ChangeToken,
    ChangeTopics,
    CreateAcls,
    DeleteAcls,
    RequestContext,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from doorkeeper.acl.model import Principal
    from doorkeeper.api import Api
    from doorkeeper.authn.contract import Step
    from doorkeeper.node import Response
    from doorkeeper.pieces import Pieces
    from doorkeeper.remembering import LeftBehind
    from doorkeeper_wire.headers import RequestHeader

UPDATES: Final[frozenset[type]] = frozenset(
    {CreateAcls, DeleteAcls, ChangeTopics, AlterConfigs, AlterCredentials, ChangeToken}
)
"""The outcomes of a handler that are no answer yet."""


class Peer(NamedTuple):
    """The two ends of a connection, and the listener that took it."""

    connection_id: str
    host: str
    listener_name: str
    security_protocol: str
    controller: bool = False
    processor: int = 0
    number: int = 0

    @property
    def description(self) -> str:
        """Return the text ``Request(...)`` of a broker's refusals.

        A broker prints Java's identity hash of the session here; ours is the connection's number.
        """
        return (
            f"Request(processor={self.processor}, connectionId={self.connection_id},"
            f" session=org.apache.kafka.network.Session@{self.number:x},"
            f" listenerName=ListenerName({self.listener_name}),"
            f" securityProtocol={self.security_protocol}, buffer=null, envelope=None)"
        )


class Update(NamedTuple):
    """A request that changes something, and all that is needed to answer it."""

    outcome: CreateAcls | DeleteAcls | ChangeTopics | AlterConfigs | AlterCredentials | ChangeToken
    context: RequestContext
    api: Api
    request: Any
    header: RequestHeader


class Lengthy(NamedTuple):
    """A request whose answer takes long to make: its ``body`` comes in pieces.

    ``left`` is what the request has left behind; None where its answer is not remembered.
    """

    body: Pieces[bytes]
    response: Response
    api: Api
    request: Any
    header: RequestHeader
    frame: bytes
    left: LeftBehind | None


class Authenticating(NamedTuple):
    """A token whose mechanism takes its time. ``header`` is None where tokens come bare."""

    step: Awaitable[Step]
    header: RequestHeader | None


class Refused(NamedTuple):
    """An authentication that failed. ``answer`` may be empty; ``reason`` holds no secret."""

    answer: bytes
    reason: str
    reauthentication: bool


class Closed(NamedTuple):
    """The end of a connection that did nothing right. An empty ``reason`` is worth no log line."""

    reason: str
    fields: Mapping[str, object] = {}


class Note(NamedTuple):
    """Something about a request that somebody should read; what went wrong has an ``error``."""

    event: str
    fields: Mapping[str, object]
    error: BaseException | None = None


class Login(NamedTuple):
    """A client that has proved who it is, or has failed to.

    ``reason`` says why it failed, without secrets, and is None where it did not; ``principal`` is
    None where it did. ``mechanism`` is TLS for a certificate, and empty where none was agreed on.
    ``header`` is that of the request that decided it, None where there was none.
    """

    peer: Peer
    principal: Principal | None
    mechanism: str
    reauthentication: bool
    client_software: str
    header: RequestHeader | None = None
    reason: str | None = None


class Answered(NamedTuple):
    """An answer as it left, for who tells of requests. Sizes are those of frames."""

    header: RequestHeader
    client_software: str
    response: Response
    request_bytes: int
    response_bytes: int


class Counts:
    """What is counted over all connections of a server."""

    __slots__ = (
        "authentications",
        "failed_authentications",
        "killed_by_expiry",
        "requests",
        "trailing_bytes",
        "withheld_acls",
    )

    def __init__(self) -> None:
        """Begin at zero."""
        self.requests = 0
        self.trailing_bytes = 0
        self.failed_authentications = 0
        self.killed_by_expiry = 0
        self.withheld_acls = 0
        self.authentications: Counter[tuple[str, bool]] = Counter()
        """By the mechanism, empty where none was agreed on, and by whether they succeeded."""


Advance = bytes | Update | Lengthy | Authenticating | Refused | Closed | None
