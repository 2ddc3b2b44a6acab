"""The requests and responses of one connection: bytes to objects, objects to bytes.

    api       finds the API of a request
    decode    reads the request
    context   who asks, for the handler and the authorizer
    answer    writes a response
    refuse    writes an error, as a response of its own API

``Connection`` adds frames and their order. The values here are all that one connection keeps.

Source: ``RequestContext``, ``KafkaApis.handle`` of Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from doorkeeper.base.errors import ApiError
from doorkeeper.base.slices import SLICE_ITEMS, joined
from doorkeeper.server.api.api_versions import is_valid
from doorkeeper.server.authorizer.contract import DecisionPending
from doorkeeper.server.net.protocol.exchange import CompletedRequest, LogEvent, Login
from doorkeeper.server.net.protocol.responses import (
    SIZE_BYTES,
    End,
    body_fault,
    disabled_api,
    error_code_of,
    failure_event,
    request_fields,
    undecided,
    unencodable,
)
from doorkeeper.server.net.protocol.session import Session
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext, RequestContext
from doorkeeper.server.schema.features import release_of
from doorkeeper.server.security.contract import AuthenticationContext
from doorkeeper_wire.api_keys import ApiKey
from doorkeeper_wire.errors import Malformed, Unencodable
from doorkeeper_wire.framing import RequestHeader, encode_response
from doorkeeper_wire.message import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.server.api.declaration import Api
    from doorkeeper.server.api.node import Node, Response
    from doorkeeper.server.api.registry import ApiTable
    from doorkeeper.server.net.limits import Limits
    from doorkeeper.server.net.protocol.exchange import Body, Counts, Peer, RepeatableAnswer
    from doorkeeper.server.security.contract import OfferedMechanism, PrincipalBuilder
    from doorkeeper_wire.messages.api_versions import ApiVersionsRequest

API_VERSIONS: Final = int(ApiKey.API_VERSIONS)

_NAMES_SOFTWARE_FROM: Final = 3
"""The first version of ApiVersions with the client's software (KIP-511)."""

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


