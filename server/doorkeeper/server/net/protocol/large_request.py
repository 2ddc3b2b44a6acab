"""A large request, which a thread handles while the event loop serves other connections.

    is_large  on the event loop: whether a thread handles a request
    begin     on the event loop: a copy of the connection, with the state and the ACLs of now
    run       in the thread: the copy handles the request as any other, and keeps what it notes
    settle    on the event loop, in slices: what the decisions do besides
    outcome   on the event loop: the connection takes what was noted, and the answer

A handler that changes a cache (``Api.in_thread`` is False) is called at the end of this instead;
its request is only decoded in the thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from doorkeeper.base.slices import SLICE_ITEMS, Slices, free, joined
from doorkeeper.server.authorizer.one_request import RequestAuthorizer, reads_of
from doorkeeper.server.net.protocol.exchange import Body, Counts
from doorkeeper.server.net.protocol.repeated import REPEATED_APIS, keep
from doorkeeper.server.net.protocol.responses import SIZE_BYTES
from doorkeeper_wire.framing import RequestHeader, encode_response
from doorkeeper_wire.message import Message

if TYPE_CHECKING:
    from doorkeeper.server.api.declaration import Api
    from doorkeeper.server.api.node import Response
    from doorkeeper.server.net.protocol.connection import Connection
    from doorkeeper.server.net.protocol.exchange import Advance

DECODED_HERE_BYTES_MAX: Final = 8_192
"""Larger requests are decoded in a thread: 2,700 texts of one letter take 2 ms."""

HANDLED_HERE_ELEMENTS_MAX: Final = 64
"""Requests of more elements are handled in a thread: each may take 10 us, and 20 if denied."""

FREED_AT_ONCE_BYTES_MAX: Final = 16_384
"""The objects of a shorter message are freed in half a millisecond: each takes a byte at least."""


def arrays_of(value: object) -> Iterator[list[Any]]:
    """Yield the long arrays of a message as lists, which outlive it.

    A message is a struct with tuples, or, of an API that is refused, dictionaries with lists.
    """
    if isinstance(value, dict):
        parts: Iterable[Any] = value.values()
    elif isinstance(value, tuple | list):
        if len(value) > SLICE_ITEMS:
            yield list(value)
            return
        parts = value
    else:
        parts = [getattr(value, name) for name in getattr(value, "__struct_fields__", ())]
    for part in parts:
        yield from arrays_of(part)


def is_large(api: Api, body: Body, elements_max: int) -> bool:
    """Return whether a thread handles this decoded request."""
    frame: Any = body.frame
    if len(frame) <= HANDLED_HERE_ELEMENTS_MAX or not api.in_thread:
        return False
    # Each element takes a byte at least, so that a shorter frame cannot have as many.
    elements: int = elements_max - frame.elements_left
    return elements > HANDLED_HERE_ELEMENTS_MAX


def encode_in_thread(
    arrays: list[list[Any]], header: RequestHeader, response: Response, version: int
) -> bytes:
    """Return the frame of a response, and give others their turn; no part is copied twice.

    Its long arrays are added to those that the thread frees.
    """
    head = encode_response(header.api_key, version, header.correlation_id, b"")
    # A bytearray, which the channel writes as it is.
    frame: Any
    if isinstance(response, Message):
        frame = response.encode(version, partial(joined, head))
        frame[:SIZE_BYTES] = (len(frame) - SIZE_BYTES).to_bytes(SIZE_BYTES)
    else:
        body = response.encode(version)
        frame = encode_response(header.api_key, version, header.correlation_id, body)
    if len(frame) > FREED_AT_ONCE_BYTES_MAX:
        arrays += arrays_of(response)
    return cast("bytes", frame)


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
        connection: Connection,
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
            self._outcome = connection.call(api, header, body, self.request)

    def settle(self) -> Slices[None]:
        """Count and record the decisions, on the event loop."""
        if self._authorizer is not None:
            yield from self._authorizer.settle()

    def outcome(self, connection: Connection) -> Advance:
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
            return connection.call(self.api, self.header, self.body, self.request)
        return self._outcome
