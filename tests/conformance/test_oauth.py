"""OAUTHBEARER against Kafka's own client and server classes: messages, options, tokens, times."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.server.config.sasl_keys import (
    SASL_OAUTHBEARER_CLOCK_SKEW_SECONDS,
    SASL_OAUTHBEARER_EXPECTED_AUDIENCE,
    SASL_OAUTHBEARER_EXPECTED_ISSUER,
    SASL_OAUTHBEARER_SCOPE_CLAIM_NAME,
    SASL_OAUTHBEARER_SUB_CLAIM_NAME,
)
from doorkeeper.server.security.oauth import jwks
from doorkeeper.server.security.oauth.mechanism import InvalidMessage, parse_first
from doorkeeper.server.security.oauth.signed import ClaimRules, SignedTokens
from doorkeeper.server.security.oauth.unsecured import UnsecuredTokens
from testkit import oracle_oauth
from testkit.kafka_jars import Unavailable, cannot
from testkit.oracle_bytes import damaged
from testkit.oracle_oauth import OAuthOracle, Outcome, our_outcomes
from testkit.oracle_totals import Totals
from testkit.tokens import NOW_MS, NOW_S, first_message, signed, unsigned

NO_ALGORITHM = "a token without alg, where Kafka fails"
OTHER_SCHEME = "a scheme that is not Bearer, where Kafka fails"
TWO_TOKENS = "two pairs named auth, where Kafka takes the last"
AFTER_REFUSAL = "a message after a refusal, which Kafka takes as a new attempt"
HALF_A_PAIR = "a principal with half a pair of surrogates, where Kafka writes ?"
ODD_SCOPE = "a scope with something that is no text, where Kafka fails"
END_OF_TIME = "a time that is too large for milliseconds, where Kafka fails"
SHARED_SECRET = "a token signed with a shared secret, which Kafka takes"
SECOND = st.sampled_from([b"\x01", b"\x01", b"", b"\x01\x01", first_message("x.y.")])


@pytest.fixture(scope="session")
def oauth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OAuthOracle]:
    """Give Kafka's classes, with a key set of every kind of key."""
    path = tmp_path_factory.mktemp("oauth") / "keys.json"
    path.write_bytes(oracle_oauth.oracle_key_set())
    try:
        oracle = OAuthOracle(path)
        oracle.unsecured({}, [])
    except Unavailable as missing:
        cannot(str(missing))
    yield oracle
    oracle.close()


KAFKA_FAILS = {
    "must have an Algorithm": NO_ALGORITHM,
    "No group with name <scheme>": OTHER_SCHEME,
    "ClassCastException": ODD_SCOPE,
    "ArithmeticException": END_OF_TIME,
}
"""What Kafka's own failures are told by: it closes the connection, and we refuse the client."""


def accepted_difference(before: list[Outcome], theirs: Outcome, ours: Outcome) -> str | None:
    """Return the name of a known difference of one step, or None."""
    if "broken" in theirs and ("challenge" in ours or "sasl" in ours):
        names = (name for part, name in KAFKA_FAILS.items() if part in theirs["broken"])
        return next(names, None)
    if ours.get("sasl") == "Extension name auth is invalid":
        return TWO_TOKENS
    if before and "did not acknowledge" in ours.get("sasl", ""):
        return AFTER_REFUSAL
    return HALF_A_PAIR if "?" in str(theirs) and "challenge" in ours else None


def agree(kafka: list[Outcome], ours: list[Outcome], totals: Totals, what: str) -> None:
    """Compare step by step, up to the first known difference; the reasons for a log may differ."""
    for number, (theirs, own) in enumerate(zip(kafka, ours, strict=False)):
        totals.compared[what] += 1
        if theirs == own or ("sasl" in theirs and "sasl" in own):
            if "principal" in theirs:
                totals.compared[f"{what}, accepted"] += 1
            continue
        found = accepted_difference(ours[:number], theirs, own)
        assert found is not None, (kafka, ours)
        totals.accepted[found] += 1
        return


@settings(max_examples=1200)
@given(data=oracle_oauth.messages(oracle_oauth.unsigned_tokens()), second=SECOND)
def test_random_messages(oauth: OAuthOracle, totals: Totals, data: bytes, second: bytes) -> None:
    """What a client sends first and second has the same end, with the same text."""
    kafka = oauth.unsecured({}, [data, second])
    ours = our_outcomes(UnsecuredTokens({}, lambda: NOW_MS), [data, second])

    agree(kafka, ours, totals, "steps of OAUTHBEARER")


@settings(max_examples=200)
@given(data=oracle_oauth.messages(st.just("a.b.")), seed=st.integers(0, 1 << 32))
def test_damaged_messages(oauth: OAuthOracle, totals: Totals, data: bytes, seed: int) -> None:
    """Whatever the bytes, both read a message or both do not."""
    for attempt in damaged(data, seed, 5):
        [theirs] = oauth.unsecured({}, [attempt])

        agree(
            [theirs],
            our_outcomes(UnsecuredTokens({}, lambda: NOW_MS), [attempt]),
            totals,
            "damaged messages of OAUTHBEARER",
        )


@settings(max_examples=1500)
@given(token=oracle_oauth.unsigned_tokens(), options=oracle_oauth.OPTIONS)
def test_random_unsigned_tokens(
    oauth: OAuthOracle, totals: Totals, token: str, options: dict[str, str]
) -> None:
    """With any options, a token is of the same principal until the same time, or refused alike."""
    data = first_message(token)
    ours = our_outcomes(UnsecuredTokens(options, lambda: NOW_MS), [data, b"\x01"])

    agree(oauth.unsecured(options, [data, b"\x01"]), ours, totals, "steps with unsigned tokens")


