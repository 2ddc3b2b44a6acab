"""Secrets of every mechanism, and every output of the server searched for them.

Each row of ``ROWS`` is a way to prove who one is: the keys that configure it, a login that
succeeds, tokens that fail, and the secrets that occur in all of it. The server of a row logs
everything it can log, is asked for its configuration in every way, gets broken configurations on
SIGHUP, and is sent each token whole, cut, doubled, too early, bare and as something else.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from doorkeeper.server.config.loading import load
from doorkeeper.server.security.provider import provider_of
from doorkeeper.server.security.users_file import set_user
from doorkeeper_wire.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from doorkeeper_wire.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from doorkeeper_wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from testkit import logins
from testkit.certificates import world
from testkit.credential_cases import alter_users
from testkit.frame_steps import ask_configs, change_configs
from testkit.leaks import files_of, leaks
from testkit.plain import NO_SOURCES
from testkit.scram import ScramClient, salted_password
from testkit.serving import Serving
from testkit.tls import client_context
from testkit.tokens import first_message, key_of, key_set, signed, unsigned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from testkit.serving import Conversation

RIGHT = "Right-4f1c-password"
WRONG = "Wrong-93ab-password"
KEY_PASSWORD = "Key-77de-password"
TOKEN_KEY = "Token-5e1a-secret-key"
COMING_S = 20
NEVER = "Never-0c2e-used"
"""In what is malformed, and in what a client tries to set."""

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
OAUTH_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
UNSECURED = (
    "org.apache.kafka.common.security.oauthbearer.internals.unsecured"
    ".OAuthBearerUnsecuredValidatorCallbackHandler"
)
BROKER = 4
"""The type of a resource."""

JAAS = "listener.name.door.{}.sasl.jaas.config"
SALT = b"salt-of-alice-22"
ISSUED_S = 1_700_000_000
SIGNING_KEY = key_of("EC", "k")
CLAIMS = {"sub": "alice", "iat": ISSUED_S, "exp": 4_000_000_000, "jti": "id-of-the-token"}
GOOD_TOKEN = signed(CLAIMS, SIGNING_KEY, "ES256")
EXPIRED_TOKEN = signed(CLAIMS | {"exp": ISSUED_S + 1}, SIGNING_KEY, "ES256")
PRIVATE_KEY, ENCRYPTED_KEY = (world().server.key_pem(each) for each in (None, KEY_PASSWORD))
FOREIGN_TOKEN = signed(CLAIMS, key_of("EC", "other"), "ES256")


Secrets = tuple[str | bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One way to prove who one is.

    ``keys`` makes its configuration, and may write files. ``prepare`` makes users, and returns
    the secrets that come of it. ``tokens`` are first tokens, none of which lets anybody in.
    """

    name: str
    mechanism: str
    secrets: Secrets
    keys: Callable[[Path], Mapping[str, str]]
    login: Callable[[Conversation], SaslAuthenticateResponse]
    tokens: tuple[bytes, ...]
    protocol: str = "SASL_PLAINTEXT"
    prepare: Callable[[Serving], Secrets] = field(default=lambda _server: ())


def plain_tokens(name: str = "alice") -> tuple[bytes, ...]:
    return (
        f"\0{name}\0{WRONG}".encode(),
        f"\0nobody\0{RIGHT}".encode(),
        f"bob\0{name}\0{RIGHT}".encode(),
        f"{RIGHT}\0{WRONG}".encode(),
        f"\0\0{RIGHT}".encode(),
        f"a\0b\0{RIGHT}\0{WRONG}".encode(),
    )


def users_file(folder: Path) -> Mapping[str, str]:
    set_user(folder / "users.txt", "alice", RIGHT, SALT)
    return {"doorkeeper.sasl.plain.users.file": str(folder / "users.txt")}


