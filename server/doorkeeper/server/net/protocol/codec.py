"""The requests and responses of one connection: bytes to objects, objects to bytes.

    request   finds the API of a request
    decode    reads the request
    call      calls the handler, and writes what it returns, or why the request waits
    context   who asks, for the handler and the authorizer
    answer    writes a response
    refuse    writes an error, as a response of its own API
    repeat    gives the last answer again, to the same request

``Connection`` adds frames and their order. The values here are all that one connection keeps.

Clients ask for the versions with each connection, and for the metadata of the same topics every few
minutes or all the time. An answer depends on the state, the settings and the decisions taken for
it: each of them is compared by identity before it is repeated.

Source: ``RequestContext``, ``KafkaApis.handle`` of Kafka 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from doorkeeper.base.errors import ApiError
from doorkeeper.server.api.acl_rows import Description
from doorkeeper.server.api.api_versions import is_valid
from doorkeeper.server.api.node import DelayedResponse, Update
from doorkeeper.server.authorizer.contract import DecisionPending
from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.net.protocol.exchange import (
    CompletedRequest,
    LogEvent,
    Login,
    Pending,
    RepeatableAnswer,
    Request,
)
from doorkeeper.server.net.protocol.responses import (
    SIZE_BYTES,
    End,
    body_fault,
    disabled_api,
    encode_in_thread,
    error_code_of,
    failure_event,
    request_fields,
    undecided,
    unencodable,
)
from doorkeeper.server.net.protocol.session import Session, SessionAction
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext, RequestContext
from doorkeeper.server.schema.features import release_of
from doorkeeper.server.security.contract import AuthenticationContext
from doorkeeper_wire.api_keys import ApiKey
from doorkeeper_wire.errors import Malformed, Unencodable
from doorkeeper_wire.framing import RequestHeader, encode_response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.server.api.node import Node, Response
    from doorkeeper.server.api.registry import ApiTable
    from doorkeeper.server.authorizer.guard import QuietDecisions
    from doorkeeper.server.net.limits import Limits
    from doorkeeper.server.net.protocol.exchange import Counts, Peer
    from doorkeeper.server.security.contract import OfferedMechanism, PrincipalBuilder
    from doorkeeper_wire.messages.api_versions import ApiVersionsRequest

API_VERSIONS: Final = int(ApiKey.API_VERSIONS)

_NAMES_SOFTWARE_FROM: Final = 3
"""The first version of ApiVersions with the client's software (KIP-511)."""

REPEATED_APIS: Final = frozenset(
    map(int, (ApiKey.API_VERSIONS, ApiKey.METADATA, ApiKey.DESCRIBE_GROUPS))
)
"""APIs of which some answers may be repeated. They are made of the state alone."""

# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_SERVE: Final = SessionAction.SERVE

