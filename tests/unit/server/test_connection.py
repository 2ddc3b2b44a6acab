"""The protocol's side of a connection: what each kind of input leads to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acl.model import ANONYMOUS
from doorkeeper.authorizer.contract import AclCreateResult
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.exchange import Closed, Counts, Note, Refused, Update
from doorkeeper.limits import Limits
from doorkeeper.net.spec import IN_CLEAR, Offers
from doorkeeper_wire.messages.api_versions import ApiVersionsResponse
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.delete_topics import DeleteTopicsRequest
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from doorkeeper_wire.messages.metadata import MetadataRequest
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateResponse
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeResponse
from testkit.edge import (
    APIS,
    LOGIN,
    answer,
    authenticate,
    bare,
    connection,
    create,
    describe,
    frames,
    handshake,
    plain,
    request,
    versions,
)
from testkit.plain import plain_offers

if TYPE_CHECKING:
    from doorkeeper.connection import Connection

Cut = Callable[[bytes], Iterable[bytes]]


def whole(data: bytes) -> Iterable[bytes]:
    """Deliver in one piece."""
    return [data]


def byte_by_byte(data: bytes) -> Iterable[bytes]:
    """Deliver as slowly as can be."""
    return [data[at : at + 1] for at in range(len(data))]


def in_threes(data: bytes) -> Iterable[bytes]:
    """Deliver across every boundary."""
    return [data[at : at + 3] for at in range(0, len(data), 3)]


CUTS = (whole, byte_by_byte, in_threes)


def results(to: Connection, data: bytes, cut: Cut = whole, now_s: float = 0.0) -> list[Any]:
    """Deliver bytes; return all that came of them."""
    found: list[Any] = []
    for piece in cut(data):
        to.receive(piece)
        while (result := to.advance(now_s)) is not None:
            found.append(result)
    return found


def one(to: Connection, data: bytes, now_s: float = 0.0) -> Any:
    (result,) = results(to, data, now_s=now_s)
    return result


def body(result: Any, response: type[Any], version: int) -> Any:
    (frame,) = frames(result)
    return answer(frame, response, version)[1]


def closed(to: Connection, data: bytes) -> Closed:
    result = one(to, data)
    assert isinstance(result, Closed)
    return result


def logged_in(offers: Offers = LOGIN, now_s: float = 0.0) -> Connection:
    to = connection(offers)
    for frame in (handshake(), authenticate(plain())):
        assert isinstance(one(to, frame, now_s), bytes)
    return to


# --- plain requests


@pytest.mark.parametrize("cut", CUTS)
def test_answers_come_in_the_order_of_the_requests(cut: Cut) -> None:
    """However the bytes are cut, each request gets one answer with its correlation id."""
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
def test_bytes_behind_the_body_are_ignored_and_counted(cut: Cut) -> None:
    """Trailing bytes change nothing, and the count of them grows."""
    frame = describe("a")
    longer = (len(frame) - 4 + 3).to_bytes(4) + frame[4:] + b"xyz"
    to = connection()

    found = results(to, longer + describe("b", 2), cut)

    names = [body(result, DescribeAclsResponse, 3).error_message for result in found]
    assert names == ["a", "b"]
    assert to._counts.trailing_bytes == 3


def test_a_request_carries_who_and_from_where() -> None:
    """The context has the principal, the host, and the description of a broker's refusals."""
    to = connection()

    who = body(one(to, describe("principal")), DescribeAclsResponse, 3).error_message
    text = body(one(to, describe("description")), DescribeAclsResponse, 3).error_message

    assert who == "User:ANONYMOUS@127.0.0.1"
    assert text == (
        "Request(processor=0, connectionId=127.0.0.1:9092-127.0.0.1:50000-0-7,"
        " session=org.apache.kafka.network.Session@7, listenerName=ListenerName(CLIENTS),"
        " securityProtocol=PLAINTEXT, buffer=null, envelope=None)"
    )


def test_a_client_without_a_name_is_served() -> None:
    """A null client id is an empty one."""
    message = DescribeAclsRequest(resource_name_filter="principal")

    found = one(connection(), request(message, 2, client=None))

    assert body(found, DescribeAclsResponse, 2).error_message == "User:ANONYMOUS@127.0.0.1"