def jaas_file(folder: Path) -> Mapping[str, str]:
    file = folder / "jaas.conf"
    file.write_text(f'KafkaServer {{ {PLAIN_MODULE} required user_alice="{RIGHT}"; }};')
    return {"doorkeeper.jaas.file": str(file)}


def with_tls(_folder: Path) -> Mapping[str, str]:
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": ENCRYPTED_KEY.replace("\n", "\\n"),
        "ssl.keystore.certificate.chain": world().server.chain_pem.replace("\n", "\\n"),
        JAAS.format("plain"): f'{PLAIN_MODULE} required password="{KEY_PASSWORD}"'
        f' user_alice="{RIGHT}";',
    }


def with_key_set(folder: Path) -> Mapping[str, str]:
    (folder / "keys.json").write_bytes(key_set(SIGNING_KEY))
    return {
        "sasl.oauthbearer.jwks.endpoint.url": (folder / "keys.json").as_uri(),
        JAAS.format("oauthbearer"): f'{OAUTH_MODULE} required option="{KEY_PASSWORD}";',
    }


def make_user(mechanism: str) -> Callable[[Serving], Secrets]:
    """Return what gives alice a credential, over the wire."""
    number = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}[mechanism]

    def make(server: Serving) -> Secrets:
        salted = salted_password(mechanism, RIGHT, SALT)
        step = alter_users(upsertions=[("alice", number, 4096, SALT, salted)])
        with server.connect() as admin:
            answer = admin.call(step.request, step.response, step.version)
        assert [row.error_code for row in answer.results] == [0]
        return ()

    return make


class Token:
    """A delegation token of alice's, and a login with it."""

    def __init__(self) -> None:
        self.id = self.password = ""

    def make(self, server: Serving) -> Secrets:
        """Create it; its HMAC is a secret, as it is and as the password that it becomes."""
        make_user("SCRAM-SHA-256")(server)
        with server.connect("DOOR") as talk:
            assert logins.scram(talk, "SCRAM-SHA-256", "alice", RIGHT).error_code == 0
            creation = CreateDelegationTokenRequest(max_lifetime_ms=-1)
            made = talk.call(creation, CreateDelegationTokenResponse, 3)
            question = DescribeDelegationTokenRequest(owners=None)
            described = talk.call(question, DescribeDelegationTokenResponse, 3)
            assert [each.hmac for each in described.tokens] == [made.hmac]
        self.id, self.password = made.token_id, b64encode(made.hmac).decode()
        with server.connect("DOOR") as talk:
            wrong = f"{WRONG}{self.password}"
            refusal = logins.scram(talk, "SCRAM-SHA-256", self.id, wrong, "tokenauth=true")
            assert refusal.error_code == 58
        return (made.hmac, self.password)

    def login(self, talk: Conversation) -> SaslAuthenticateResponse:
        """Log in with it."""
        return logins.scram(talk, "SCRAM-SHA-256", self.id, self.password, "tokenauth=true")


TOKEN = Token()


def scram_row(mechanism: str) -> Row:
    def proof(name: str, password: str) -> bytes:
        client = ScramClient(mechanism, name, password)
        client.first()
        return client.final(
            f"r=client-nonce-of-the-server,s={b64encode(SALT).decode()},i=4096".encode()
        )

    return Row(
        name=mechanism.lower(),
        mechanism=mechanism,
        secrets=(RIGHT, WRONG, salted_password(mechanism, RIGHT, SALT)),
        keys=lambda _folder: {
            JAAS.format(mechanism.lower()): "org.apache.kafka.common.security.scram"
            f'.ScramLoginModule required username="admin" password="{KEY_PASSWORD}";'
        },
        prepare=make_user(mechanism),
        login=lambda talk: logins.scram(talk, mechanism, "alice", RIGHT),
        tokens=(
            proof("alice", RIGHT),
            proof("alice", WRONG),
            f"n,,n=alice,r={RIGHT},{WRONG}".encode(),
            f"n,a={RIGHT},n=alice,r=x".encode(),
            f"n,,n={WRONG},r=x".encode(),
            f"y,,{RIGHT}".encode(),
        ),
    )


