"""The exchange of OAUTHBEARER."""

from __future__ import annotations

from doorkeeper.server.security.contract import Challenge, Failure, Success
from doorkeeper.server.security.handlers_contract import TokenRefused, ValidatedToken
from doorkeeper.server.security.oauth.mechanism import OAuthBearerMechanism, refusal_text
from testkit.tokens import NOW_MS, first_message

GOOD = ValidatedToken("alice", NOW_MS + 5000, {"sub": "alice"})
MISSING_SCOPE = TokenRefused("why", status="insufficient_scope", scope="[a, b]")


def taking(token: str) -> ValidatedToken:
    if token == "good":
        return GOOD
    raise TokenRefused("it is not good")


def exchange() -> OAuthBearerMechanism:
    return OAuthBearerMechanism(taking, lambda: NOW_MS)


def test_valid_token_authenticates() -> None:
    step = exchange().step(first_message("good"))

    assert step == Success("alice", lifetime_ms=5000, claims={"sub": "alice"})


def test_rejection_has_two_steps() -> None:
    mechanism = exchange()

    first = mechanism.step(first_message("bad"))
    second = mechanism.step(b"\x01")

    assert first == Challenge(
        b'{"status":"invalid_token"}', '{"status":"invalid_token"}: it is not good'
    )
    assert second == Failure(
        '{"status":"invalid_token"}', '{"status":"invalid_token"}: it is not good'
    )


def test_rejection_is_final() -> None:
    mechanism = exchange()
    mechanism.step(first_message("bad"))

    step = mechanism.step(first_message("good"))

    assert step == Failure(
        None, '{"status":"invalid_token"}: it is not good; the client did not acknowledge the error'
    )


def test_rejection_texts_match_kafka() -> None:
    """Members stand in Kafka's order, with one space behind a comma."""
    everything = TokenRefused(
        "why", status="insufficient_scope", scope="[a]", openid_configuration="https://x"
    )

    assert refusal_text(MISSING_SCOPE) == '{"status":"insufficient_scope", "scope":"[a, b]"}'
    assert refusal_text(everything) == (
        '{"status":"insufficient_scope", "scope":"[a]", "openid-configuration":"https://x"}'
    )


def test_malformed_message_gets_the_general_text() -> None:
    step = exchange().step(b"\x01")

    assert step == Failure(None, "Invalid OAUTHBEARER client first message")


def test_authorization_id_must_be_the_principal() -> None:
    """Who asks to be somebody else is told so, in Kafka's words."""
    right = exchange().step(first_message("good", authorization_id="alice"))
    wrong = exchange().step(first_message("good", authorization_id="bob"))

    assert isinstance(right, Success)
    assert isinstance(wrong, Failure)
    assert wrong.text == (
        "Authentication failed: Client requested an authorization id (bob) that is different"
        " from the token's principal name (alice)"
    )