def test_a_handler_that_fails_is_answered_and_noted() -> None:
    """The client gets -1 without a text; the note has the request and the exception."""
    to = connection()

    found = body(one(to, describe("fail", 9)), DescribeAclsResponse, 3)

    assert (found.error_code, found.error_message) == (-1, None)
    (note,) = [each for each in to.notes if isinstance(each, Note)]
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
def test_a_bad_size_ends_it_after_what_came_before(cut: Cut, prefix: bytes, reason: str) -> None:
    """Requests before a bad size are answered; then the connection ends, and nothing follows."""
    found = results(connection(), describe("a") + prefix + describe("b"), cut)

    assert body(found[0], DescribeAclsResponse, 3).error_message == "a"
    assert found[1:] == [Closed(reason)]


def test_tls_where_there_is_none() -> None:
    """The greeting of a TLS client is a size that is too large; the line has a hint."""
    reason = "Invalid receive (size = 369295618 larger than 104857600)"

    assert results(connection(), b"\x16\x03\x01\x02\0\1") == [
        Closed(reason, {"hint": "the client speaks TLS"})
    ]


def test_an_empty_frame_is_no_request() -> None:
    """Size 0 is a frame, but has no header: the line names offset and field."""
    found = closed(connection(), bare(b""))

    assert found.reason == "malformed request header"
    assert found.fields["offset"] == 0
    assert found.fields["field"] == "header"


def test_elements_are_bounded_over_the_whole_request() -> None:
    """A request of more elements than allowed ends it; one of as many is served."""
    limits = Limits(elements_max=100)

    assert isinstance(one(connection(limits=limits), create(["t"] * 100)), Update)
    found = closed(connection(limits=limits), create(["t"] * 101))

    assert found.reason == "Error getting request for apiKey: CreateAcls, apiVersion: 3"
    assert found.fields["field"] == "creations"
    assert found.fields["cause"] == "101 more elements are more than allowed in all"


def test_what_is_promised_is_not_held() -> None:
    """A frame of 100 MB that does not come costs its five bytes."""
    to = connection()

    assert results(to, (104_857_600).to_bytes(4) + b"x") == []
    assert to.buffered < 10
    assert not to.waiting


# --- requests that are none


def test_an_unknown_api_ends_it() -> None:
    """The line has the guess of a broker."""
    found = closed(connection(), bare(b"\x03\xe7\x00\x01\x00\x00\x00\x05\xff\xff"))

    assert found.reason == "Error parsing request header. Our best guess of the apiKeyId is: 999"
    assert found.fields == {"api_version": 1, "correlation_id": 5}


def test_an_api_that_is_not_served_ends_it() -> None:
    """One of Kafka's that this listener does not have, is named in the line."""
    found = closed(connection(), request(MetadataRequest(), 12))

    assert found.reason == "Received request for disabled api with key 3 (Metadata)"


def test_an_api_of_the_other_kind_of_listener_ends_it() -> None:
    """What only brokers serve is not served on a controller's listener."""
    to = connection(controller=True)

    assert isinstance(one(to, describe("a")), bytes)
    assert "disabled api with key 30 (CreateAcls)" in closed(to, create(["a"])).reason


def header(api_key: int, version: int, correlation_id: int = 1) -> bytes:
    return api_key.to_bytes(2) + version.to_bytes(2, signed=True) + correlation_id.to_bytes(4)


@pytest.mark.parametrize("version", [0, 4, 99, -1])
def test_an_unsupported_version_ends_it(version: int) -> None:
    """No answer has a form for it; the line names API and version."""
    found = closed(connection(), bare(header(29, version) + b"\xff\xff\x00\x00"))

    assert found.reason == (
        f"Received request for api with key 29 (DescribeAcls) and unsupported version {version}"
    )


@pytest.mark.parametrize("offers", [IN_CLEAR, LOGIN])
@pytest.mark.parametrize("version", [6, 99, -1])
def test_unknown_versions_of_api_versions_are_answered(version: int, offers: Offers) -> None:
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


def test_a_malformed_body_ends_it() -> None:
    """The line has field, offset, API, version, correlation id and principal."""
    frame = describe("abc", 9)

    found = closed(connection(), bare(frame[4:-8]))

    assert found.reason == "Error getting request for apiKey: DescribeAcls, apiVersion: 3"
    assert set(found.fields) >= {"field", "offset", "cause", "correlation_id"}
    assert found.fields["principal"] == str(ANONYMOUS)