def plain_row(name: str, keys: Callable[[Path], Mapping[str, str]], **more: Any) -> Row:
    fields: dict[str, Any] = {
        "secrets": (RIGHT, WRONG, KEY_PASSWORD),
        "login": lambda talk: logins.plain(talk, "alice", RIGHT),
        "tokens": plain_tokens(),
    }
    return Row(name=name, mechanism="PLAIN", keys=keys, **(fields | more))


def with_a_handler(_folder: Path) -> Mapping[str, str]:
    return {
        "sasl.server.callback.handler.class": "testkit.callback_handlers.Recorded",
        "doorkeeper.sasl.check.timeout.ms": "500",
    }


ROWS = (
    plain_row("plain, JAAS file", jaas_file),
    plain_row("plain, users file", users_file),
    plain_row(
        "plain, TLS",
        with_tls,
        protocol="SASL_SSL",
        secrets=(
            *(RIGHT, WRONG, KEY_PASSWORD),
            *PRIVATE_KEY.split()[3:-3],
            *ENCRYPTED_KEY.split()[4:-4],
        ),
    ),
    plain_row(
        "plain, callback handler",
        with_a_handler,
        secrets=(RIGHT, WRONG, "Alice7Alice7"),
        login=lambda talk: logins.plain(talk, "Alice7", "Alice7Alice7"),
        tokens=plain_tokens("tell")
        + tuple(f"\0{name}\0{WRONG}".encode() for name in ("raise", "none", "exit", "slow")),
    ),
    scram_row("SCRAM-SHA-512"),
    Row(
        name="delegation token",
        mechanism="SCRAM-SHA-256",
        secrets=(RIGHT, WRONG, TOKEN_KEY, salted_password("SCRAM-SHA-256", RIGHT, SALT)),
        keys=lambda _folder: {"delegation.token.secret.key": TOKEN_KEY},
        prepare=TOKEN.make,
        login=TOKEN.login,
        tokens=(
            f"n,,n={WRONG},r=x,tokenauth=true".encode(),
            f"n,,n={TOKEN_KEY},r={RIGHT},tokenauth=".encode(),
            f"n,a={TOKEN_KEY},n=x,r=x,tokenauth=true".encode(),
        ),
    ),
    Row(
        name="oauthbearer, signed",
        mechanism="OAUTHBEARER",
        secrets=(GOOD_TOKEN, EXPIRED_TOKEN, FOREIGN_TOKEN, WRONG, KEY_PASSWORD),
        keys=with_key_set,
        login=lambda talk: logins.oauthbearer(talk, GOOD_TOKEN),
        tokens=(
            *map(first_message, (EXPIRED_TOKEN, FOREIGN_TOKEN, WRONG, f"{WRONG}.{WRONG}.{WRONG}")),
            f"n,,\1auth=Basic {WRONG}\1\1".encode(),
            f"n,,\1{GOOD_TOKEN}".encode(),
        ),
    ),
    Row(
        name="oauthbearer, unsigned",
        mechanism="OAUTHBEARER",
        secrets=(unsigned(CLAIMS), unsigned(CLAIMS | {"exp": 1}), KEY_PASSWORD),
        keys=lambda _folder: {
            "sasl.server.callback.handler.class": UNSECURED,
            JAAS.format("oauthbearer"): f'{OAUTH_MODULE} required option="{KEY_PASSWORD}";',
        },
        login=lambda talk: logins.oauthbearer(talk, unsigned(CLAIMS)),
        tokens=(
            first_message(unsigned(CLAIMS | {"exp": 1})),
            first_message(f"{unsigned(CLAIMS)}.{WRONG}"),
        ),
    ),
)

