"""Our SCRAM against Kafka's ScramSaslServer: the same messages, the same who gets in."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from doorkeeper.acls.model import Principal
from doorkeeper.base.credentials import DIGESTS, ITERATIONS_MIN, ScramCredential, credential_of
from doorkeeper.server.security.contract import Challenge, Failure, Step, Success
from doorkeeper.server.security.provider import TokenLogin
from doorkeeper.server.security.scram import Accounts, ScramMechanism
from testkit.java_lines import JavaLines
from testkit.kafka_jars import ORACLES, Unavailable, cannot, jars
from testkit.plain import NO_SOURCES
from testkit.scram import ScramClient

if TYPE_CHECKING:
    from testkit.oracle_totals import Totals

Ask = Callable[[Any], Any]

MANY = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
FEW = settings(MANY, max_examples=30)

MECHANISMS = st.sampled_from(list(DIGESTS))
NAMES = st.sampled_from(["alice", "a,b", "a=b", "=2C", "=3D", "al ice", "weak", "nobody", "token"])
PASSWORDS = st.sampled_from(["x", "\u00aa\u00a0\u2163", "\U0001f511", " ", "=,"])
EXTENSIONS = st.sampled_from(
    ["", "", "", "tokenauth=true", "tokenauth=TRUE", "tokenauth=false", "x=y=z", "m=x", "a=b,a=c"]
)
NONCES = st.text("abcXYZ0189+/=!~", min_size=1, max_size=20)
ODD_BYTES = st.sampled_from(
    [b"", b",", b"=", b"\0", b"\xff", b"\n", b"a", b"n", b"r=", b",x=y", b"m=q,"]
)

OTHER_ID = "Client requested an authorization id that is different from username"
HIDDEN = "a name that cannot log in is refused in the second round, not in the first"
TOLD_ALL = "another authorization id is told to everybody, not only to users"
ANSWERED = "a proof of another length is answered"


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """Give Kafka's server of SCRAM."""
    try:
        lines = JavaLines(jars("4.3.1", ORACLES / "scram"), "ScramOracle")
    except Unavailable as missing:
        cannot(str(missing))
    yield lines.ask
    lines.close()


def shown(credential: ScramCredential) -> dict[str, Any]:
    return {
        name: value.hex() if isinstance(value, bytes) else value
        for name, value in credential._asdict().items()
    }


class Login:
    """One login at both servers, which know the same users."""

    def __init__(self, ask: Ask, totals: Totals, mechanism: str, password: str) -> None:
        self._ask = ask
        self._totals = totals
        self._mechanism = mechanism
        kept = credential_of(mechanism, password, ITERATIONS_MIN, b"a salt")
        names = ("alice", "a,b", "a=b", "=2C", "=3D", "al ice")
        self._users = dict.fromkeys(names, kept)
        self._users["weak"] = kept._replace(iterations=ITERATIONS_MIN - 1)
        self._token = TokenLogin(Principal("User", "owner"), b"hmac", 5000)
        sources = replace(
            NO_SOURCES,
            token_login=lambda token_id: self._token if token_id == "token" else None,
            now_ms=lambda: 5000,
        )
        self._accounts = Accounts(mechanism, sources, self._users.get)
        salt = self._accounts.decoys.salt("token")
        self._of_token = credential_of(mechanism, b64encode(b"hmac").decode(), ITERATIONS_MIN, salt)

    def run(self, first: bytes, final: Callable[[bytes], bytes]) -> None:
        """Give both the same messages; ``final`` makes the last from the challenge."""
        kafka = self._ask(
            {
                "mechanism": self._mechanism,
                "users": {name: shown(each) for name, each in self._users.items()},
                "tokens": {"token": shown(self._of_token)},
                "owner": "owner",
                "first": first.hex(),
            }
        )
        if "refused" in kafka:
            self._refused_first(kafka, first, final)
            return
        challenge = bytes.fromhex(kafka["answer"])
        nonce = _nonce_of(challenge)
        ours = ScramMechanism(self._accounts, nonce[len(_client_nonce(first)) :])
        answer = _step(ours, first)
        assert answer == Challenge(challenge)
        last = final(challenge)
        self._compare_last(self._ask({"final": last.hex()}), _step(ours, last))

    def _refused_first(self, kafka: Any, first: bytes, final: Callable[[bytes], bytes]) -> None:
        ours = ScramMechanism(self._accounts, "ours")
        answer = _step(ours, first)
        if kafka["refused"] == "told":
            assert answer == Failure(kafka["text"], kafka["text"])
            self._totals.compared["logins, refused with a text"] += 1
            return
        assert kafka["refused"] == "general"
        if isinstance(answer, Failure):
            if answer.text is not None:
                assert OTHER_ID in answer.text
                self._totals.accepted[TOLD_ALL] += 1
            else:
                self._totals.compared["logins, refused in the first round"] += 1
            return
        assert isinstance(answer, Challenge)
        last = _step(ours, final(answer.token))
        assert isinstance(last, Failure)
        assert last.text is None
        self._totals.accepted[HIDDEN] += 1

    def _compare_last(self, kafka: Any, ours: Step) -> None:
        if "refused" not in kafka:
            assert isinstance(ours, Success), ours
            assert ours.token.hex() == kafka["answer"]
            assert ours.authorization_id == kafka["id"]
            by_token = (kafka["by_token"] or "").lower() == "true"
            assert ours.token_authenticated is by_token
            self._totals.compared["logins that succeed"] += 1
            return
        assert isinstance(ours, Failure), ours
        assert ours.text is None
        if kafka["refused"] == "closed":
            self._totals.accepted[ANSWERED] += 1
        self._totals.compared["logins, refused in the second round"] += 1