def test_a_body_that_makes_no_sense_ends_it() -> None:
    """What a handler calls malformed ends the connection as a malformed body does."""
    found = closed(connection(), describe("senseless"))

    assert found.reason == "Error getting request for apiKey: DescribeAcls, apiVersion: 3"
    assert (found.fields["field"], found.fields["offset"]) == ("name", 7)


def test_an_unknown_api_of_a_stranger() -> None:
    """Before the login it is taken for another protocol."""
    found = closed(connection(LOGIN), bare(b"\x03\xe7\x00\x01\x00\x00\x00\x05\xff\xff"))

    assert found.reason.startswith("Invalid request, potential reasons")
    assert found.fields["cause"] == (
        "Error parsing request header. Our best guess of the apiKeyId is: 999"
    )


def test_nothing_follows_the_end() -> None:
    """After the end neither old nor new bytes are looked at."""
    to = connection()
    results(to, describe("a") + bare(b"") + describe("b"))

    assert results(to, describe("c")) == []
    assert not to.waiting
    assert to.buffered == 0


# --- updates


def test_an_update_is_given_out_and_finished() -> None:
    """A handler's outcome goes to the shell; its results make the answer."""
    to = connection()

    update = one(to, create(["a", "b"], 4))

    assert isinstance(update, Update)
    refused = AclCreateResult(ApiError(ErrorCode.REQUEST_TIMED_OUT))
    made = to.finish(update, [AclCreateResult(), refused])
    assert isinstance(made, bytes)
    correlation_id, told = answer(frames(made)[0], CreateAclsResponse, 3)
    assert correlation_id == 4
    assert [row.error_code for row in told.results] == [0, 7]


def test_an_update_that_fails_whole_is_refused() -> None:
    """Its API's own form carries the error."""
    to = connection()
    update = one(to, create(["a"]))

    made = to.refuse(update, RuntimeError("no"))

    assert isinstance(made, bytes)
    assert [row.error_code for row in body(made, CreateAclsResponse, 3).results] == [-1]
    assert len(to.notes) == 1


def test_results_that_do_not_fit_are_an_error_of_ours() -> None:
    """What ``finish`` raises is answered with -1 and noted."""
    to = connection()
    update = one(to, create(["a"]))

    made = to.finish(update, ["nonsense"])

    assert isinstance(made, bytes)
    assert [row.error_code for row in body(made, CreateAclsResponse, 3).results] == [-1]


def test_an_api_without_a_form_for_errors_ends_it() -> None:
    """Where nothing can be said the connection ends."""
    to = connection()
    update = one(to, request(DeleteTopicsRequest(topic_names=("a",), timeout_ms=5), 5))

    assert isinstance(to.refuse(update, RuntimeError("no")), Closed)


# --- conversations of strangers


def test_the_login_of_java() -> None:
    """ApiVersions 0, SaslHandshake 1, SaslAuthenticate 2, ApiVersions 3, request."""
    to = connection(LOGIN)

    told = body(one(to, versions(0)), ApiVersionsResponse, 0)
    shaken = body(one(to, handshake()), SaslHandshakeResponse, 1)
    let_in = body(one(to, authenticate(plain())), SaslAuthenticateResponse, 2)
    again = body(one(to, versions(3)), ApiVersionsResponse, 3)
    who = body(one(to, describe("principal")), DescribeAclsResponse, 3)

    assert len(told.api_keys) == len(again.api_keys) == len(APIS)
    assert (shaken.error_code, shaken.mechanisms) == (0, ("PLAIN",))
    assert (let_in.error_code, let_in.error_message, let_in.auth_bytes) == (0, "", b"")
    assert who.error_message == "User:alice@127.0.0.1"


@pytest.mark.parametrize("cut", CUTS)
def test_a_login_may_be_pipelined(cut: Cut) -> None:
    """Handshake, token and a request in one piece: three answers, the last for the user."""
    sent = handshake() + authenticate(plain()) + describe("principal")

    found = results(connection(LOGIN), sent, cut)

    assert len(found) == 3
    assert body(found[2], DescribeAclsResponse, 3).error_message == "User:alice@127.0.0.1"


