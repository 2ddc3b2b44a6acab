"""The protocol's side of a connection: what each kind of input leads to."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from doorkeeper.acls.model import ANONYMOUS
from doorkeeper.base.errors import ApiError, AuthorizerFault, ErrorCode
from doorkeeper.server.api.declaration import Refuse
from doorkeeper.server.authorizer.contract import AclCreateResult
from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.options import UNAUTHENTICATED, ConnectionSecurity
from doorkeeper.server.net.protocol.exchange import Closed, LogEvent, Peer, Pending
from doorkeeper.server.state.outcome import Results
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from doorkeeper_wire.messages.create_acls import AclCreationResult, CreateAclsResponse
from doorkeeper_wire.messages.delete_topics import DeleteTopicsRequest
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from doorkeeper_wire.messages.metadata import MetadataRequest
from testkit.deliveries import CUTS, Cut, body, closed, handled, header, one, results
from testkit.edge import (
    LOGIN,
    answer,
    bare,
    connection,
    create,
    describe,
    frames,
    request,
    versions,
)

# --- plain requests


@pytest.mark.parametrize("cut", CUTS)
def test_responses_are_in_request_order(cut: Cut) -> None:
    sent = [versions(3, 5), describe("a", -7), describe("b", 2**31 - 1, version=1), versions(0, 0)]
    expected = [
        (ApiVersionsResponse, 3),
        (DescribeAclsResponse, 3),
        (DescribeAclsResponse, 1),
        (ApiVersionsResponse, 0),
    ]

    found = results(connection(), b"".join(sent), cut)

    answered = [
        answer(frames(result)[0], response, version)[0]
        for result, (response, version) in zip(found, expected, strict=True)
    ]
    assert answered == [5, -7, 2**31 - 1, 0]


@pytest.mark.parametrize("cut", CUTS)
def test_trailing_bytes_are_ignored_and_counted(cut: Cut) -> None:
    frame = describe("a")
    longer = (len(frame) - 4 + 3).to_bytes(4) + frame[4:] + b"xyz"
    to = connection()

    found = results(to, longer + describe("b", 2), cut)

    names = [body(result, DescribeAclsResponse, 3).error_message for result in found]
    assert names == ["a", "b"]
    assert to.counts.trailing_bytes == 3


def test_context_has_principal_and_host() -> None:
    to = connection()

    who = body(one(to, describe("principal")), DescribeAclsResponse, 3).error_message

    assert who == "User:ANONYMOUS@127.0.0.1"


def test_null_client_id_is_accepted() -> None:
    message = DescribeAclsRequest(resource_name_filter="principal")

    found = one(connection(), request(message, 2, client=None))

    assert body(found, DescribeAclsResponse, 2).error_message == "User:ANONYMOUS@127.0.0.1"


def test_handler_failure_is_answered_and_logged() -> None:
    """The client gets -1 without a text; the note has the request and the exception."""
    to = connection()

    found = body(one(to, describe("fail", 9)), DescribeAclsResponse, 3)

    assert (found.error_code, found.error_message) == (-1, None)
    (note,) = [each for each in to.events if isinstance(each, LogEvent)]
    assert isinstance(note.error, RuntimeError)
    assert note.fields["correlation_id"] == 9
    assert note.fields["api"] == "DescribeAcls"


# --- frames


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    ("prefix", "reason"),
    [
        (b"\xff\xff\xff\xff", "Invalid receive (size = -1)"),
        (b"\x80\x00\x00\x00", "Invalid receive (size = -2147483648)"),
        (b"\x06\x40\x00\x01", "Invalid receive (size = 104857601 larger than 104857600)"),
        (b"GET ", "Invalid receive (size = 1195725856 larger than 104857600)"),
    ],
)
def test_invalid_size_ends_the_connection(cut: Cut, prefix: bytes, reason: str) -> None:
    found = results(connection(), describe("a") + prefix + describe("b"), cut)

    assert body(found[0], DescribeAclsResponse, 3).error_message == "a"
    assert found[1:] == [Closed(reason)]


def test_tls_client_on_plaintext_listener_is_noted() -> None:
    reason = "Invalid receive (size = 369295618 larger than 104857600)"

    assert results(connection(), b"\x16\x03\x01\x02\0\1") == [
        Closed(reason, {"hint": "the client speaks TLS"})
    ]


def test_empty_frame_is_malformed() -> None:
    """Size 0 is a frame, but has no header: the line names offset and field."""
    found = closed(connection(), bare(b""))

    assert found.reason == "malformed request header"
    assert found.fields["offset"] == 0
    assert found.fields["field"] == "header"


def test_array_elements_are_limited() -> None:
    limits = Limits(elements_max=100)

    to = connection(limits=limits)
    assert isinstance(handled(to, one(to, create(["t"] * 100))), Pending)
    found = closed(connection(limits=limits), create(["t"] * 101))

    assert found.reason == "Error getting request for apiKey: CreateAcls, apiVersion: 3"
    assert found.fields["field"] == "creations"
    assert found.fields["cause"] == "101 more elements exceed the limit for a request"


@pytest.mark.parametrize(("tags", "is_served"), [(32, True), (33, False)])
def test_elements_are_limited_before_authentication(tags: int, is_served: bool) -> None:
    unknown = tuple((number, b"") for number in range(tags))
    asked = ApiVersionsRequest(
        client_software_name="a", client_software_version="1", unknown_tags=unknown
    )

    found = one(connection(LOGIN), request(asked, 4))

    assert isinstance(found, bytes if is_served else Closed)


def test_refused_software_is_not_recorded() -> None:
    """Before any login, the audit log would get lines and escapes of the client's choice."""
    to = connection(LOGIN)
    asked = ApiVersionsRequest(client_software_name="a\nb\x1b[2J", client_software_version="1")

    assert isinstance(one(to, request(asked, 4)), bytes)
    assert to.client_software == ""
    one(to, request(asked.replace(client_software_name="java"), 4))
    assert to.client_software == "java/1"