KEYS = """\
listeners=DOOR://localhost:0,PLAINTEXT://localhost:0
listener.security.protocol.map=DOOR:{protocol},PLAINTEXT:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
connections.max.reauth.ms=3600000
connection.failed.authentication.delay.ms=0
doorkeeper.log.levels=root=TRACE
doorkeeper.audit.dir=audit
doorkeeper.audit.compression=none
ssl.key.password={key_password}
unknown.plugin.password={key_password}
"""


def configuration(row: Row, folder: Path) -> str:
    keys = {"listener.name.door.sasl.enabled.mechanisms": row.mechanism, **row.keys(folder)}
    given = KEYS.format(key_password=KEY_PASSWORD, protocol=row.protocol)
    return given + "".join(f"{key}={value}\n" for key, value in keys.items())


BROKEN = (
    JAAS + f'={PLAIN_MODULE} required user_a="{NEVER}',
    JAAS + f"={NEVER} {NEVER}",
    JAAS + f'={PLAIN_MODULE} required user_a={NEVER}=7 "{NEVER}";',
    f"ssl.keystore.password={NEVER}\nlistener.name.door.ssl.client.auth=maybe",
    "doorkeeper.sasl.plain.users.file=" + "broken-users.txt",
    "doorkeeper.jaas.file=" + "broken-jaas.conf",
)
"""Lines that no server takes, added to a file that it does take."""


