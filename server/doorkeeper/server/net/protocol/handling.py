"""Handles a request: here, or in a thread while the event loop serves other connections.

    call          calls the handler: on the event loop, or in the thread on a copy
    is_large      whether a thread handles a request
    LargeRequest  a request for the thread
        begin     on the event loop: a copy of the connection, with the state and the ACLs of now
        run       in the thread: the copy handles the request, and keeps what it notes
        settle    on the event loop, in slices: what the decisions do besides
        outcome   on the event loop: the connection takes what was noted, and the answer

A handler that changes a cache (``Api.in_thread`` is False) is called at the end of this instead;
its request is only decoded in the thread.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from doorkeeper.base.slices import Slices, free
from doorkeeper.server.api.acl_rows import Description
from doorkeeper.server.api.node import DelayedResponse, Update
from doorkeeper.server.authorizer.contract import DecisionPending
from doorkeeper.server.authorizer.one_request import RequestAuthorizer, reads_of
from doorkeeper.server.net.protocol.codec import FREED_AT_ONCE_BYTES_MAX, arrays_of
from doorkeeper.server.net.protocol.exchange import (
    Body,
    ChunkedResponse,
    Counts,
    PendingDecision,
    PendingResponse,
    PendingUpdate,
)
from doorkeeper.server.net.protocol.repeated import REPEATED_APIS, keep, repeatable
from doorkeeper.server.net.protocol.responses import body_fault, head_of
from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.framing import RequestHeader
from doorkeeper_wire.message import Message

if TYPE_CHECKING:
    from doorkeeper.server.api.declaration import Api
    from doorkeeper.server.net.protocol.codec import ConnectionCodec
    from doorkeeper.server.net.protocol.exchange import Authenticating, Closed, Refused

_WAITING: Final[frozenset[type]] = frozenset({Update, DelayedResponse})

DECODED_HERE_BYTES_MAX: Final = 8_192
"""Larger requests are decoded in a thread: 2,700 texts of one letter take 2 ms."""

HANDLED_HERE_ELEMENTS_MAX: Final = 64
"""Requests of more elements are handled in a thread: each may take 10 us, and 20 if denied."""


def is_large(api: Api, body: Body, elements_max: int) -> bool:
    """Return whether a thread handles this decoded request."""
    frame: Any = body.frame
    if len(frame) <= HANDLED_HERE_ELEMENTS_MAX or not api.in_thread:
        return False
    # Each element takes a byte at least, so that a shorter frame cannot have as many.
    elements: int = elements_max - frame.elements_left
    return elements > HANDLED_HERE_ELEMENTS_MAX


def call(
    connection: ConnectionCodec,
    api: Api,
    header: RequestHeader,
    body: Body,
    request: Any,  # noqa: ANN401 - the API's own class
) -> Advance:
    """Call the handler; in a thread on a copy of the connection."""
    is_repeated = api.key in REPEATED_APIS
    counts = connection.node.decision_counts if is_repeated else None
    before = counts.decided if counts is not None else None
    try:
        outcome: Any = api.handle(request, connection.context(header), connection.node)
    except Malformed as error:
        # The body is well-formed, but what it says is refused where a broker parses it.
        raise body_fault(header, connection.session.principal, error) from None
    except Exception as error:  # whatever a handler raises is answered
        return (
            # A handler changes nothing, so it can be called again.
            PendingDecision(error, api, request, header, body)
            if isinstance(error, DecisionPending)
            else connection.refuse(api, request, header, error)
        )
    # Exact classes, not isinstance: this is the path of every request.
    if outcome.__class__ in _WAITING:
        waiting: Any = outcome
        return (
            PendingUpdate(waiting, api, request, header)
            if waiting.__class__ is Update
            else PendingResponse(waiting.response, api, request, header)
        )
    # A long body would hold up all other connections if it were built in one turn.
    if outcome.__class__ is Description:
        chunks = outcome.chunks(header.api_version, len(head_of(header)))
        return ChunkedResponse(chunks, api, request, header, outcome)
    answer = connection.answer(api, request, header, outcome)
    if is_repeated:
        keep(
            connection, repeatable(connection, request, header, body.frame, outcome, answer, before)
        )
    return answer


class LargeRequest:
    """One request; ``request`` is None until it is decoded.

    ``connection`` is the copy after ``begin``.
    """

    __slots__ = (
        "_authorizer",
        "_error",
        "_outcome",
        "api",
        "body",
        "connection",
        "header",
        "request",
    )

    def __init__(
        self,
        connection: ConnectionCodec,
        api: Api,
        header: RequestHeader,
        body: Body,
        request: Message | None,
    ) -> None:
        self.connection = connection
        self.api, self.header, self.body, self.request = api, header, body, request
        self._authorizer: RequestAuthorizer | None = None
        self._outcome: Advance = None
        self._error: Exception | None = None

    def begin(self, on_loop: Callable[[object], Any]) -> None:
        """Copy the connection at the present state.

        ``on_loop`` is that of ``Node.at_one_state``.
        """
        whole = self.connection
        reads, self._authorizer = reads_of(whole.node.authorizer, on_loop)
        self.connection = other = copy(whole)
        other.node = whole.node.at_one_state(reads, self._authorizer, on_loop)
        # What is noted of the request is taken later, by ``outcome``.
        other.counts = Counts(answers=whole.counts.answers)
        other.arrays = []
        other.events = []
        other.repeatable = None
        other.answer_codes = None if whole.answer_codes is None else []
        other.request_records = None if whole.request_records is None else []

    def run(self) -> None:
        """Handle the request, in any thread; an error is kept for ``outcome``."""
        try:
            self._handle()
            if self._authorizer is not None:
                self._authorizer.close()
        except Exception as error:  # it is raised on the event loop
            self._error = error
        arrays = self.connection.arrays
        if self.api.in_thread and arrays is not None:
            if len(self.body.frame) > FREED_AT_ONCE_BYTES_MAX:
                arrays += arrays_of(self.request)
            # Freed here, and some items at a time, not on the event loop and all at once.
            self.request = None
            for array in arrays:
                free(array)

    def _handle(self) -> None:
        connection, api, header, body = self.connection, self.api, self.header, self.body
        if self.request is None:
            self.request = connection.decode(api, header, body)
        if api.in_thread:
            self._outcome = call(connection, api, header, body, self.request)

    def settle(self) -> Slices[None]:
        """Count and record the decisions, on the event loop."""
        if self._authorizer is not None:
            yield from self._authorizer.settle()

    def outcome(self, connection: ConnectionCodec) -> Advance:
        """Note for a connection what its copy has noted; return what the thread made.

        Raises:
            Exception: what it raised.
        """
        other = self.connection
        connection.counts.trailing_bytes += other.counts.trailing_bytes
        connection.events += other.events
        codes, records = other.answer_codes, other.request_records
        if connection.answer_codes is not None and codes:
            connection.answer_codes += codes
        if connection.request_records is not None and records:
            connection.request_records += records
        connection.is_whole, connection.client_software = other.is_whole, other.client_software
        if self.api.key in REPEATED_APIS:
            keep(connection, other.repeatable)
        error, self._error = self._error, None
        if error is not None:
            raise error
        if not self.api.in_thread:
            return call(connection, self.api, self.header, self.body, self.request)
        return self._outcome


Waiting: TypeAlias = (
    "PendingUpdate | PendingResponse | LargeRequest | PendingDecision | ChunkedResponse"
    " | Authenticating"
)

Advance: TypeAlias = "bytes | bytearray | Waiting | Refused | Closed | None"