def test_claimed_size_allocates_nothing() -> None:
    """A frame of 100 MB that does not come costs its five bytes."""
    to = connection()

    assert results(to, (104_857_600).to_bytes(4) + b"x") == []
    assert to.buffered_bytes < 10
    assert not to.has_work


# --- requests that are none


def test_unknown_api_ends_the_connection() -> None:
    found = closed(connection(), bare(b"\x03\xe7\x00\x01\x00\x00\x00\x05\xff\xff"))

    assert found.reason == "Error parsing request header. Our best guess of the apiKeyId is: 999"
    assert found.fields == {"api_version": 1, "correlation_id": 5}


def test_disabled_api_ends_the_connection() -> None:
    """One of Kafka's that this listener does not have, is named in the line."""
    found = closed(connection(), request(MetadataRequest(), 12))

    assert found.reason == "Received request for disabled api with key 3 (Metadata)"


def test_api_of_the_other_listener_type_ends_the_connection() -> None:
    to = connection(controller=True)

    assert isinstance(one(to, describe("a")), bytes)
    assert "disabled api with key 30 (CreateAcls)" in closed(to, create(["a"])).reason


@pytest.mark.parametrize("version", [0, 4, 99, -1])
def test_unsupported_version_ends_the_connection(version: int) -> None:
    found = closed(connection(), bare(header(29, version) + b"\xff\xff\x00\x00"))

    assert found.reason == (
        f"Received request for api with key 29 (DescribeAcls) and unsupported version {version}"
    )


@pytest.mark.parametrize("offers", [UNAUTHENTICATED, LOGIN])
@pytest.mark.parametrize("version", [6, 99, -1])
def test_unsupported_api_versions_request_is_answered(
    version: int, offers: ConnectionSecurity
) -> None:
    """Answer in version 0: error 35 and the range of ApiVersions alone; its body is not read."""
    to = connection(offers)
    tags = b"\x00" if version > 0 else b""

    found = one(to, bare(header(18, version, 77) + b"\xff\xff" + tags + b"\xfegarbage"))

    (frame,) = frames(found)
    correlation_id, told = answer(frame, ApiVersionsResponse, 0)
    assert (correlation_id, told.error_code) == (77, 35)
    assert [(api.api_key, api.min_version, api.max_version) for api in told.api_keys] == [
        (18, 0, 5)
    ]
    assert body(one(to, versions()), ApiVersionsResponse, 3).error_code == 0


def test_malformed_body_ends_the_connection() -> None:
    frame = describe("abc", 9)

    found = closed(connection(), bare(frame[4:-8]))

    assert found.reason == "Error getting request for apiKey: DescribeAcls, apiVersion: 3"
    assert set(found.fields) >= {"field", "offset", "cause", "correlation_id"}
    assert found.fields["principal"] == str(ANONYMOUS)


def test_body_rejected_by_handler_ends_the_connection() -> None:
    found = closed(connection(), describe("senseless"))

    assert found.reason == "Error getting request for apiKey: DescribeAcls, apiVersion: 3"
    assert (found.fields["field"], found.fields["offset"]) == ("name", 7)


def test_unknown_api_before_authentication() -> None:
    found = closed(connection(LOGIN), bare(b"\x03\xe7\x00\x01\x00\x00\x00\x05\xff\xff"))

    assert found.reason.startswith("Invalid request, potential reasons")
    assert found.fields["cause"] == (
        "Error parsing request header. Our best guess of the apiKeyId is: 999"
    )