def provoke(server: Serving, row: Row) -> int:
    """Send every token in every way; return how many logins were refused with an answer."""
    refused = 0
    for token in row.tokens:
        changed = (token, token[: len(token) // 2], token * 2, b"\0" + token, token + b"\xff\0")
        refused += sum(tried(server, in_turn, row, each) for each in changed)
        for how in (bare, as_no_request, too_early, with_a_false_length, as_a_client, anew):
            tried(server, how, row, token)
    return refused


Way = Callable[["Conversation", Row, bytes], bool]
"""Sends a token, and says whether it was refused with an answer."""


def opened(server: Serving, row: Row) -> Conversation:
    talk = server.connect("DOOR")
    if row.protocol == "SASL_SSL":
        context = client_context()
        talk.socket = context.wrap_socket(talk.socket, server_hostname="localhost")
    return talk


def tried(server: Serving, how: Way, row: Row, token: bytes) -> bool:
    """Try on a connection of its own; one that the server ends without an answer says nothing."""
    with opened(server, row) as talk:
        try:
            return how(talk, row, token)
        except (EOFError, ConnectionError):
            return False


def in_turn(talk: Conversation, row: Row, token: bytes) -> bool:
    logins.chosen(talk, row.mechanism)
    return too_early(talk, row, token)


def too_early(talk: Conversation, _row: Row, token: bytes) -> bool:
    answer = logins.step(talk, token)
    # OAUTHBEARER refuses in two halves, of which the first is JSON.
    return bool(answer.error_code) or answer.auth_bytes.startswith(b"{")


def anew(talk: Conversation, row: Row, token: bytes) -> bool:
    """Authenticate, and send the token afterwards."""
    assert row.login(talk).error_code == 0
    return too_early(talk, row, token)


def bare(talk: Conversation, row: Row, token: bytes) -> bool:
    talk.call(SaslHandshakeRequest(mechanism=row.mechanism), SaslHandshakeResponse, 0)
    return as_no_request(talk, row, token)


def as_no_request(talk: Conversation, _row: Row, token: bytes) -> bool:
    return sent(talk, len(token), token)


def with_a_false_length(talk: Conversation, _row: Row, token: bytes) -> bool:
    return sent(talk, 1 << 30, SaslAuthenticateRequest(auth_bytes=token).encode(2))


def as_a_client(talk: Conversation, row: Row, token: bytes) -> bool:
    """Send a handshake that goes on with the token, where the message should end."""
    header = bytes.fromhex("00110001000000070004") + b"test"
    body = SaslHandshakeRequest(mechanism=row.mechanism).encode(1) + token
    return sent(talk, len(header) + len(body), header + body)


def sent(talk: Conversation, size: int, data: bytes) -> bool:
    """Send bytes, say that there are no more, and wait for the end."""
    talk.socket.sendall(size.to_bytes(4) + data)
    talk.socket.shutdown(socket.SHUT_WR)
    while talk.socket.recv(4096):
        pass
    return False


def ask_for_configuration(server: Serving, outputs: dict[str, bytes]) -> None:
    """Ask for every value, and try to set secrets."""
    keys = (JAAS.format("plain"), "ssl.keystore.password", "ssl.keystore.key")
    steps = [ask_configs(4, BROKER, "1", None, include_synonyms=True)]
    steps += [change_configs(1, (BROKER, "1", ((key, 0, NEVER),))) for key in keys]
    with server.connect() as admin:
        for number, step in enumerate(steps):
            answer = admin.call(step.request, step.response, step.version)
            outputs[f"answer {number}"] = repr(answer).encode()


def commands(file: Path, outputs: dict[str, bytes]) -> None:
    """Let the command line check and show the configuration."""
    for words in (
        ("config", "check", str(file)),
        ("config", "show", str(file)),
        ("config", "show", "--output", "json", str(file)),
    ):
        outputs[" ".join(words)] = CliRunner().invoke(doorkeeper, words).output.encode()


def reload(server: Serving, file: Path, text: str) -> None:
    """Let the server read a file; wait until it says what came of it."""
    came = len(server.of("reloaded") + server.of("not reloaded"))
    file.write_text(text)
    server.process.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + COMING_S
    while len(server.of("reloaded") + server.of("not reloaded")) == came:
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.01)


def values_in_print(file: Path) -> bytes:
    """Return the repr of everything that is made of a configuration."""
    settings = load(file).settings
    parts: list[object] = [settings, *settings.listeners, *settings.static]
    for listener in settings.listeners:
        for mechanism in listener.mechanisms:
            provider = provider_of(mechanism, NO_SOURCES)
            parts += [mechanism, mechanism.login_module, provider, provider.__dict__]
    return "\n".join(f"{part!r} {part!s}" for part in parts).encode()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken-users.txt").write_text(f"alice:{NEVER}\n{NEVER}\n")
    (tmp_path / "broken-jaas.conf").write_text(f'KafkaServer {{ {NEVER} required a="{NEVER}" }}')
    return tmp_path


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_no_output_contains_a_secret(folder: Path, row: Row) -> None:
    file = folder / "server.properties"
    file.write_text(configuration(row, folder))
    good = file.read_text()
    outputs: dict[str, bytes] = {}
    path = f"{os.environ.get('PYTHONPATH', '')}:{Path(__file__).parents[1]}"
    with Serving(folder, "--config", str(file), environment={"PYTHONPATH": path}) as server:
        secrets = (*row.secrets, *row.prepare(server), KEY_PASSWORD, NEVER)
        with opened(server, row) as talk:
            assert row.login(talk).error_code == 0
        refused = provoke(server, row)
        ask_for_configuration(server, outputs)
        for number, line in enumerate(BROKEN):
            broken = f"{good}{line.format(row.mechanism.lower())}\n"
            reload(server, file, broken)
            (folder / f"{number}.properties").write_text(broken)
        reload(server, file, good)
        assert server.stop() == 0
        outputs["stderr"] = server.errors().encode()
    for each in folder.glob("*.properties"):
        commands(each, outputs)
    outputs["repr"] = values_in_print(file)
    outputs["stdout"] = json.dumps(server.lines, ensure_ascii=False).encode()
    outputs |= files_of(folder / "data")
    outputs["trail"] = trail = b"".join(files_of(folder / "audit").values())

    assert refused >= len(row.tokens)
    assert len(server.of("failed authentication")) >= refused
    assert len(server.of("not reloaded")) >= 3
    assert trail.count(b'"outcome":"FAILED"') >= 3
    assert all(outputs[name] for name in outputs if name != "stderr")
    assert leaks(secrets, outputs) == []
