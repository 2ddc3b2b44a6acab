"""The protocol's side of a connection while its client logs in, and when it does so again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.protocol.exchange import Closed, Refused
from doorkeeper_wire.messages.api_versions import ApiVersionsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from doorkeeper_wire.messages.metadata import MetadataRequest
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateResponse
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeResponse
from testkit.deliveries import CUTS, Cut, body, closed, header, one, results
from testkit.edge import (
    LOGIN,
    authenticate,
    bare,
    connection,
    describe,
    handshake,
    plain,
    request,
    versions,
)
from testkit.edge_apis import APIS
from testkit.plain import plain_offers

if TYPE_CHECKING:
    from doorkeeper.server.net.options import ConnectionSecurity
    from doorkeeper.server.net.protocol.connection import Connection


def logged_in(offers: ConnectionSecurity = LOGIN, now_s: float = 0.0) -> Connection:
    to = connection(offers)
    for frame in (handshake(), authenticate(plain())):
        assert isinstance(one(to, frame, now_s), bytes)
    return to


def test_java_login_sequence() -> None:
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
def test_pipelined_login(cut: Cut) -> None:
    sent = handshake() + authenticate(plain()) + describe("principal")

    found = results(connection(LOGIN), sent, cut)

    assert len(found) == 3
    assert body(found[2], DescribeAclsResponse, 3).error_message == "User:alice@127.0.0.1"


@pytest.mark.parametrize("cut", CUTS)
def test_login_with_raw_tokens(cut: Cut) -> None:
    """SaslHandshake 0, the token bare; an empty frame is the success."""
    sent = handshake(version=0) + bare(plain()) + describe("principal")

    found = results(connection(LOGIN), sent, cut)

    assert found[1] == b"\0\0\0\0"
    assert body(found[2], DescribeAclsResponse, 3).error_message == "User:alice@127.0.0.1"


def test_failed_raw_token_is_not_answered() -> None:
    """After SaslHandshake 0 a failure is silence, then the end."""
    to = connection(LOGIN)
    one(to, handshake(version=0))

    found = one(to, bare(plain("alice", "wrong")))

    assert found == Refused(b"", "Authentication failed: Invalid username or password", False)


@pytest.mark.parametrize("version", [0, 2])
def test_wrong_password_ends_the_connection(version: int) -> None:
    """58 with the text, in the version that was asked; nothing follows."""
    to = connection(LOGIN)
    one(to, handshake())

    found = one(to, authenticate(plain("alice", "wrong"), version))

    assert isinstance(found, Refused)
    told = body(found.answer, SaslAuthenticateResponse, version)
    assert told.error_code == 58
    assert told.error_message == "Authentication failed: Invalid username or password"
    assert results(to, authenticate(plain())) == []
    assert to.counts.failed_authentications == 1
    assert to.counts.authentications == {("PLAIN", False): 1}


def test_authentications_are_counted() -> None:
    right, unknown = connection(LOGIN), connection(LOGIN)

    results(right, handshake() + authenticate(plain()) + describe("x"))
    results(unknown, handshake("NONSENSE"))

    assert right.counts.authentications == {("PLAIN", True): 1}
    assert unknown.counts.authentications == {("", False): 1}


def test_responses_are_counted_by_api_and_error() -> None:
    to = connection(LOGIN)
    seen: list[tuple[int, int]] = []

    for frame in (versions(), handshake(), authenticate(plain()), describe("x"), describe("fail")):
        one(to, frame)
        assert to.answer_codes is not None
        seen += to.answer_codes
        to.answer_codes.clear()

    assert seen == [(18, 0), (17, 0), (36, 0), (29, 0), (29, -1)]


def test_invalid_software_name_may_retry() -> None:
    """42 in the version that was asked, with no APIs; then another ApiVersions is served."""
    to = connection(LOGIN)

    refused = body(one(to, versions(3, software="-bad-")), ApiVersionsResponse, 3)
    served = body(one(to, versions(3)), ApiVersionsResponse, 3)

    assert (refused.error_code, refused.api_keys) == (42, ())
    assert served.error_code == 0


def test_second_api_versions_before_login_ends_the_connection() -> None:
    to = connection(LOGIN)
    one(to, versions())

    assert closed(to, versions()).reason == (
        "Unexpected Kafka request of type API_VERSIONS during SASL handshake."
    )


@pytest.mark.parametrize("first", [b"", versions(0)])
def test_other_requests_before_login_end_the_connection(first: bytes) -> None:
    for frame in (describe("a"), authenticate(plain()), request(MetadataRequest(), 12)):
        to = connection(LOGIN)
        results(to, first)

        assert "during SASL handshake." in closed(to, frame).reason


@pytest.mark.parametrize(
    ("frame", "response", "version", "name"),
    [
        (describe("a"), DescribeAclsResponse, 3, "DESCRIBE_ACLS"),
        (handshake(), SaslHandshakeResponse, 1, "SASL_HANDSHAKE"),
        (versions(), ApiVersionsResponse, 3, "API_VERSIONS"),
    ],
)
def test_request_instead_of_token_is_rejected(
    frame: bytes, response: type[Any], version: int, name: str
) -> None:
    """Between handshake and token each request is refused with 34 in its own form, and ends it."""
    to = connection(LOGIN)
    one(to, handshake())

    found = one(to, frame)

    assert isinstance(found, Refused)
    assert body(found.answer, response, version).error_code == 34
    assert found.reason == f"Unexpected Kafka request of type {name} during SASL authentication."


def test_unsupported_api_versions_instead_of_token() -> None:
    """ApiVersions of an unknown version is refused in version 0, without a range."""
    to = connection(LOGIN)
    one(to, handshake())

    found = one(to, bare(header(18, 9) + b"\xff\xff\x00"))

    assert isinstance(found, Refused)
    told = body(found.answer, ApiVersionsResponse, 0)
    assert (told.error_code, told.api_keys) == (34, ())


def test_unsupported_sasl_versions_end_the_connection() -> None:
    """SaslHandshake 2 and SaslAuthenticate 3 are not answered."""
    to, authenticating = connection(LOGIN), connection(LOGIN)
    one(authenticating, handshake())

    assert "unsupported version 2" in closed(to, bare(header(17, 2) + b"\xff\xff\x00\x00")).reason
    assert (
        "unsupported version 3"
        in closed(authenticating, bare(header(36, 3) + b"\xff\xff\x00\x01\x00")).reason
    )


def test_malformed_sasl_request_ends_the_connection() -> None:
    found = closed(connection(LOGIN), bare(header(17, 1) + b"\xff\xff\x00\x09PL"))

    assert found.reason == "Error getting request for apiKey: SaslHandshake, apiVersion: 1"


@pytest.mark.parametrize("cut", CUTS)
def test_request_size_is_limited_before_login(cut: Cut) -> None:
    limits = Limits(sasl_frame_bytes_max=100)

    found = results(connection(LOGIN, limits), (101).to_bytes(4) + b"x", cut)

    reason = "Failing SASL authentication due to invalid receive size"
    assert found == [Refused(b"", reason, False)]


def test_larger_requests_are_allowed_after_login() -> None:
    limits = Limits(sasl_frame_bytes_max=100)
    long = describe("x" * 500)

    found = results(connection(LOGIN, limits), handshake() + authenticate(plain()) + long)

    assert body(found[2], DescribeAclsResponse, 3).error_message == "x" * 500


# --- after the login


def test_second_login_is_rejected() -> None:
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


def test_session_is_renewed_in_place() -> None:
    to = logged_in(LIMITED)

    shaken = body(one(to, handshake(), 1.8), SaslHandshakeResponse, 1)
    let_in = body(one(to, authenticate(plain()), 1.8), SaslAuthenticateResponse, 2)

    assert shaken.error_code == let_in.error_code == 0
    assert let_in.session_lifetime_ms == 2000
    assert isinstance(one(to, describe("a"), 3.7), bytes)


def test_expired_session_ends_silently() -> None:
    to = logged_in(LIMITED)

    assert one(to, describe("a"), 2.0) == Closed("")
    assert to.counts.killed_by_expiry == 1


def test_failed_reauthentication_is_reported() -> None:
    to = logged_in(LIMITED)
    one(to, handshake(), 1.5)

    found = one(to, authenticate(plain("bob")), 1.5)

    assert isinstance(found, Refused)
    assert found.reauthentication
    assert body(found.answer, SaslAuthenticateResponse, 2).error_code == 58


def test_errors_hide_secrets() -> None:
    for token in (plain("alice", "hush"), plain("mallory", "hush"), b"hush", b"\0\0hush"):
        to = connection(LOGIN)
        one(to, handshake())
        assert "hush" not in repr(one(to, authenticate(token)))
    assert "hush" not in repr(closed(connection(LOGIN), bare(b"\0hush\0hush")))
