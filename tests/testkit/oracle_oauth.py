"""Kafka's side of OAUTHBEARER, random messages and tokens for it, and ours in the same form.

An outcome is what OAuthOracle.java gives for a step of an exchange.
"""

from __future__ import annotations

import json
from asyncio import run
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from doorkeeper.server.security.contract import Challenge, Failure, Success
from doorkeeper.server.security.oauth.json_text import decode_base64url
from doorkeeper.server.security.oauth.mechanism import OAuthBearerMechanism
from testkit.java_lines import JavaLines
from testkit.kafka_jars import ORACLES, jars
from testkit.tokens import NOW_MS, NOW_S, encoded, key_of, public, signed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from doorkeeper.server.security.contract import Step
    from doorkeeper.server.security.oauth.mechanism import Validate

RELEASE = "4.3.1"
ALLOWED = "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls="

Outcome = dict[str, Any]


class OAuthOracle:
    """Kafka's client and server, in a JVM of their own that may read one key set."""

    def __init__(self, key_set: Path) -> None:
        """Take the release.

        Raises:
            Unavailable: this machine cannot have it.
        """
        found = jars(RELEASE, ORACLES / "oauth")
        self.url = key_set.as_uri()
        self._lines = JavaLines(found, "OAuthOracle", [ALLOWED + self.url])

    def login(self, options: Mapping[str, str]) -> bytes | None:
        """Return what a client with these options sends; None where it refuses them."""
        answer = self._lines.ask({"login": options, "now": NOW_MS})
        return bytes.fromhex(answer["message"]) if "message" in answer else None

    def unsecured(self, options: Mapping[str, str], messages: Sequence[bytes]) -> list[Outcome]:
        """Return what a server that takes unsigned tokens says, at ``NOW_MS``."""
        asked = {"unsecured": options, "now": NOW_MS, "messages": _hexadecimal(messages)}
        steps: list[Outcome] = self._lines.ask(asked)["steps"]
        return steps

    def signed(
        self, configs: Mapping[str, Any], messages: Sequence[bytes]
    ) -> tuple[list[Outcome], int, int]:
        """Return what a server with the key set says, and when that began and ended, in ms."""
        given: dict[str, Any] = {
            "sasl.oauthbearer.jwks.endpoint.url": self.url,
            "sasl.oauthbearer.jwt.validator.class": (
                "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator"
            ),
            "sasl.oauthbearer.expected.audience": [],
            "sasl.oauthbearer.scope.claim.name": "scope",
            "sasl.oauthbearer.sub.claim.name": "sub",
            "sasl.oauthbearer.clock.skew.seconds": 30,
            **configs,
        }
        answer = self._lines.ask({"signed": given, "messages": _hexadecimal(messages)})
        return answer["steps"], answer["from"], answer["to"]

    def close(self) -> None:
        """End the JVM."""
        self._lines.close()


def _hexadecimal(messages: Iterable[bytes]) -> list[str]:
    return [message.hex() for message in messages]


def our_outcomes(
    validate: Validate, messages: Sequence[bytes], now_ms: int = NOW_MS
) -> list[Outcome]:
    """Return what our server says; after the end of an exchange, nothing more."""
    mechanism = OAuthBearerMechanism(validate, lambda: now_ms)
    outcomes = []
    for message in messages:
        step = mechanism.step(message)
        outcomes.append(
            outcome(
                step if isinstance(step, Challenge | Success | Failure) else run(_awaited(step)),
                now_ms,
            )
        )
        if "challenge" not in outcomes[-1]:
            break
    return outcomes


async def _awaited(step: Any) -> Any:
    return await step


def outcome(step: Step, now_ms: int) -> Outcome:
    """Return a step of ours as the oracle tells one."""
    match step:
        case Challenge(token):
            return {"challenge": token.decode()}
        case Success():
            assert step.lifetime_ms is not None
            return {"principal": step.authorization_id, "expiry": step.lifetime_ms + now_ms}
        case Failure(None, reason):
            return {"sasl": reason}
        case Failure(text):
            return {"refused": text}


# --- what is asked


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


