"""A large request, which a thread handles while the event loop serves other connections.

    begin     on the event loop: a copy of the connection, with the state and the ACLs of now
    run       in the thread: the copy handles the request as any other, and keeps what it notes
    settle    on the event loop, in slices: what the decisions do besides
    outcome   on the event loop, for ``Connection.complete``

A handler that changes a cache (``Api.in_thread`` is False) is called after all this instead; its
request is only decoded in the thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.base.slices import SLICE_ITEMS, Slices, free
from doorkeeper.server.authorizer.one_request import RequestAuthorizer
from doorkeeper_wire.framing import RequestHeader
from doorkeeper_wire.message import Message

if TYPE_CHECKING:
    from doorkeeper.server.api.declaration import Api

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
        connection: Any,  # noqa: ANN401 - a ``Conversation``, which imports this module
        api: Api,
        header: RequestHeader,
        body: Any,  # noqa: ANN401 - the ``Body`` of a frame
        request: Message | None,
    ) -> None:
        self.connection = connection
        self.api, self.header, self.body, self.request = api, header, body, request
        self._authorizer: RequestAuthorizer | None = None
        self._outcome: Any = None
        self._error: Exception | None = None

    def begin(self, on_loop: Callable[[object], Any]) -> None:
        """``on_loop`` is that of ``Node.at_one_state``."""
        self.connection, self._authorizer = self.connection.for_thread(on_loop)

    def run(self) -> None:
        """Handle the request, in any thread; an error is kept for ``outcome``."""
        try:
            self._outcome = self.connection.handle_large(self)
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

    def settle(self) -> Slices[None]:
        """Count and record the decisions, on the event loop."""
        if self._authorizer is not None:
            yield from self._authorizer.settle()

    def outcome(self) -> Any:  # noqa: ANN401 - an ``Advance``
        """Return what the thread made.

        Raises:
            Exception: what it raised.
        """
        error, self._error = self._error, None
        if error is not None:
            raise error
        return self._outcome