@pytest.mark.parametrize("cut", CUTS)
def test_a_login_with_bare_tokens(cut: Cut) -> None:
    """SaslHandshake 0, the token bare; an empty frame is the success."""
    sent = handshake(version=0) + bare(plain()) + describe("principal")

    found = results(connection(LOGIN), sent, cut)

    assert found[1] == b"\0\0\0\0"
    assert body(found[2], DescribeAclsResponse, 3).error_message == "User:alice@127.0.0.1"


def test_a_wrong_bare_token_is_not_answered() -> None:
    """After SaslHandshake 0 a failure is silence, then the end."""
    to = connection(LOGIN)
    one(to, handshake(version=0))

    found = one(to, bare(plain("alice", "wrong")))

    assert found == Refused(b"", "Authentication failed: Invalid username or password", False)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_wrong_password_is_answered_and_ends_it(version: int) -> None:
    """58 with the text, in the version that was asked; nothing follows."""
    to = connection(LOGIN)
    one(to, handshake())

    found = one(to, authenticate(plain("alice", "wrong"), version))

    assert isinstance(found, Refused)
    told = body(found.answer, SaslAuthenticateResponse, version)
    assert told.error_code == 58
    assert told.error_message == "Authentication failed: Invalid username or password"
    assert results(to, authenticate(plain())) == []
    assert to._counts.failed_authentications == 1
    assert to._counts.authentications == {("PLAIN", False): 1}


def test_authentications_are_counted_by_mechanism_and_result() -> None:
    """One that succeeds, and one for which no mechanism was agreed on, whatever it was called."""
    right, unknown = connection(LOGIN), connection(LOGIN)

    results(right, handshake() + authenticate(plain()) + describe("x"))
    results(unknown, handshake("NONSENSE"))

    assert right._counts.authentications == {("PLAIN", True): 1}
    assert unknown._counts.authentications == {("", False): 1}


def test_what_was_answered_is_known_by_api_and_error() -> None:
    """Of requests before the login too; who counts them empties the list."""
    to = connection(LOGIN)
    seen = []

    for frame in (versions(), handshake(), authenticate(plain()), describe("x"), describe("fail")):
        one(to, frame)
        seen += to.answered
        to.answered.clear()

    assert seen == [(18, 0), (17, 0), (36, 0), (29, 0), (29, -1)]


def test_an_unknown_mechanism_is_answered_and_ends_it() -> None:
    """33 with the mechanisms that there are."""
    found = one(connection(LOGIN), handshake("GSSAPI"))

    assert isinstance(found, Refused)
    told = body(found.answer, SaslHandshakeResponse, 1)
    assert (told.error_code, told.mechanisms) == (33, ("PLAIN",))
    assert found.reason == "Unsupported SASL mechanism GSSAPI"


def test_a_bad_software_name_may_try_again() -> None:
    """42 in the version that was asked, with no APIs; then another ApiVersions is served."""
    to = connection(LOGIN)

    refused = body(one(to, versions(3, software="-bad-")), ApiVersionsResponse, 3)
    served = body(one(to, versions(3)), ApiVersionsResponse, 3)

    assert (refused.error_code, refused.api_keys) == (42, ())
    assert served.error_code == 0


def test_a_stranger_cannot_ask_versions_twice() -> None:
    """A second ApiVersions after a served one ends it without an answer."""
    to = connection(LOGIN)
    one(to, versions())

    assert closed(to, versions()).reason == (
        "Unexpected Kafka request of type API_VERSIONS during SASL handshake."
    )


@pytest.mark.parametrize("first", [b"", versions(0)])
def test_a_stranger_cannot_ask_for_anything_else(first: bytes) -> None:
    """Before the handshake every other request ends it without an answer, served or not."""
    for frame in (describe("a"), authenticate(plain()), request(MetadataRequest(), 12)):
        to = connection(LOGIN)
        results(to, first)

        assert "during SASL handshake." in closed(to, frame).reason


def test_garbage_from_a_stranger() -> None:
    """Bytes that are no request get the line that names the likely reasons."""
    assert closed(connection(LOGIN), bare(b"hello")).reason.startswith(
        "Invalid request, potential reasons: kafka client configured with the wrong security"
    )