TIMES: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(NOW_S, NOW_S + 0.001, NOW_S - 0.001, NOW_S + 1, NOW_S - 1, NOW_S + 60, NOW_S - 60),
        *(NOW_S + 0.5, NOW_S - 1.5, NOW_S + 1.999, NOW_S + 3600, 0, -1, -1.5, 1e12, 1e300, 10**30),
        *(str(NOW_S + 60), "", None, True, [NOW_S], {}),
    ]
)
GOOD_END = st.sampled_from([NOW_S + 60, NOW_S + 3600.5, NOW_S + 1])
TEXTS = st.sampled_from(
    ["alice", "bob", " alice ", "", " ", "\t", "a=b", "ä", "\U0001f600", "none", "null", "a b"]
)
NAMES = ("sub", "user", "client_id")
SCOPES = ("scope", "scp")
SCOPE_VALUES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(["read", "read write", " read ", "", " ", None, 1, True, {}, 1.5]),
    st.lists(st.sampled_from(["read", "write", " read ", "", "admin", None, 7, False, ["read"]])),
)
OPTIONAL_CLAIMS: dict[str, st.SearchStrategy[Any]] = {
    "sub": st.one_of(TEXTS, TEXTS, st.sampled_from([None, 1, True, [], ["alice"], {"a": 1}])),
    "user": TEXTS,
    "client_id": TEXTS,
    "exp": st.one_of(GOOD_END, GOOD_END, GOOD_END, TIMES),
    "iat": st.one_of(st.just(NOW_S - 5), st.just(NOW_S - 5.25), TIMES),
    "scope": SCOPE_VALUES,
    "scp": SCOPE_VALUES,
    "odd": st.sampled_from([1, "x", [1, 2], {"a": [None]}, None]),
}
CLAIMS = st.fixed_dictionaries({}, optional=OPTIONAL_CLAIMS)


def _few(
    claims: dict[str, st.SearchStrategy[Any]], most: int = 2
) -> st.SearchStrategy[dict[str, Any]]:
    """Return some of the claims: of many, one is nearly always wrong."""
    names = st.lists(st.sampled_from([*claims]), max_size=most, unique=True)
    return names.flatmap(
        lambda chosen: st.fixed_dictionaries({name: claims[name] for name in chosen})
    )


USUAL_CLAIMS = _few(OPTIONAL_CLAIMS).map(
    lambda claims: {"sub": "alice", "exp": NOW_S + 60} | claims
)
HEADERS = st.sampled_from(
    [
        *[{"alg": "none"}] * 12,
        *({"alg": "none", "typ": "JWT", "kid": "k"}, {"alg": "NONE"}, {"alg": "HS256"}),
        *({}, {"alg": None}, {"alg": ["none"]}, {"alg": 1}, {"ALG": "none"}),
    ]
)
ODD_JSON = (
    *(b"", b"{", b"[]", b"1", b'"x"', b"null", b"{}", b'{"sub":"a","sub":"b","exp":1e30}'),
    *(b' {"sub":"a","exp":1e30} x', b'\t{"sub":"a","exp":99999999999}', b'{"sub":"a","exp":NaN}'),
    *(b'{"sub":"\xff","exp":1e30}', b'{"sub":"a","exp":01}', b"{'sub':'a'}", b'{"exp":1e400}'),
    *(b'{"sub":"a","exp":1E+2000}', b'{"sub":"\\ud800","exp":1e30}', b'{"sub":"a","exp":-1e400}'),
    *(b'{"sub":"a\x01","exp":1e30}', b'{"sub":"a","exp":' + b"9" * 400 + b"}", b'{"a":{}}{}'),
)


@st.composite
def unsigned_tokens(draw: st.DrawFn) -> str:
    """Draw a token without a signature; many are good."""
    header = encoded(draw(HEADERS))
    claims = draw(st.one_of(USUAL_CLAIMS, USUAL_CLAIMS, USUAL_CLAIMS, CLAIMS).map(_json))
    part = encoded(draw(st.one_of(*[st.just(claims)] * 9, st.sampled_from(ODD_JSON))))
    end = draw(st.sampled_from([*["."] * 14, "", "..", ".x", ".=", "A.", "~."]))
    return f"{header}.{part}{end}"


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "unsecuredValidatorPrincipalClaimName": st.sampled_from([*NAMES, " user ", "", " "]),
        "unsecuredValidatorScopeClaimName": st.sampled_from([*SCOPES, "", " scp"]),
        "unsecuredValidatorRequiredScope": st.sampled_from(
            ["", " ", "read", "read write", " read  admin ", "null", "7"]
        ),
        "unsecuredValidatorAllowableClockSkewMs": st.sampled_from(
            ["", "0", "1", "999", "1000", " 60000 ", "+5", "2147483647"]
        ),
    },
)

