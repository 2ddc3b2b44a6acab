"""A large request: a thread handles it while the event loop serves other connections.

    begin     on the event loop: a copy of the connection, with the state and the ACLs of now
    run       in the thread: the copy handles the request, and keeps what it notes
    settle    on the event loop, in slices: what the decisions do besides
    finish    on the event loop: the connection takes what was noted, and the answer

A handler that changes a cache (``Api.in_thread`` is False) is called at the end of this instead;
its request is only decoded in the thread.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from doorkeeper.base.slices import Slices, free
from doorkeeper.server.authorizer.one_request import RequestAuthorizer, reads_of
from doorkeeper.server.net.protocol.codec import REPEATED_APIS
from doorkeeper.server.net.protocol.exchange import Counts
from doorkeeper.server.net.protocol.responses import FREED_AT_ONCE_BYTES_MAX, arrays_of

if TYPE_CHECKING:
    from doorkeeper.server.net.protocol.codec import ConnectionCodec
    from doorkeeper.server.net.protocol.exchange import Pending, Request

DECODED_HERE_BYTES_MAX: Final = 8_192
"""Larger requests are decoded in a thread: 2,700 texts of one letter take 2 ms."""

HANDLED_HERE_ELEMENTS_MAX: Final = 64
"""Requests of more elements are handled in a thread: each may take 10 us, and 20 if denied."""


def is_large(request: Request, elements_max: int) -> bool:
    """Return whether a thread handles this decoded request."""
    frame: Any = request.frame
    if len(frame) <= HANDLED_HERE_ELEMENTS_MAX or not request.api.in_thread:
        return False
    # Each element takes a byte at least, so that a shorter frame cannot have as many.
    elements: int = elements_max - frame.elements_left
    return elements > HANDLED_HERE_ELEMENTS_MAX


class LargeRequest:
    """One request, decoded or not. ``connection`` is the copy after ``begin``."""

    __slots__ = ("_authorizer", "_error", "_outcome", "connection", "request")

    def __init__(self, connection: ConnectionCodec, request: Request) -> None:
        self.connection = connection
        self.request = request
        self._authorizer: object = None
        self._outcome: bytes | Pending = b""
        self._error: Exception | None = None

    def begin(self, on_loop: Callable[[object], Any]) -> None:
        """Copy the connection at the present state.

        ``on_loop`` is that of ``Node.at_one_state``.
        """
        whole = self.connection
        self._authorizer = authorizer = reads_of(whole.node.authorizer, on_loop)
        self.connection = other = copy(whole)
        other.node = whole.node.at_one_state(authorizer, on_loop)
        # What is noted of the request is taken later, by ``finish``.
        other.counts = Counts(answers=whole.counts.answers)
        other.arrays = []
        other.events = []
        other.repeatable = None
        other.answer_codes = None if whole.answer_codes is None else []
        other.request_records = None if whole.request_records is None else []

    def run(self) -> None:
        """Handle the request, in any thread; an error is kept for ``finish``."""
        request, arrays = self.request, self.connection.arrays
        try:
            if request.body is None:
                self.connection.decode(request)
            if request.api.in_thread:
                self._outcome = self.connection.call(request)
            if isinstance(self._authorizer, RequestAuthorizer):
                self._authorizer.write_omitted()
        except Exception as error:  # it is raised on the event loop
            self._error = error
        if request.api.in_thread and arrays is not None:
            if len(request.frame) > FREED_AT_ONCE_BYTES_MAX:
                arrays += arrays_of(request.body)
            # Freed here, and some items at a time, not on the event loop and all at once.
            self.request = replace(request, body=None)
            del request
            for array in arrays:
                free(array)

    def settle(self) -> Slices[None]:
        """Count and record the decisions, on the event loop."""
        if isinstance(self._authorizer, RequestAuthorizer):
            yield from self._authorizer.settle()

    def finish(self, connection: ConnectionCodec) -> bytes | Pending:
        """Note for a connection what its copy has noted; return what the thread made.

        Raises:
            Exception: what it raised.
        """
        other, request = self.connection, self.request
        connection.counts.trailing_bytes += other.counts.trailing_bytes
        connection.events += other.events
        codes, records = other.answer_codes, other.request_records
        if connection.answer_codes is not None and codes:
            connection.answer_codes += codes
        if connection.request_records is not None and records:
            connection.request_records += records
        connection.client_software = other.client_software
        if request.api.key in REPEATED_APIS:
            connection.keep(other.repeatable)
        error, self._error = self._error, None
        if error is not None:
            raise error
        return self._outcome if request.api.in_thread else connection.call(request)