@pytest.mark.parametrize(
    ("frame", "response", "version", "name"),
    [
        (describe("a"), DescribeAclsResponse, 3, "DESCRIBE_ACLS"),
        (handshake(), SaslHandshakeResponse, 1, "SASL_HANDSHAKE"),
        (versions(), ApiVersionsResponse, 3, "API_VERSIONS"),
    ],
)
def test_a_request_in_place_of_a_token(
    frame: bytes, response: type[Any], version: int, name: str
) -> None:
    """Between handshake and token each request is refused with 34 in its own form, and ends it."""
    to = connection(LOGIN)
    one(to, handshake())

    found = one(to, frame)

    assert isinstance(found, Refused)
    assert body(found.answer, response, version).error_code == 34
    assert found.reason == f"Unexpected Kafka request of type {name} during SASL authentication."


def test_unknown_versions_in_place_of_a_token() -> None:
    """ApiVersions of an unknown version is refused in version 0, without a range."""
    to = connection(LOGIN)
    one(to, handshake())

    found = one(to, bare(header(18, 9) + b"\xff\xff\x00"))

    assert isinstance(found, Refused)
    told = body(found.answer, ApiVersionsResponse, 0)
    assert (told.error_code, told.api_keys) == (34, ())


def test_sasl_requests_of_unknown_versions_end_it() -> None:
    """SaslHandshake 2 and SaslAuthenticate 3 are not answered."""
    to, authenticating = connection(LOGIN), connection(LOGIN)
    one(authenticating, handshake())

    assert "unsupported version 2" in closed(to, bare(header(17, 2) + b"\xff\xff\x00\x00")).reason
    assert (
        "unsupported version 3"
        in closed(authenticating, bare(header(36, 3) + b"\xff\xff\x00\x01\x00")).reason
    )


def test_a_malformed_sasl_request_ends_it() -> None:
    """A handshake whose mechanism is cut off is no request."""
    found = closed(connection(LOGIN), bare(header(17, 1) + b"\xff\xff\x00\x09PL"))

    assert found.reason == "Error getting request for apiKey: SaslHandshake, apiVersion: 1"


@pytest.mark.parametrize("cut", CUTS)
def test_a_stranger_cannot_send_much(cut: Cut) -> None:
    """A promise above sasl.server.max.receive.size fails at once, without an answer."""
    limits = Limits(sasl_frame_bytes_max=100)

    found = results(connection(LOGIN, limits), (101).to_bytes(4) + b"x", cut)

    reason = "Failing SASL authentication due to invalid receive size"
    assert found == [Refused(b"", reason, False)]


def test_the_larger_frame_is_allowed_behind_the_login() -> None:
    """A long request pipelined behind the token is judged by the cap that holds then."""
    limits = Limits(sasl_frame_bytes_max=100)
    long = describe("x" * 500)

    found = results(connection(LOGIN, limits), handshake() + authenticate(plain()) + long)

    assert body(found[2], DescribeAclsResponse, 3).error_message == "x" * 500


# --- after the login


def test_a_second_login_is_refused_and_changes_nothing() -> None:
    """Without a session lifetime SaslHandshake and SaslAuthenticate get 34; it goes on."""
    to = logged_in()

    shaken = body(one(to, handshake()), SaslHandshakeResponse, 1)
    let_in = body(one(to, authenticate(plain())), SaslAuthenticateResponse, 2)

    assert (shaken.error_code, shaken.mechanisms) == (34, ())
    assert let_in.error_code == 34
    assert let_in.error_message == (
        "SaslAuthenticate request received after successful authentication"
    )
    assert isinstance(one(to, describe("a")), bytes)


LIMITED = plain_offers(max_reauth_ms=2000)


def test_a_session_is_renewed_in_place() -> None:
    """Handshake and token on the live connection, between requests."""
    to = logged_in(LIMITED)

    shaken = body(one(to, handshake(), 1.8), SaslHandshakeResponse, 1)
    let_in = body(one(to, authenticate(plain()), 1.8), SaslAuthenticateResponse, 2)

    assert shaken.error_code == let_in.error_code == 0
    assert let_in.session_lifetime_ms == 2000
    assert isinstance(one(to, describe("a"), 3.7), bytes)