AUTHORIZATION_IDS = st.sampled_from(
    [
        *[b""] * 6,
        *(b"a=alice", b"a=bob", b"a=", b"a=a=2Cb", b"a=a,b", b"a=\x01", b"alice", b"a=\xc3\xa4"),
    ]
)
FLAGS = st.sampled_from([*[b"n"] * 20, b"y", b"p=tls-unique", b"N", b""])
SCHEMES = st.sampled_from([*["Bearer"] * 12, "bearer", "BEARER", "Basic", "", "Be_arer", "Bearer "])
EXTENSIONS = st.lists(
    st.sampled_from(
        [
            *(
                b"traceId=42",
                b"a=b=c",
                b"B= x\t\r\n",
                b"auth=Bearer x",
                b"AUTH=x",
                b"x=",
                b"=x",
                b"x",
            ),
            *(b"trace1=2", b"trace-id=2", b"x=\x7f", b"x=\xc3\xa4", b"a=\x1f", b"traceId=43"),
        ]
    ),
    max_size=3,
)


@st.composite
def messages(draw: st.DrawFn, tokens: st.SearchStrategy[str]) -> bytes:
    """Draw a first message; many are well-formed."""
    auth = f"auth={draw(SCHEMES)} {draw(tokens)}".encode()
    pairs = draw(st.one_of(st.just([]), st.just([b"traceId=42"]), EXTENSIONS))
    place = draw(st.integers(0, len(pairs)))
    auths = draw(st.sampled_from([*[[auth]] * 19, []]))
    body = b"".join(pair + b"\x01" for pair in [*pairs[:place], *auths, *pairs[place:]])
    end = draw(st.sampled_from([*[b"\x01"] * 20, b"", b"\x01\x01", b"x"]))
    return draw(FLAGS) + b"," + draw(AUTHORIZATION_IDS) + b",\x01" + body + end


LOGIN_TEXTS = st.sampled_from(
    ["alice", "", " ", "a b", "x,y", "ä", "\\", 'a"b', "|a|b", "1.5", "1e3"]
)
LOGIN_NAMES = st.sampled_from(["alice", "bob", "a,b=c", "ä \U0001f600"])
MORE_LOGIN_OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "unsecuredLoginStringClaim_user": LOGIN_TEXTS,
    "unsecuredLoginStringClaim_scope": LOGIN_TEXTS,
    "unsecuredLoginPrincipalClaimName": st.sampled_from(["sub", "user", "", " sub "]),
    "unsecuredLoginScopeClaimName": st.sampled_from(["scope", "scp", ""]),
    "unsecuredLoginLifetimeSeconds": st.sampled_from(["3600", "1", "0", "-5", "100000000", "x"]),
    "unsecuredLoginNumberClaim_n": st.sampled_from(["1", "1.5", "1e3", "-7", "NaN", "1e400", "x"]),
    "unsecuredLoginListClaim_scp": st.sampled_from(
        [
            *(
                "|read|write",
                ",a,b",
                ".a.b",
                " a b",
                "|",
                "",
                "x",
                "|a||b|",
                "(a(b",
                "|read",
                "||",
            )
        ]
    ),
    "unsecuredLoginListClaim_scope": st.sampled_from(["|read|write", "|admin"]),
    "unsecuredLoginExtension_traceId": st.sampled_from(["42", "a b", "", "ä"]),
    "unsecuredLoginExtension_auth": st.just("x"),
    "unsecuredLoginExtension_x1": st.just("x"),
}
LOGIN_OPTIONS = st.builds(
    lambda name, more: {"unsecuredLoginStringClaim_sub": name} | more,
    LOGIN_NAMES,
    _few(MORE_LOGIN_OPTIONS, 4),
)

