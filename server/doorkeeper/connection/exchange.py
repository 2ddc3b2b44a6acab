"""What a connection and the channel of its socket exchange: values, and what is counted.

Peer              the two ends of a connection
Advance           what came of a frame: an answer, a ``PendingUpdate``, a ``ChunkedResponse``,
                  ``Authenticating``, ``Refused``, ``Closed``, or nothing
Note              an event for the log
SideEffects       what handling a request did beside its response
CompletedRequest  a request and its answer, for the request log
Login             an authentication that succeeded or failed
Counts            what is only counted, over all connections
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from doorkeeper.acl.model import Principal
    from doorkeeper.api.declaration import Api
    from doorkeeper.api.node import Response, Update
    from doorkeeper.authn.contract import Step
    from doorkeeper.authorizer.guard import RecordedDecision
    from doorkeeper.descriptions.rows import Description
    from doorkeeper.runtime.slices import Slices
    from doorkeeper_wire.headers import RequestHeader


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


class PendingUpdate(NamedTuple):
    """A request that changes something, and what is needed to answer it."""

    update: Update
    api: Api
    request: Any
    header: RequestHeader


Version = tuple[object, ...]
"""What responses are made from: the state, which is compared by identity, then plain values."""


class SideEffects(NamedTuple):
    """What handling a request did beside its response, and the version it was handled with.

    ``allowed`` and ``denied`` count decisions; ``decisions`` are those that the audit log has.
    """

    version: Version
    allowed: int
    denied: int
    decisions: tuple[RecordedDecision, ...]


class Body(NamedTuple):
    """A frame, and where the body of its request begins."""

    frame: bytes
    offset: int


class Decoded(NamedTuple):
    """A request that was decoded in a thread, and where it ends in its frame."""

    api: Api
    request: Any
    end: int


class PendingDecoding(NamedTuple):
    """A request that is so large that it is decoded in a thread."""

    api: Api
    header: RequestHeader
    body: Body

    def decode(self) -> Decoded:
        """Decode the request; in any thread.

        Raises:
            Malformed: it cannot be decoded.

        """
        frame, offset = self.body
        return Decoded(self.api, *self.api.request.decode(frame, offset, self.header.api_version))


class ChunkedResponse(NamedTuple):
    """A request whose response takes long to encode: its ``body`` is built in chunks.

    ``response`` knows what to finish of it for other clients where this one leaves. ``effects`` is
    None where the response is not cached.
    """

    body: Slices[bytearray]
    response: Description
    api: Api
    request: Any
    header: RequestHeader
    frame: bytes
    effects: SideEffects | None


class Authenticating(NamedTuple):
    """A token that a mechanism verifies asynchronously. ``header`` is None for a bare token."""

    step: Awaitable[Step]
    header: RequestHeader | None


class Refused(NamedTuple):
    """An authentication that failed. ``answer`` may be empty; ``reason`` holds no secret."""

    answer: bytes
    reason: str
    reauthentication: bool


class Closed(NamedTuple):
    """The end of a connection without an answer. An empty ``reason`` is not logged."""

    reason: str
    fields: Mapping[str, object] = {}


class Note(NamedTuple):
    """An event for the log; a failure has its ``error``."""

    event: str
    fields: Mapping[str, object]
    error: BaseException | None = None


class Login(NamedTuple):
    """An authentication, successful or failed.

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


class CompletedRequest(NamedTuple):
    """A request and its answer, for the request log. Sizes are those of frames."""

    header: RequestHeader
    client_software: str
    response: Response
    request_bytes: int
    response_bytes: int


class Counts:
    """What is counted over all connections of a server."""

    __slots__ = (
        "answers",
        "authentications",
        "failed_authentications",
        "killed_by_expiry",
        "requests",
        "trailing_bytes",
        "withheld_acls",
    )

    def __init__(self, *, answers: bool = True) -> None:
        """Begin at zero; ``answers`` says whether connections note each answer for metrics."""
        self.answers = answers
        self.requests = 0
        self.trailing_bytes = 0
        self.failed_authentications = 0
        self.killed_by_expiry = 0
        self.withheld_acls = 0
        self.authentications: Counter[tuple[str, bool]] = Counter()
        """By the mechanism, empty where none was agreed on, and by whether they succeeded."""


AnyBytes = TypeVar("AnyBytes", bytes, bytearray)
"""A whole response; one that was built in chunks is not copied once more."""

Advance = (
    bytes
    | PendingUpdate
    | PendingDecoding
    | ChunkedResponse
    | Authenticating
    | Refused
    | Closed
    | None
)
