"""The requests of one client: read, handled, answered, and what is noted of each.

    api, decode, context    what a request asks for, and of whom it is
    _serve                  the request of a client that may make it
    for_thread              a copy that handles a large request in a thread, at the present state
    refuse, encode          its answer

A request that is answered needs none of the frames around it: ``connection`` has these, ``logins``
the requests before and in an authentication.

Source: ``RequestContext``, ``KafkaApis.handle`` of Kafka 4.3.1.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self, cast

from doorkeeper.base.errors import ApiError, AuthorizerFault, ErrorCode
from doorkeeper.base.slices import joined
from doorkeeper.server.api.acl_rows import Description
from doorkeeper.server.api.api_versions import is_valid
from doorkeeper.server.api.node import DelayedResponse, Update
from doorkeeper.server.authorizer.contract import DecisionPending
from doorkeeper.server.authorizer.one_request import reads_of
from doorkeeper.server.config.plug_ins import one_line
from doorkeeper.server.net.protocol.exchange import (
    Body,
    ChunkedResponse,
    CompletedRequest,
    Counts,
    LogEvent,
    Login,
    PendingDecision,
    PendingResponse,
    PendingUpdate,
    RepeatableAnswer,
)
from doorkeeper.server.net.protocol.large_request import (
    FREED_AT_ONCE_BYTES_MAX,
    LargeRequest,
    arrays_of,
)
from doorkeeper.server.net.protocol.responses import (
    SIZE_BYTES,
    End,
    body_fault,
    disabled_api,
    error_code_of,
    head_of,
    request_fields,
    undecided,
    unencodable,
    unsupported_version,
)
from doorkeeper.server.net.protocol.session import Session
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext, RequestContext
from doorkeeper.server.schema.features import release_of
from doorkeeper.server.security.contract import AuthenticationContext
from doorkeeper_wire.api_keys import ApiKey
from doorkeeper_wire.errors import Malformed, Unencodable
from doorkeeper_wire.framing import encode_response
from doorkeeper_wire.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from doorkeeper.server.api.declaration import Api
    from doorkeeper.server.api.node import Node, Response
    from doorkeeper.server.api.registry import ApiTable
    from doorkeeper.server.authorizer.one_request import RequestAuthorizer
    from doorkeeper.server.net.limits import Limits
    from doorkeeper.server.net.protocol.exchange import Advance, AnyBytes, Peer
    from doorkeeper.server.security.contract import OfferedMechanism, PrincipalBuilder
    from doorkeeper_wire.framing import RequestHeader
    from doorkeeper_wire.messages.api_versions import ApiVersionsRequest

API_VERSIONS: Final = int(ApiKey.API_VERSIONS)
UNSUPPORTED_VERSION: Final = ApiError(ErrorCode.UNSUPPORTED_VERSION)

DECODED_HERE_BYTES_MAX: Final = 8_192
"""Larger requests are decoded in a thread: 2,700 texts of one letter take 2 ms."""

HANDLED_HERE_ELEMENTS_MAX: Final = 64
"""Requests of more elements are handled in a thread: each may take 10 us, and 20 if denied."""

REPEATED_APIS: Final = frozenset(
    map(int, (ApiKey.API_VERSIONS, ApiKey.METADATA, ApiKey.DESCRIBE_GROUPS))
)
"""APIs of which some answers may be repeated: see ``_keep``. They are made of the state alone."""

NAMES_SOFTWARE_FROM: Final = 3
"""The first version of ApiVersions with the client's software (KIP-511)."""

_WAITING: Final[frozenset[type]] = frozenset({Update, DelayedResponse})