# --- signed tokens

KINDS = ("RSA", "EC", "P-384", "P-521", "Ed25519")
KEYS = {f"k-{kind}": key_of(kind, f"k-{kind}") for kind in KINDS}
SECRET = key_of("oct", "k-oct")
ALGORITHMS = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "k-RSA"),
    "ES256": "k-EC",
    "ES384": "k-P-384",
    "ES512": "k-P-521",
    "EdDSA": "k-Ed25519",
}
RS_ONLY = key_of("RSA", "k-alg")
ENCRYPTION = key_of("RSA", "k-enc")


def oracle_key_set() -> bytes:
    """Return the key set of the comparison: a key of each kind, and some that are restricted."""
    members = [public(key) for key in (*KEYS.values(), SECRET)]
    members += [public(RS_ONLY, kid="k-alg", alg="RS256"), public(ENCRYPTION, use="enc")]
    return _json({"keys": members})


def _near(now_s: int) -> st.SearchStrategy[Any]:
    return st.sampled_from(
        [
            *(now_s + 60, now_s - 60, now_s + 31, now_s - 31, now_s - 29, now_s - 30, now_s + 30),
            *(now_s + 5.9, now_s, 0, -1, -1.5, 1e10, 1e300, 10**30, str(now_s), None, True, []),
        ]
    )


@st.composite
def signed_tokens(draw: st.DrawFn, now_s: int) -> str:
    """Draw a signed token for a time of the clock; many are good."""
    algorithm = draw(st.sampled_from([*ALGORITHMS] * 6 + ["HS256"]))
    key = SECRET if algorithm == "HS256" else KEYS[ALGORITHMS[algorithm]]
    usual = st.sampled_from([now_s + 60, now_s + 3600, now_s + 90.5])
    optional = {
        "exp": st.one_of(usual, usual, usual, _near(now_s)),
        "iat": st.one_of(st.just(now_s - 60), st.just(now_s - 60), _near(now_s)),
        "nbf": st.one_of(st.just(now_s - 60), _near(now_s)),
        "sub": st.one_of(TEXTS, st.sampled_from([None, 1, True, ["a"]])),
        "user": TEXTS,
        "aud": st.sampled_from(
            ["doorkeeper", "x", ["doorkeeper", "x"], ["x"], [], [1], 1, None, "doorkeeper,x"]
        ),
        "iss": st.sampled_from(["https://idp", "https://idp/", "", None, 1]),
        "jti": st.sampled_from(["1", 1, None]),
        "scope": SCOPE_VALUES,
    }
    drawn = draw(_few(optional))
    claims = {"sub": "alice", "iat": now_s - 60, "exp": now_s + 60} | drawn
    for name in draw(st.sampled_from([()] * 12 + [("exp",), ("iat",), ("sub",)])):
        del claims[name]
    header: dict[str, Any] = draw(
        st.sampled_from(
            [{}] * 16
            + [{"typ": "JWT"}, {"kid": "k-EC"}, {"kid": "k-alg"}, {"kid": "other"}, {"alg": "none"}]
            + [{"alg": "RS256"}, {"alg": "ES256"}, {"alg": "HS256"}, {"kid": "k-RSA"}, {"x": 1}]
        )
    )
    token = signed(claims, key, algorithm, **header)
    return draw(st.sampled_from([token] * 16 + [token[:-4], token + ".", token[:-6] + "AAAAAA"]))


CONFIGS: tuple[dict[str, Any], ...] = (
    {},
    {"sasl.oauthbearer.expected.audience": ["doorkeeper", "other"]},
    {"sasl.oauthbearer.expected.issuer": "https://idp"},
    {"sasl.oauthbearer.sub.claim.name": "user", "sasl.oauthbearer.clock.skew.seconds": 0},
    {"sasl.oauthbearer.scope.claim.name": "aud", "sasl.oauthbearer.expected.audience": ["x"]},
)


def header_of(token: str) -> Any:
    """Return the header of a token that is well-formed."""
    return json.loads(decode_base64url(token.partition(".")[0]))
