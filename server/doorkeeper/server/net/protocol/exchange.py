"""Values that a connection and its channel exchange, and counters.

Peer              the two ends of a connection
Request           a request, from its header on
Pending           a request that waits for what its handler returned
LogEvent          an event for the log
CompletedRequest  a request and its answer, for the request log
Login             an authentication that succeeded or failed
Counts            counters of all connections
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from doorkeeper.acls.model import Principal
from doorkeeper.server.api.acl_rows import Description
from doorkeeper.server.api.node import DelayedResponse, Response, Update
from doorkeeper.server.authorizer.contract import DecisionPending
from doorkeeper.server.authorizer.guard import QuietDecisions
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.security.contract import Step
from doorkeeper.server.state.state import State
from doorkeeper_wire.framing import RequestHeader

if TYPE_CHECKING:
    from doorkeeper.server.api.declaration import Api


class Peer(Struct, frozen=True):
    """The two ends of a connection, and the listener that accepted it."""

    connection_id: str
    host: str
    listener_name: str
    security_protocol: str
    controller: bool = False
    number: int = 0

    def description(self, release: str) -> str:
        """Return the text ``Request(...)`` in the refusals of a broker of this release.

        Java's identity hash of the session is replaced by the number of the connection. The absent
        envelope is an Option of Scala before 4.4, and an Optional of Java from then on.
        """
        envelope = "None" if release == "4.3" else "Optional.empty"
        return (
            f"Request(processor=0, connectionId={self.connection_id},"
            f" session=org.apache.kafka.network.Session@{self.number:x},"
            f" listenerName=ListenerName({self.listener_name}),"
            f" securityProtocol={self.security_protocol}, buffer=null, envelope={envelope})"
        )


class Request(Struct):
    """A request of a connection.

    ``is_supported``: the API has its version. ``body`` is decoded from ``body_at`` on, None before
    that; ``is_whole``: no bytes are behind it.
    """

    api: Api
    header: RequestHeader
    frame: bytes
    body_at: int
    is_supported: bool
    body: Any = None
    is_whole: bool = True


class Pending(Struct, frozen=True):
    """A request that waits for the outcome of its handler.

    That is a change, a later response, a response that is built in slices, or, raised, a decision
    after which the request is handled again.
    """

    request: Request
    outcome: Update | DelayedResponse | Description | DecisionPending


class Authenticating(Struct, frozen=True):
    """A token that a mechanism verifies asynchronously. ``header`` is None for a bare token."""

    step: Awaitable[Step]
    header: RequestHeader | None


class Refused(Struct, frozen=True):
    """A failed authentication. ``answer`` may be empty; ``reason`` holds no secret."""

    answer: bytes
    reason: str
    reauthentication: bool


class Closed(Struct, frozen=True):
    """The end of a connection without an answer. An empty ``reason`` is not logged."""

    reason: str
    fields: Mapping[str, object] = {}


class RepeatableAnswer(Struct, frozen=True):
    """An answer that is given again, and its ``size``, without the correlation id between them.

    ``request`` is the frame without its correlation id, behind its size; ``state`` and ``settings``
    are what the answer was made of, ``decisions`` those that were taken for it.
    """

    request: bytes
    state: State
    settings: Settings
    decisions: QuietDecisions | None
    size: bytes
    body: bytes
    api_key: int
    error_code: int

    @property
    def bytes_held(self) -> int:
        """Return how much memory its bytes take."""
        return len(self.request) + len(self.body)


class LogEvent(Struct, frozen=True):
    """An event for the log; a failure has its ``error``."""

    event: str
    fields: Mapping[str, object]
    error: BaseException | None = None


class Login(Struct, frozen=True):
    """An authentication, successful or failed.

    ``principal`` is None and ``reason`` is set, without secrets, if it failed. ``mechanism`` is TLS
    for a certificate, empty if none was chosen. ``header`` is that of the deciding request, if any.
    """

    peer: Peer
    principal: Principal | None
    mechanism: str
    reauthentication: bool
    client_software: str
    header: RequestHeader | None = None
    reason: str | None = None


class CompletedRequest(Struct, frozen=True):
    """A request and its answer, for the request log. Sizes are those of frames."""

    header: RequestHeader
    client_software: str
    response: Response
    request_bytes: int
    response_bytes: int


@dataclass(slots=True, eq=False)
class Counts:
    """Counters of all connections of a server."""

    answers: bool = True
    """Whether connections record each answer for metrics."""
    requests: int = 0
    trailing_bytes: int = 0
    repeated_bytes: int = 0
    """Bytes of all long answers that connections keep to repeat them."""
    failed_authentications: int = 0
    killed_by_expiry: int = 0
    authentications: Counter[tuple[str, bool]] = field(default_factory=Counter)
    """By mechanism, empty where none was chosen, and success."""