_WAITING: Final[frozenset[type]] = frozenset({Update, DelayedResponse, Description})


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
        self.arrays: list[list[Any]] | None = None
        """Of a copy for a thread: long arrays, which the thread frees."""
        self.is_ended = False

    # --- requests

    def request(self, header: RequestHeader, frame: bytes, body_at: int) -> Request:
        """Return a request, whose API this listener serves, or has a refusal for."""
        version = header.api_version
        api = self._apis.get(header.api_key)
        if api is None or not api.min_version <= version <= api.max_version:
            api = self._apis.refusing(header.api_key, version)
        if api is None or not (api.on_controller if self.peer.controller else api.on_broker):
            raise disabled_api(header)
        is_supported = api.min_version <= version <= api.max_version
        return Request(api, header, frame, body_at, is_supported)

    def decode(self, request: Request) -> None:
        """Read the body of a request, of a version that the API has."""
        api, header, frame = request.api, request.header, request.frame
        try:
            request.body, end = api.request.read(frame, request.body_at, header.api_version)
        except Malformed as error:
            raise body_fault(header, self.session.principal, error) from None
        # A broker ignores trailing bytes; they are counted, because no correct client sends them.
        if end != len(frame):
            request.is_whole = False
            self.counts.trailing_bytes += len(frame) - end
        if api.key == API_VERSIONS:
            self._take_software(request.body, header.api_version)

    def call(self, request: Request) -> bytes | Pending:
        """Call the handler of a decoded request; in a thread on a copy of the connection."""
        api, header, node = request.api, request.header, self.node
        guard, before = None, (0, 0)
        if api.key in REPEATED_APIS and isinstance(node.authorizer, GuardedAuthorizer):
            guard = node.authorizer
            before = guard.allowed, guard.denied
        try:
            outcome: Any = api.handle(request.body, self.context(header), node)
        except Malformed as error:
            # The body is well-formed, but what it says is refused where a broker parses it.
            raise body_fault(header, self.session.principal, error) from None
        except DecisionPending as pending:
            # A handler changes nothing, so it can be called again.
            return Pending(request, pending)
        except Exception as error:  # whatever a handler raises is answered
            return self.refuse(request, error)
        # Exact classes, not isinstance: this is the path of every request. A long description would
        # hold up all other connections if it were built in one turn.
        if outcome.__class__ in _WAITING:
            waiting: Any = outcome
            return Pending(request, waiting)
        answer = self.answer(request, outcome)
        if api.key in REPEATED_APIS:
            quiet = None if guard is None else guard.quiet_since(before)
            self.keep(self._repeatable(request, outcome, answer, quiet))
        return answer

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

    def answer(self, request: Request, response: Response | None) -> bytes:
        """Return the frame of a response; no bytes where the client wants none."""
        if response is None:
            return b""
        try:
            return self.encode(request.header, response)
        except End as end:
            # As KafkaApis.handle does with an error of the serialization: -1 in every row.
            return self.refuse(request, end.__cause__ or end)

    def refuse(self, request: Request, error: BaseException) -> bytes:
        """Answer a failed request with an error response of its own API.

        Raises:
            MemoryError: the process cannot go on.
            End: the API has no form for errors; the connection closes.
        """
        if isinstance(error, MemoryError):
            raise error
        api, header = request.api, request.header
        if not isinstance(error, ApiError):
            self.events.append(failure_event(header, self.session.principal, error))
        if isinstance(error, DecisionPending):
            error = undecided(api.key)
        response = api.refuse(request.body, header.api_version, error)
        if response is None:
            raise End(
                f"{api.name} failed, and its response cannot carry an error code",
                request_fields(header, self.session.principal),
            )
        return self.encode(header, response)

    def encode(
        self, header: RequestHeader, response: Response, *, version: int | None = None
    ) -> bytes:
        """Return the frame of a response.

        Raises:
            End: it does not fit the version; its cause is the error.
        """
        if version is None:
            version = header.api_version
        try:
            if self.arrays is None:
                body = response.encode(version)
                answer = encode_response(header.api_key, version, header.correlation_id, body)
            else:
                answer = encode_in_thread(self.arrays, header, response, version)
        except Unencodable as error:
            raise unencodable(header, version, error) from error
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

    # --- the last answer again

    def repeat(self, data: bytes, now_s: float) -> bytes | None:
        """Answer data that is exactly one request, and the same as one before; else do nothing.

        To be called where nothing that was received is left.
        """
        known = self.repeatable
        # Bytes 8 to 11 are the correlation id.
        if known is None or data[:8] + data[12:] != known.request:
            return None
        session = self.session
        if known.state is not self.node.state or known.settings is not self.node.settings:
            # Its room is for answers that may be given again.
            self.keep(None)
            return None
        if self.request_records is not None or (
            session.expires_s is not None and session.admit(known.api_key, now_s) is not _SERVE
        ):
            return None
        decisions = known.decisions
        if decisions is not None and not decisions.guard.decide_again(decisions):
            return None
        self.counts.requests += 1
        if self.answer_codes is not None:
            self.answer_codes.append((known.api_key, known.error_code))
        return known.size + data[8:12] + known.body

    def _repeatable(
        self, request: Request, response: Response, answer: bytes, quiet: QuietDecisions | None
    ) -> RepeatableAnswer | None:
        """Return an answer for the same request, if nothing happens but that it is answered.

        The decisions that were taken for it must be ``quiet``: there is nothing that an audit log
        or an authorizer log would have to be told again.
        """
        frame, node = request.frame, self.node
        # Trailing bytes are counted each time.
        if not request.is_whole or len(frame) + len(answer) > self.limits.repeated_bytes_max_of_all:
            return None
        needs_permission = node.authorizer is not None and _needs_permission(request)
        if needs_permission and quiet is None:
            return None
        return RepeatableAnswer(
            len(frame).to_bytes(SIZE_BYTES) + frame[:4] + frame[8:],
            node.state,
            node.settings,
            quiet if needs_permission else None,
            bytes(answer[:4]),
            bytes(answer[8:]),
            request.header.api_key,
            error_code_of(response),
        )

    def keep(self, answer: RepeatableAnswer | None) -> None:
        """Keep an answer in place of the last one; long ones only while there is room for them."""
        counts, limits, last = self.counts, self.limits, self.repeatable
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


def _needs_permission(request: Request) -> bool:
    """Return whether a request of ``REPEATED_APIS`` is authorized."""
    key, asked = request.header.api_key, request.body
    if key != ApiKey.METADATA:
        return key != ApiKey.API_VERSIONS
    return (
        asked.topics != ()
        or not request.header.api_version  # all topics
        or asked.include_cluster_authorized_operations
    )