class Conversation:
    """The requests and answers of one client."""

    __slots__ = (
        "_apis",
        "_description",
        "_is_whole",
        "_limits",
        "answer_codes",
        "arrays",
        "client_software",
        "counts",
        "events",
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
        self._limits = limits
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
        self._is_whole = True
        self.arrays: list[list[Any]] | None = None
        """Of a copy for a thread: long arrays, which the thread frees."""

    def api(self, header: RequestHeader) -> Api:
        """Return the API if this listener serves it, or has a refusal for it."""
        api = self._apis.get(header.api_key)
        if api is None or not api.min_version <= header.api_version <= api.max_version:
            api = _refusing_api(header, api, self._apis)
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
        self._is_whole = end == len(frame)
        if not self._is_whole:
            self.counts.trailing_bytes += len(frame) - end
        if api.key == API_VERSIONS:
            self._identify(request, header.api_version)
        return request

    def _identify(self, request: ApiVersionsRequest, version: int) -> None:
        """Take the name and version of the client's software (KIP-511)."""
        if version >= NAMES_SOFTWARE_FROM and is_valid(request, version):
            name, number = request.client_software_name, request.client_software_version
            self.client_software = f"{name}/{number}"

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

    def answer_unsupported(
        self, api: Api, header: RequestHeader, error: ApiError = UNSUPPORTED_VERSION
    ) -> bytes:
        """Answer an unsupported version; only ApiVersions has an answer, in version 0."""
        if api.key == API_VERSIONS:
            # The body is not read: the layout of the version is unknown.
            response = api.refuse(None, header.api_version, error)
            assert response is not None, "ApiVersions has a form for errors"
            # Version 0 is the only one that every client can read (KIP-511).
            return self.encode(header, response, version=0)
        raise unsupported_version(header, self.session.principal)

    def _serve(self, header: RequestHeader, body: Body) -> Advance:
        api = self.api(header)
        if not api.min_version <= header.api_version <= api.max_version:
            return self.answer_unsupported(api, header)
        # After the version check: an unsupported version must not cost a thread.
        if len(body.frame) > DECODED_HERE_BYTES_MAX or api.slow:
            return LargeRequest(self, api, header, body, None)
        request = self.decode(api, header, body)
        if len(body.frame) > HANDLED_HERE_ELEMENTS_MAX and self._is_large(api, body):
            return LargeRequest(self, api, header, body, request)
        return self._call(api, header, body, request)

    def _is_large(self, api: Api, body: Body) -> bool:
        """Return whether a thread handles this decoded request."""
        frame: Any = body.frame
        if len(frame) <= HANDLED_HERE_ELEMENTS_MAX or not api.in_thread:
            return False
        # Each element takes a byte at least, so that a shorter frame cannot have as many.
        elements: int = self._limits.elements_max - frame.elements_left
        return elements > HANDLED_HERE_ELEMENTS_MAX

    def _call(
        self,
        api: Api,
        header: RequestHeader,
        body: Body,
        request: Any,  # noqa: ANN401 - the API's own class
    ) -> Advance:
        """Call the handler."""
        is_repeated = api.key in REPEATED_APIS
        counts = self.node.decision_counts if is_repeated else None
        before = counts.decided if counts is not None else None
        try:
            outcome: Any = api.handle(request, self.context(header), self.node)
        except Malformed as error:
            # The body is well-formed, but what it says is refused where a broker parses it.
            raise body_fault(header, self.session.principal, error) from None
        except Exception as error:  # whatever a handler raises is answered
            return (
                # A handler changes nothing, so it can be called again.
                PendingDecision(error, api, request, header, body)
                if isinstance(error, DecisionPending)
                else self.refuse(api, request, header, error)
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
        answer = self._answer(api, request, header, outcome)
        if is_repeated:
            self._keep(self._repeatable(request, header, body.frame, outcome, answer, before))
        return answer

    def _repeatable(
        self,
        request: Any,  # noqa: ANN401 - the API's own class
        header: RequestHeader,
        frame: bytes,
        response: Response,
        answer: bytes,
        before: tuple[int, int] | None,
    ) -> RepeatableAnswer | None:
        """Return an answer for the same request, if nothing happens but that it is answered.

        The decisions that were taken for it, since ``before``, must be quiet: there is nothing
        that an audit log or an authorizer log would have to be told again.
        """
        # Trailing bytes are counted each time.
        if not self._is_whole or len(frame) + len(answer) > self._limits.repeated_bytes_max_of_all:
            return None
        node = self.node
        decisions = None
        if node.authorizer is not None and _needs_permission(header, request):
            if node.decision_counts is None or before is None:
                return None
            decisions = node.decision_counts.quiet_since(before)
            if decisions is None:
                return None
        return RepeatableAnswer(
            len(frame).to_bytes(4) + frame[:4] + frame[8:],
            node.state,
            node.settings,
            decisions,
            bytes(answer[:4]),
            bytes(answer[8:]),
            header.api_key,
            error_code_of(response),
        )

    def _keep(self, answer: RepeatableAnswer | None) -> None:
        """Keep an answer in place of the last one; long ones only while there is room for them."""
        counts, limits, last = self.counts, self._limits, self.repeatable
        if last is not None and last.bytes_held > limits.repeated_bytes_max:
            counts.repeated_bytes -= last.bytes_held
        self.repeatable = None
        if answer is None:
            return
        size = answer.bytes_held
        if size > limits.repeated_bytes_max:
            if counts.repeated_bytes + size > limits.repeated_bytes_max_of_all:
                return
            counts.repeated_bytes += size
        self.repeatable = answer

    # --- answers

    def _answer(
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
            self.events.append(self._failure_event(header, error))
        if isinstance(error, DecisionPending):
            error = undecided(api.key)
        response = api.refuse(request, header.api_version, error)
        if response is None:
            raise End(
                f"{api.name} failed, and its response cannot carry an error code",
                request_fields(header, self.session.principal),
            )
        return self.encode(header, response)

    def _failure_event(self, header: RequestHeader, error: BaseException) -> LogEvent:
        fields = request_fields(header, self.session.principal)
        if isinstance(error, Unencodable):
            return LogEvent("a response does not fit", {**fields, "cause": one_line(error)})
        if isinstance(error, DecisionPending):
            cause = error.__cause__
            fields["cause"] = "it took too long" if cause is None else one_line(cause)
            return LogEvent("the authorizer did not decide a request", fields)
        if isinstance(error, AuthorizerFault):
            fields["authorizer"] = error.authorizer
            if isinstance(error.cause, ApiError):
                # Raised on purpose: the client gets its code, and there is no fault to look for.
                fields["error"] = error.cause.code.name
                fields["cause"] = one_line(error.cause)
                return LogEvent("the authorizer refused a request", fields)
        return LogEvent("a request failed", fields, error)

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
        if self.arrays is None or not isinstance(response, Message):
            body = response.encode(version)
            answer = encode_response(header.api_key, version, header.correlation_id, body)
        else:
            answer = self._encode_long(header, response, version)
        if self.arrays is not None and len(answer) > FREED_AT_ONCE_BYTES_MAX:
            self.arrays += arrays_of(response)
        # The usual case without metrics: no call for the records.
        if self.answer_codes is None and self.request_records is None:
            return answer
        return self._record_answer(header, response, answer)

    def _encode_long(self, header: RequestHeader, response: Message, version: int) -> bytes:
        """Encode in a thread, which gives others their turn; no part is copied twice."""
        head = encode_response(header.api_key, version, header.correlation_id, b"")
        # A bytearray, which the channel writes as it is.
        frame: Any = response.encode(version, partial(joined, head))
        frame[:SIZE_BYTES] = (len(frame) - SIZE_BYTES).to_bytes(SIZE_BYTES)
        return cast("bytes", frame)

    def _record_answer(
        self, header: RequestHeader, response: Response, answer: AnyBytes
    ) -> AnyBytes:
        """Record an answer for metrics and the request log."""
        if self.answer_codes is not None:
            try:
                self.answer_codes.append((header.api_key, error_code_of(response)))
            except Exception as fault:  # a change may be made: its answer counts more
                self.events.append(LogEvent("an answer cannot be counted", {}, fault))
        if self.request_records is not None:
            # Without the four bytes of the size, as the request's size is.
            sizes = self.request_bytes, len(answer) - 4
            self.request_records.append(
                CompletedRequest(header, self.client_software, response, *sizes)
            )
        return answer

    # --- large requests

    def for_thread(self, on_loop: Callable[[object], Any]) -> tuple[Self, RequestAuthorizer | None]:
        """Return a copy, whose node stays at the present state, and its authorizer."""
        reads, authorizer = reads_of(self.node.authorizer, on_loop)
        other = copy(self)
        other.node = self.node.at_one_state(reads, authorizer, on_loop)
        # What is noted of the request is taken later, by ``_take_large``.
        other.counts = Counts(answers=self.counts.answers)
        other.arrays = []
        other.events = []
        other.repeatable = None
        other.answer_codes = None if self.answer_codes is None else []
        other.request_records = None if self.request_records is None else []
        return other, authorizer

    def handle_large(self, large: LargeRequest) -> Advance:
        """Handle a large request, or only decode it, in any thread."""
        api, header, body = large.api, large.header, large.body
        if large.request is None:
            large.request = self.decode(api, header, body)
        if not api.in_thread:
            return None
        return self._call(api, header, body, large.request)

    def _take_large(self, large: LargeRequest) -> Advance:
        """Take what the copy has noted, and the outcome."""
        other = cast("Conversation", large.connection)
        self.counts.trailing_bytes += other.counts.trailing_bytes
        self.events += other.events
        codes, records = other.answer_codes, other.request_records
        if self.answer_codes is not None and codes:
            self.answer_codes += codes
        if self.request_records is not None and records:
            self.request_records += records
        self._is_whole = other._is_whole  # noqa: SLF001 - of its own class
        if large.api.key in REPEATED_APIS:
            self._keep(other.repeatable)
        outcome: Advance = large.outcome()
        api, header, body = large.api, large.header, large.body
        if not api.in_thread:
            return self._call(api, header, body, large.request)
        return outcome


def _refusing_api(header: RequestHeader, served: Api | None, apis: ApiTable) -> Api | None:
    """Return the API that refuses this version, if Kafka has it; else ``served``."""
    if header.api_key == API_VERSIONS:
        return served
    api = apis.refusing(header.api_key)
    if served is None or (api and api.min_version <= header.api_version <= api.max_version):
        return api
    return served


def _needs_permission(header: RequestHeader, request: Any) -> bool:  # noqa: ANN401 - of REPEATED_APIS
    """Return whether a request of ``REPEATED_APIS`` is authorized."""
    if header.api_key != ApiKey.METADATA:
        return header.api_key != API_VERSIONS
    return (
        request.topics != ()
        or not header.api_version  # all topics
        or request.include_cluster_authorized_operations
    )
