"""Response frames, error codes of responses, and ends without an answer.

What cannot be read, or is not served, ends the connection, with a line in the log.

A response has an error code of its own, or one for each item, or both. Where its own is zero, the
first item with an error stands for all; a broker counts each item.

Source: ``AbstractResponse.errorCounts``, which differs as said; for the ends ``SocketServer``,
``NetworkReceive``, ``RequestHeader`` and ``SaslServerAuthenticator`` of Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import chain
from typing import Any, Final, cast

from doorkeeper.acls.model import Principal
from doorkeeper.base.errors import ApiError, AuthorizerFault, ErrorCode
from doorkeeper.base.slices import SLICE_ITEMS, joined
from doorkeeper.server.api.node import Response
from doorkeeper.server.api.operations import REQUIRED
from doorkeeper.server.authorizer.contract import DecisionPending
from doorkeeper.server.config.plug_ins import one_line
from doorkeeper.server.net.protocol.exchange import Closed, LogEvent
from doorkeeper_wire.api_keys import API_NAMES, ApiKey
from doorkeeper_wire.errors import InvalidFrame, Malformed, Unencodable, UnknownApi
from doorkeeper_wire.framing import RequestHeader, encode_response
from doorkeeper_wire.message import Message, Record, arrays_of_structs

SIZE_BYTES: Final = 4
"""The length of the size prefix of a frame, which does not count itself."""


class End(Exception):
    """Raised where a request cannot be answered: the connection is closed."""

    def __init__(self, reason: str, fields: Mapping[str, object] | None = None) -> None:
        """An empty reason is not logged."""
        super().__init__(reason)
        self.closed = Closed(reason, fields or {})


def head_of(header: RequestHeader, version: int) -> bytes:
    """Return the header of a response, behind the size of one without a body."""
    return encode_response(header.api_key, version, header.correlation_id, b"")


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
    head = head_of(header, version)
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


def unencodable(header: RequestHeader, version: int, error: Unencodable) -> End:
    """Return the end of a connection whose response does not fit the version."""
    return End(
        f"the answer does not fit version {version} of {API_NAMES[header.api_key]}",
        {"correlation_id": header.correlation_id, "cause": str(error)},
    )


def request_fields(header: RequestHeader, principal: Principal) -> dict[str, object]:
    return {
        "api": API_NAMES[header.api_key],
        "version": header.api_version,
        "correlation_id": header.correlation_id,
        "client_id": header.client_id or "",
        "principal": str(principal),
    }


@cache
def _item_paths(kind: type[Record]) -> tuple[tuple[str, ...], ...]:
    """Return the fields that lead to items with error codes: ("topics", "partitions")."""
    paths: list[tuple[str, ...]] = []
    for name, items in arrays_of_structs(kind):
        if "error_code" in items.__struct_fields__:
            paths.append((name,))
            continue
        paths += [
            (name, inner)
            for inner, inner_items in arrays_of_structs(items)
            if "error_code" in inner_items.__struct_fields__
        ]
    return tuple(paths)


def items_of(response: Response) -> Iterator[Any]:
    """Yield the items of a response that have error codes, in the order of its fields."""
    kind = response.__class__
    if not issubclass(kind, Record):  # a refusal of an API without a handler
        return
    for name, *inner in _item_paths(kind):
        items = getattr(response, name) or ()
        for field in inner:
            items = chain.from_iterable(getattr(item, field) or () for item in items)
        yield from items


def error_code_of(response: Response) -> int:
    """Return the error code that stands for a response; 0 for success."""
    own: int = getattr(response, "error_code", 0)
    # An error of the whole response, such as a missing permission, is repeated in its items.
    if own:
        return own
    return next((item.error_code for item in items_of(response) if item.error_code), 0)


UNDECIDED: Final = "The authorizer does not know its decision yet. Nothing was done: try again."

_UNDECIDED_CODES: Final[dict[int, ErrorCode]] = {
    ApiKey.METADATA: ErrorCode.LEADER_NOT_AVAILABLE,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: ErrorCode.LEADER_NOT_AVAILABLE,
    ApiKey.FIND_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ApiKey.LIST_GROUPS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ApiKey.PRODUCE: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ApiKey.FETCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ApiKey.LIST_OFFSETS: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ApiKey.DELETE_RECORDS: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ApiKey.DESCRIBE_PRODUCERS: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    # Not NOT_COORDINATOR: without a transactional id there is none, and kafka-python 3 asks for it.
    ApiKey.INIT_PRODUCER_ID: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ApiKey.ADD_PARTITIONS_TO_TXN: ErrorCode.NOT_COORDINATOR,
}

_OF_COORDINATORS: Final = frozenset({"GROUP", "TRANSACTIONAL_ID"})


def undecided(api_key: int) -> ApiError:
    """Return the error of a request whose authorizer does not know its decision in time.

    It is one that clients retry, which no error of a denial is: callers in Java's clients,
    librdkafka and kafka-python expect it from a broker, look for the leader, coordinator or
    controller anew, and find this node again.
    """
    code = _UNDECIDED_CODES.get(api_key)
    if code is None:
        resources = [row.resource for row in REQUIRED[api_key][:1]]
        is_of_coordinator = not _OF_COORDINATORS.isdisjoint(resources)
        code = ErrorCode.NOT_COORDINATOR if is_of_coordinator else ErrorCode.NOT_CONTROLLER
    return ApiError(code, UNDECIDED)


# --- requests that failed


def failure_event(header: RequestHeader, principal: Principal, error: BaseException) -> LogEvent:
    """Return the event for the log of a request that failed by no refusal of its own API."""
    fields = request_fields(header, principal)
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


# --- requests that cannot be read or are not served

NOT_KAFKA: Final = (
    "Invalid request, potential reasons: kafka client configured with the wrong security protocol,"
    " it does not support KIP-43 or it is not a kafka client."
)
"""A broker's text for bytes that are no request, before the authentication."""