def test_an_expired_session_ends_silently() -> None:
    """The next request other than SaslHandshake closes it; this is counted and not logged."""
    to = logged_in(LIMITED)

    assert one(to, describe("a"), 2.0) == Closed("")
    assert to._counts.killed_by_expiry == 1


def test_a_renewal_that_fails_says_so() -> None:
    """Its refusal is that of a re-authentication."""
    to = logged_in(LIMITED)
    one(to, handshake(), 1.5)

    found = one(to, authenticate(plain("bob")), 1.5)

    assert isinstance(found, Refused)
    assert found.reauthentication
    assert body(found.answer, SaslAuthenticateResponse, 2).error_code == 58


def test_no_secret_is_in_what_is_told() -> None:
    """Reasons and fields of every kind of refusal hold no password."""
    for token in (plain("alice", "hush"), plain("mallory", "hush"), b"hush", b"\0\0hush"):
        to = connection(LOGIN)
        one(to, handshake())
        assert "hush" not in repr(one(to, authenticate(token)))
    assert "hush" not in repr(closed(connection(LOGIN), bare(b"\0hush\0hush")))


# --- what is withheld from clients that would fail on it

WITHHOLD = "doorkeeper.clients.withhold=test=7/14,unnamed=6/12\n"
ODD = describe("codes:2/3 2/15 7/13 8/3")


def told_codes(result: Any) -> list[tuple[int, int]]:
    """Return resource type and operation of the ACLs in an answer."""
    found = body(result, DescribeAclsResponse, 3)
    return [(row.resource_type, acl.operation) for row in found.resources for acl in row.acls]


def test_nothing_is_withheld_by_default() -> None:
    """Whatever a client is called, it sees what a broker would show it."""
    to = connection()
    one(to, versions())

    assert told_codes(one(to, ODD)) == [(2, 3), (2, 15), (7, 13), (8, 3)]


def test_acls_are_withheld_from_software_that_cannot_read_them() -> None:
    """By the name of ApiVersions; they are counted, and a connection is told of once."""
    counts = Counts()
    to = connection(properties=WITHHOLD, counts=counts)
    one(to, versions())

    assert told_codes(one(to, ODD)) == [(2, 3), (7, 13)]
    assert told_codes(one(to, ODD)) == [(2, 3), (7, 13)]
    assert counts.withheld_acls == 4
    (note,) = [each for each in to.notes if isinstance(each, Note)]
    assert note.error is None
    assert note.fields == {"acls": 2, "software": "test", "software_version": "1.0"}


@pytest.mark.parametrize("said", [b"", versions(2)])
def test_software_without_a_name_has_a_rule_of_its_own(said: bytes) -> None:
    """Clients that ask for no versions, or for old ones, are ``unnamed``."""
    to = connection(properties=WITHHOLD)
    results(to, said)

    assert told_codes(one(to, ODD)) == [(2, 3)]


def test_other_software_sees_all() -> None:
    """A rule is for the software that it names."""
    to = connection(properties=WITHHOLD)
    one(to, versions(software="other"))

    assert len(told_codes(one(to, ODD))) == 4
    assert to.notes == []


def test_an_answer_that_a_client_would_not_survive_is_refused() -> None:
    """The limit is on the bytes of the answer, and the refusal says both numbers."""
    to = connection(properties="doorkeeper.clients.answer.max.bytes=test=20100\n")
    one(to, versions())

    small = body(one(to, describe("long:2")), DescribeAclsResponse, 3)
    large = body(one(to, describe("long:3")), DescribeAclsResponse, 3)

    assert len(small.resources) == 2
    assert (large.error_code, large.resources) == (ErrorCode.POLICY_VIOLATION, ())
    assert large.error_message.startswith("The answer has 30")
    assert "test may get 20100" in large.error_message


def test_a_connection_is_empty_when_all_that_came_is_handled() -> None:
    """The beginning of a frame, a whole one and a wrong size are something."""
    client = connection()
    frame = describe("a")
    seen = [client.is_empty]

    for data in (frame[:3], frame[3:]):
        client.receive(data)
        seen.append(client.is_empty)
    client.advance(0)
    seen.append(client.is_empty)
    client.receive(b"\xff\xff\xff\xff")
    seen.append(client.is_empty)

    assert seen == [True, False, False, True, False]