@settings(max_examples=800)
@given(login=oracle_oauth.LOGIN_OPTIONS, options=oracle_oauth.OPTIONS)
def test_tokens_of_kafkas_client(
    oauth: OAuthOracle, totals: Totals, login: dict[str, str], options: dict[str, str]
) -> None:
    """What Kafka's client makes of its options is read as Kafka's server reads it."""
    data = oauth.login(login)
    if data is None:
        totals.compared["options that Kafka's client refuses"] += 1
        return
    ours = our_outcomes(UnsecuredTokens(options, lambda: NOW_MS), [data, b"\x01"])

    agree(oauth.unsecured(options, [data, b"\x01"]), ours, totals, "steps with Kafka's client")


def rules_of(configs: dict[str, Any]) -> ClaimRules:
    return ClaimRules(
        audiences=frozenset(configs.get(SASL_OAUTHBEARER_EXPECTED_AUDIENCE.name, ())),
        issuer=configs.get(SASL_OAUTHBEARER_EXPECTED_ISSUER.name),
        scope_claim=configs.get(SASL_OAUTHBEARER_SCOPE_CLAIM_NAME.name, "scope"),
        subject_claim=configs.get(SASL_OAUTHBEARER_SUB_CLAIM_NAME.name, "sub"),
        skew_s=configs.get(SASL_OAUTHBEARER_CLOCK_SKEW_SECONDS.name, 30),
    )


class Keys:
    """The keys of the comparison."""

    def __init__(self) -> None:
        self.keys = jwks.parse(oracle_oauth.oracle_key_set())

    def fetch_newer(self) -> None:
        """There are no newer ones."""


KEYS = Keys()


@settings(max_examples=1500)
@given(data=st.data(), configs=st.sampled_from(oracle_oauth.CONFIGS))
def test_random_signed_tokens(
    oauth: OAuthOracle, totals: Totals, data: st.DataObject, configs: dict[str, Any]
) -> None:
    """With a key set and any rules, a token is of the same principal until the same time."""
    _, now_ms, _ = oauth.signed({}, [])
    token = data.draw(oracle_oauth.signed_tokens(now_ms // 1000))
    message = first_message(token)

    kafka, begin_ms, end_ms = oauth.signed(configs, [message, b"\x01"])
    ours = [ours_signed(configs, [message, b"\x01"], at_ms) for at_ms in (begin_ms, end_ms)]

    if ours[0] != ours[1]:
        totals.compared["signed tokens that expired while they were asked"] += 1
        return
    if "principal" in kafka[0] and token_is_shared(token):
        assert "challenge" in ours[0][0]
        totals.accepted[SHARED_SECRET] += 1
        return
    agree(kafka, ours[0], totals, "steps with signed tokens")


def ours_signed(configs: dict[str, Any], data: list[bytes], now_ms: int) -> list[Outcome]:
    tokens = SignedTokens(KEYS, rules_of(configs), lambda: now_ms)
    return our_outcomes(tokens, data, now_ms)


def token_is_shared(token: str) -> bool:
    """Say whether a token names an algorithm with a shared secret."""
    try:
        return "HS256" in str(oracle_oauth.header_of(parse_first(first_message(token))[0]))
    except InvalidMessage:
        return False


GOOD = unsigned({"sub": "alice", "exp": NOW_S + 9})
OF_UNSIGNED = {
    NO_ALGORITHM: [first_message(unsigned({"sub": "alice", "exp": NOW_S + 9}, {}))],
    OTHER_SCHEME: [first_message(GOOD).replace(b"Bearer", b"Basic")],
    TWO_TOKENS: [first_message(GOOD, "auth=Bearer a.b.").replace(b"a.b.", GOOD.encode())],
    AFTER_REFUSAL: [first_message("a.b."), first_message(GOOD)],
    HALF_A_PAIR: [first_message(unsigned(b'{"sub":"\\ud800","exp":1e30}'))],
}


@pytest.mark.parametrize(("name", "data"), OF_UNSIGNED.items(), ids=OF_UNSIGNED)
def test_accepted_differences_are_needed(
    oauth: OAuthOracle, totals: Totals, name: str, data: list[bytes]
) -> None:
    """What is accepted is what happens; Kafka lets in three of these clients."""
    kafka = oauth.unsecured({}, data)
    before = totals.accepted[name]

    agree(kafka, our_outcomes(UnsecuredTokens({}, lambda: NOW_MS), data), totals, "known steps")

    assert totals.accepted[name] == before + 1
    assert ("principal" in kafka[-1]) == (name in {TWO_TOKENS, AFTER_REFUSAL, HALF_A_PAIR})


def test_accepted_differences_of_signed_tokens_are_needed(
    oauth: OAuthOracle, totals: Totals
) -> None:
    """Kafka takes a shared secret, and fails for two claims."""
    _, now_ms, _ = oauth.signed({}, [])
    good = {"sub": "alice", "iat": now_ms // 1000 - 9, "exp": now_ms // 1000 + 900}
    shared = first_message(signed(good, oracle_oauth.SECRET, "HS256"))
    key = oracle_oauth.KEYS["k-EC"]

    [taken] = oauth.signed({}, [shared])[0]
    assert taken["principal"] == "alice"
    assert "challenge" in ours_signed({}, [shared], now_ms)[0]
    totals.accepted[SHARED_SECRET] += 1
    for name, claims in ((ODD_SCOPE, {"scope": [1]}), (END_OF_TIME, {"exp": 1e300})):
        data = [first_message(signed(good | claims, key, "ES256"))]
        before = totals.accepted[name]
        agree(oauth.signed({}, data)[0], ours_signed({}, data, now_ms), totals, "known steps")
        assert totals.accepted[name] == before + 1