_TLS_GREETINGS: Final = (0x160301, 0x160302, 0x160303)
"""The first bytes of a TLS client, read as the size of a frame."""


def size_fault(fault: InvalidFrame) -> End:
    larger = f" larger than {fault.size_max}" if fault.size > fault.size_max else ""
    hint: dict[str, object] = {}
    # A TLS record begins with its type (22) and version, three of the four bytes of the size.
    if fault.size >> 8 in _TLS_GREETINGS:
        hint = {"hint": "the client speaks TLS"}
    return End(f"Invalid receive (size = {fault.size}{larger})", hint)


def header_fault(error: Malformed | UnknownApi, *, is_past_login: bool) -> End:
    """Return the end for an unreadable header; ``is_past_login``: the client is authenticated."""
    if isinstance(error, Malformed):
        reason, fields = "malformed request header", _where(error)
    else:
        reason = f"Error parsing request header. Our best guess of the apiKeyId is: {error.api_key}"
        fields = {"api_version": error.api_version, "correlation_id": error.correlation_id}
    # Before the authentication most unreadable input is a wrong protocol: a broker logs this text.
    if not is_past_login:
        fields["cause"], reason = reason, NOT_KAFKA
    return End(reason, fields)


def body_fault(header: RequestHeader, principal: Principal, error: Malformed) -> End:
    """Return the end for a body that is unreadable or refused while parsing."""
    return End(
        f"Error getting request for apiKey: {API_NAMES[header.api_key]}, apiVersion:"
        f" {header.api_version}",
        {**request_fields(header, principal), **_where(error)},
    )


def disabled_api(header: RequestHeader) -> End:
    return End(f"Received request for disabled api with key {_api_text(header)}")


def unsupported_version(header: RequestHeader, principal: Principal) -> End:
    """Return the end for an unsupported version of an API other than ApiVersions."""
    return End(
        f"Received request for api with key {_api_text(header)} and unsupported version"
        f" {header.api_version}",
        request_fields(header, principal),
    )


def _where(error: Malformed) -> dict[str, object]:
    return {"field": error.field, "offset": error.offset, "cause": error.reason}


def _api_text(header: RequestHeader) -> str:
    """Return the API's key and name, as in a broker's log."""
    return f"{header.api_key} ({API_NAMES[header.api_key]})"