def test_input_after_the_end_is_ignored() -> None:
    to = connection()
    results(to, describe("a") + bare(b"") + describe("b"))

    assert results(to, describe("c")) == []
    assert not to.has_work
    assert to.buffered_bytes == 0


# --- updates


def test_update_is_completed_with_its_results() -> None:
    to = connection()

    update = one(to, create(["a", "b"], 4))

    assert isinstance(update, Pending)
    refused = AclCreateResult(ApiError(ErrorCode.REQUEST_TIMED_OUT))
    made = to.complete(update, Results([AclCreateResult(), refused]))
    assert isinstance(made, bytes)
    correlation_id, told = answer(frames(made)[0], CreateAclsResponse, 3)
    assert correlation_id == 4
    assert [row.error_code for row in told.results] == [0, 7]


def test_failed_update_is_an_error_response() -> None:
    to = connection()
    update = one(to, create(["a"]))

    made = to.complete(update, (), RuntimeError("no"))

    assert isinstance(made, bytes)
    assert [row.error_code for row in body(made, CreateAclsResponse, 3).results] == [-1]
    assert len(to.events) == 1


def test_mismatched_results_are_an_error() -> None:
    """What ``respond`` raises is answered with -1 and noted."""
    to = connection()
    update = one(to, create(["a"]))

    made = to.complete(update, ["nonsense"])

    assert isinstance(made, bytes)
    assert [row.error_code for row in body(made, CreateAclsResponse, 3).results] == [-1]


def test_deliberate_authorizer_error_is_one_line() -> None:
    to = connection()
    update = one(to, create(["a"]))
    refusal = ApiError(ErrorCode.POLICY_VIOLATION, "Not today.")

    made = to.complete(update, (), AuthorizerFault("plugins.Mine", "create_acls", refusal))

    assert isinstance(made, bytes)
    assert [row.error_code for row in body(made, CreateAclsResponse, 3).results] == [44]
    (event,) = to.events
    assert isinstance(event, LogEvent)
    assert (event.event, event.error) == ("the authorizer refused a request", None)
    assert event.fields["authorizer"] == "plugins.Mine"
    assert event.fields["error"] == "POLICY_VIOLATION"
    assert event.fields["cause"] == "ApiError: Not today."


def refusing(pending: Pending, refuse: Refuse) -> Pending:
    """Return a request whose API refuses in another way."""
    request = pending.request
    return replace(pending, request=replace(request, api=replace(request.api, refuse=refuse)))


def test_unencodable_update_response_is_an_error() -> None:
    """With -1 in every row, as a broker does, and with one line in the log."""
    to = connection()
    pending = one(to, create(["a"]))
    row = AclCreationResult(error_code=42, error_message="x" * 32_768)
    update = replace(pending.outcome, respond=lambda _: CreateAclsResponse(results=(row,)))

    made = to.complete(replace(pending, outcome=update), [AclCreateResult()])

    assert isinstance(made, bytes)
    assert [row.error_code for row in body(made, CreateAclsResponse, 3).results] == [-1]
    (event,) = to.events
    assert isinstance(event, LogEvent)
    assert (event.event, event.error) == ("a response does not fit", None)


def test_unencodable_error_closes_the_connection() -> None:
    to = connection()
    update = one(to, create(["a"]))
    row = AclCreationResult(error_message="x" * 32_768)

    def fails(*_: object) -> CreateAclsResponse:
        raise RuntimeError("no form")

    too_long = refusing(update, lambda *_: CreateAclsResponse(results=(row,)))
    unfit = to.complete(too_long, (), RuntimeError("no"))
    failing = to.complete(refusing(update, fails), (), RuntimeError("no"))

    assert isinstance(unfit, Closed)
    assert unfit.reason == "the answer does not fit version 3 of CreateAcls"
    assert isinstance(failing, Closed)
    assert failing.fields["cause"] == "RuntimeError: no form"


def test_api_without_error_response_closes_the_connection() -> None:
    to = connection()
    update = one(to, request(DeleteTopicsRequest(topic_names=("a",), timeout_ms=5), 5))
    formless = refusing(update, lambda *_: None)
    assert isinstance(to.complete(formless, (), RuntimeError("no")), Closed)


@pytest.mark.parametrize(("release", "envelope"), [("4.3", "None"), ("4.4", "Optional.empty")])
def test_peer_description_matches_the_broker(release: str, envelope: str) -> None:
    peer = Peer("127.0.0.1:9092-127.0.0.1:5-0-1", "127.0.0.1", "SASL", "SASL_PLAINTEXT", number=255)

    assert peer.description(release) == (
        "Request(processor=0, connectionId=127.0.0.1:9092-127.0.0.1:5-0-1,"
        " session=org.apache.kafka.network.Session@ff, listenerName=ListenerName(SASL),"
        f" securityProtocol=SASL_PLAINTEXT, buffer=null, envelope={envelope})"
    )