class ConnectionCodec:
    """Reads the requests of one connection, and writes its responses."""

    __slots__ = (
        "_apis",
        "_description",
        "answer_codes",
        "arrays",
        "client_software",
        "counts",
        "events",
        "is_ended",
        "is_whole",
        "limits",
        "node",
        "peer",
        "repeatable",
        "request_bytes",
        "request_records",
        "session",
    )

    def __init__(
        self,
        peer: Peer,
        *,
        node: Node,
        apis: ApiTable,
        mechanisms: Mapping[str, OfferedMechanism] | None,
        builder: PrincipalBuilder,
        limits: Limits,
        counts: Counts,
    ) -> None:
        """``mechanisms`` is None on a listener without SASL, ``builder`` the listener's."""
        self.peer = peer
        self.node = node
        self._apis = apis
        self.limits = limits
        self.counts = counts
        context = AuthenticationContext(peer.listener_name, peer.security_protocol, peer.host)
        # One for the whole connection: a reauthentication continues it (KIP-368).
        self.session = Session(mechanisms, context, builder)
        self._description = peer.description(release_of(node.state.features))
        self.client_software = ""
        """The software as ``name/version``; empty before the client names it."""
        self.events: list[LogEvent | Login] = []
        self.answer_codes: list[tuple[int, int]] | None = [] if counts.answers else None
        """API key and error code of each answer; the channel counts and clears them."""
        self.repeatable: RepeatableAnswer | None = None
        """The last answer that ``repeat`` may give again."""
        self.request_records: list[CompletedRequest] | None = None
        """Requests for the request log, which clears it; None while that is off."""
        self.request_bytes = 0
        """The size of the last request that was begun."""
        self.is_whole = True
        """Whether the last request that was decoded had no bytes behind it."""
        self.arrays: list[list[Any]] | None = None
        """Of a copy for a thread: long arrays, which the thread frees."""
        self.is_ended = False

    # --- requests

    def api(self, header: RequestHeader) -> Api:
        """Return the API if this listener serves it, or has a refusal for it."""
        api = self._apis.get(header.api_key)
        if api is None or not api.min_version <= header.api_version <= api.max_version:
            api = self._apis.refusing(header.api_key, header.api_version)
        if api is None or not (api.on_controller if self.peer.controller else api.on_broker):
            raise disabled_api(header)
        return api

    def decode(self, api: Api, header: RequestHeader, body: Body) -> Any:  # noqa: ANN401 - the API's own class
        """Return the request, of a version that the API has."""
        frame, offset = body
        try:
            request, end = api.request.read(frame, offset, header.api_version)
        except Malformed as error:
            raise body_fault(header, self.session.principal, error) from None
        # A broker ignores trailing bytes; they are counted, because no correct client sends them.
        self.is_whole = end == len(frame)
        if not self.is_whole:
            self.counts.trailing_bytes += len(frame) - end
        if api.key == API_VERSIONS:
            self._take_software(request, header.api_version)
        return request

    def context(self, header: RequestHeader) -> RequestContext:
        peer = self.peer
        return RequestContext(
            AuthorizableRequestContext(
                peer.listener_name,
                peer.security_protocol,
                self.session.principal,
                peer.host,
                header.api_key,
                header.api_version,
                header.client_id or "",
                header.correlation_id,
                self.client_software,
            ),
            self._description,
            peer.controller,
            self.session.token_authenticated,
            peer.number,
        )

    def _take_software(self, request: ApiVersionsRequest, version: int) -> None:
        """Take the name and version of the client's software (KIP-511)."""
        if version >= _NAMES_SOFTWARE_FROM and is_valid(request, version):
            name, number = request.client_software_name, request.client_software_version
            self.client_software = f"{name}/{number}"

    # --- responses

    def answer(
        self, api: Api, request: object, header: RequestHeader, response: Response | None
    ) -> bytes:
        """Return the frame of a response; no bytes where the client wants none."""
        if response is None:
            return b""
        try:
            return self._encode_frame(header, response, header.api_version)
        except Unencodable as error:
            # As KafkaApis.handle does with an error of the serialization: -1 in every row.
            return self.refuse(api, request, header, error)

    def refuse(
        self, api: Api, request: object, header: RequestHeader, error: BaseException
    ) -> bytes:
        """Answer a failed request with an error response of its own API.

        Raises:
            MemoryError: the process cannot go on.
            End: the API has no form for errors; the connection closes.
        """
        if isinstance(error, MemoryError):
            raise error
        if not isinstance(error, ApiError):
            self.events.append(failure_event(header, self.session.principal, error))
        if isinstance(error, DecisionPending):
            error = undecided(api.key)
        response = api.refuse(request, header.api_version, error)
        if response is None:
            raise End(
                f"{api.name} failed, and its response cannot carry an error code",
                request_fields(header, self.session.principal),
            )
        return self.encode(header, response)

    def encode(
        self, header: RequestHeader, response: Response, *, version: int | None = None
    ) -> bytes:
        if version is None:
            version = header.api_version
        try:
            return self._encode_frame(header, response, version)
        except Unencodable as error:
            raise unencodable(header, version, error) from None

    def _encode_frame(self, header: RequestHeader, response: Response, version: int) -> bytes:
        if self.arrays is None:
            body = response.encode(version)
            answer = encode_response(header.api_key, version, header.correlation_id, body)
        else:
            answer = encode_in_thread(self.arrays, header, response, version)
        # The usual case without metrics: no call for the records.
        if self.answer_codes is not None or self.request_records is not None:
            self.record_answer(header, response, len(answer))
        return answer

    def record_answer(self, header: RequestHeader, response: Response, frame_bytes: int) -> None:
        """Record an answer for metrics and the request log."""
        if self.answer_codes is not None:
            try:
                self.answer_codes.append((header.api_key, error_code_of(response)))
            except Exception as fault:  # a change may be made: its answer counts more
                self.events.append(LogEvent("an answer cannot be counted", {}, fault))
        if self.request_records is not None:
            # Without the four bytes of the size, as the request's size is.
            sizes = self.request_bytes, frame_bytes - SIZE_BYTES
            self.request_records.append(
                CompletedRequest(header, self.client_software, response, *sizes)
            )