def _client_nonce(first: bytes) -> str:
    return first.split(b",r=")[1].split(b",")[0].decode()


def _nonce_of(challenge: bytes) -> str:
    return challenge.split(b",")[0][2:].decode()


def _step(mechanism: ScramMechanism, token: bytes) -> Step:
    async def wait() -> Step:
        step = mechanism.step(token)
        return await step if isinstance(step, Awaitable) else step

    return asyncio.run(wait())


Damage = tuple[int, int, bytes] | None
DAMAGES = st.none() | st.none() | st.tuples(st.integers(0, 300), st.integers(0, 3), ODD_BYTES)
"""Where something is cut out, how much, and what stands there instead."""


def damaged(message: bytes, damage: Damage) -> bytes:
    """Return the message with its damage; its length depends on the nonces of chance."""
    if damage is None:
        return message
    place, cut, piece = damage
    at = place % (len(message) + 1)
    return message[:at] + piece + message[at + cut :]


@MANY
@given(st.data())
def test_logins_match_kafka(ask: Ask, totals: Totals, data: st.DataObject) -> None:
    mechanism, password = data.draw(MECHANISMS), data.draw(PASSWORDS)
    name, extensions = data.draw(NAMES), data.draw(EXTENSIONS)
    own_word = password
    if extensions.lower() == "tokenauth=true":
        own_word = b64encode(b"hmac").decode()
    plain_name = name.replace(",", "").replace("=", "")
    client = ScramClient(
        mechanism,
        name,
        data.draw(st.sampled_from([own_word, own_word, own_word, "wrong"])),
        nonce=data.draw(NONCES),
        authorization_id=data.draw(st.sampled_from(["", "", "", plain_name, "bob"])),
        extensions=extensions,
    )
    first, last = data.draw(DAMAGES), data.draw(DAMAGES)

    Login(ask, totals, mechanism, password).run(
        damaged(client.first(), first), lambda challenge: damaged(client.final(challenge), last)
    )


@FEW
@given(
    MECHANISMS,
    st.text(min_size=1, max_size=12),
    st.integers(1, 5000),
    st.binary(min_size=1, max_size=40),
)
def test_credentials_match_kafka(
    ask: Ask, totals: Totals, mechanism: str, password: str, iterations: int, salt: bytes
) -> None:
    kafka = ask(
        {
            "mechanism": mechanism,
            "password": password,
            "salt": salt.hex(),
            "iterations": iterations,
        }
    )

    assert shown(credential_of(mechanism, password, iterations, salt)) == kafka
    totals.compared["credentials of SCRAM"] += 1
