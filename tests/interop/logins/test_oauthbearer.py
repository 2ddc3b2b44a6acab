"""OAUTHBEARER with Kafka's tools, kafka-python and confluent-kafka, on a broker and on Doorkeeper.

Both have the same keys: OAUTH takes tokens that nobody has signed, of the scope read, and JWT takes
those of one key set. Who a client is shows in what it may do: only User:alice and User:b,c=d may
see ACLs.
"""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from testkit.doorkeeper_server import DoorkeeperServer
from testkit.kafka_broker import KafkaBroker, free_port
from testkit.kafka_jars import VERSIONS, jars
from testkit.kafka_target import STANDARD
from testkit.kafka_tools import CallFailed, Done, KafkaTools, run_process
from testkit.library_sessions import LIBRARIES, held, refusal
from testkit.or_skip import or_skip
from testkit.security_page import blocks
from testkit.tokens import key_of, key_set, signed, unsigned

REFERENCE = VERSIONS[0]
_PACKAGE = "org.apache.kafka.common.security.oauthbearer"
LOGIN_MODULE = f"{_PACKAGE}.OAuthBearerLoginModule required"
UNSECURED = f"{_PACKAGE}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
SIGNED = f"{_PACKAGE}.OAuthBearerValidatorCallbackHandler"
ALLOWED_URLS = "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls="
HANDLER = "sasl.server.callback.handler.class"
OAUTH = "OAUTHBEARER"
SHORT_S = 13
"""A token's life: librdkafka fetches the next at 80 percent, and logs in again at 90."""
KEY = key_of("RSA", "k")
INVALID = '{"status":"invalid_token"}'
NO_SCOPE = '{"status":"insufficient_scope", "scope":"[read]"}'


class Doors(NamedTuple):
    """A running server, and where its listeners are."""

    server: KafkaBroker | DoorkeeperServer
    plain: str
    oauth: str
    jwt: str
    files: Path

    @property
    def connections(self) -> int:
        """How many connections Doorkeeper has accepted."""
        return self.server.log.read_text().count('"connection accepted"')


def keys_of(kind: str, ports: dict[str, int], files: Path) -> dict[str, str]:
    """Return the keys of the server: Kafka's, and what each kind needs besides."""
    oauth, jwt = "listener.name.oauth.", "listener.name.jwt."
    open_ = [f"{name}://localhost:{port}" for name, port in ports.items() if name != "CONTROLLER"]
    common = {
        "listeners": ",".join([*open_, f"CONTROLLER://localhost:{ports['CONTROLLER']}"]),
        "advertised.listeners": ",".join(open_),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
        "SASL:SASL_PLAINTEXT,OAUTH:SASL_PLAINTEXT,JWT:SASL_PLAINTEXT",
        f"{oauth}sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{jwt}sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{oauth}oauthbearer.{HANDLER}": UNSECURED,
        f"{oauth}oauthbearer.sasl.jaas.config": (
            f'{LOGIN_MODULE} unsecuredLoginStringClaim_sub="broker"'
            ' unsecuredValidatorRequiredScope="read" unsecuredValidatorScopeClaimName="scp";'
        ),
        f"{jwt}oauthbearer.{HANDLER}": SIGNED,
        f"{jwt}oauthbearer.sasl.jaas.config": f"{LOGIN_MODULE};",
        f"{jwt}oauthbearer.sasl.oauthbearer.jwks.endpoint.url": (files / "keys.json").as_uri(),
        f"{jwt}oauthbearer.sasl.oauthbearer.expected.audience": "doorkeeper",
        f"{jwt}oauthbearer.sasl.oauthbearer.expected.issuer": "https://idp",
        f"{jwt}oauthbearer.sasl.oauthbearer.sub.claim.name": "client_id",
    }
    if kind == "kafka":
        return common
    return common | {
        "node.id": "1",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": (
            "org.apache.kafka.common.security.plain.PlainLoginModule required;"
        ),
        "authorizer.class.name": STANDARD,
        "super.users": "User:ANONYMOUS",
        "doorkeeper.log.levels": "doorkeeper.net=DEBUG",
    }


def started(kind: str, files: Path) -> Doors:
    names = ("PLAINTEXT", "SASL", "OAUTH", "JWT", "CONTROLLER")
    if kind == "doorkeeper":
        ports = {name: free_port() for name in names}
        server: KafkaBroker | DoorkeeperServer = DoorkeeperServer(
            keys_of(kind, ports, files), ports=tuple(ports.values())
        )
    else:
        server = KafkaBroker(jars(REFERENCE), users={}, overrides={})
        fixed = (server.plain_port, server.sasl_port, free_port(), free_port())
        ports = dict(zip(names, (*fixed, server.controller_port), strict=True))
        server._properties |= keys_of(kind, ports, files)
    plain, oauth, jwt = (f"localhost:{ports[name]}" for name in ("PLAINTEXT", "OAUTH", "JWT"))
    try:
        server.start()
    except BaseException:
        stop(server)
        raise
    return Doors(server, plain, oauth, jwt, files)


def stop(server: KafkaBroker | DoorkeeperServer) -> None:
    if isinstance(server, DoorkeeperServer):
        server.close()
    else:
        server.stop()


def now_s() -> int:
    return time.time_ns() // 10**9


def claims(**others: Any) -> dict[str, Any]:
    at_s = now_s()
    good = {"aud": "doorkeeper", "iss": "https://idp", "iat": at_s, "exp": at_s + 900}
    return good | {"sub": "x", "client_id": "alice"} | others


@pytest.fixture(scope="module", params=["doorkeeper", "kafka"])
def doors(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    kafka_tools: Callable[[str], KafkaTools],
) -> Iterator[Doors]:
    """Each kind of server in turn, with the two ACLs."""
    files = tmp_path_factory.mktemp("oauth")
    (files / "keys.json").write_bytes(key_set(KEY))
    (files / "good.jwt").write_text(signed(claims(), KEY, "RS256"))
    (files / "bad.jwt").write_text(signed(claims(), key_of("RSA"), "RS256", kid="k"))
    urls = ",".join((files / name).as_uri() for name in ("keys.json", "good.jwt", "bad.jwt"))
    with pytest.MonkeyPatch.context() as patch:
        # The broker and the tools are other processes: this is how they get the property.
        patch.setenv("JAVA_TOOL_OPTIONS", ALLOWED_URLS + urls)
        found = or_skip(lambda: started(request.param, files))
        for name in ("User:alice", "User:b,c=d"):
            binding = ["CLUSTER", "kafka-cluster", "LITERAL", name, "*", "DESCRIBE", "ALLOW"]
            tools = kafka_tools(REFERENCE)
            tools.call("createAcls", {"bootstrap.servers": found.plain}, bindings=[binding])
        yield found
    stop(found.server)


def java_client(**options: str) -> dict[str, str]:
    """Return the keys of Kafka's client that makes its own tokens."""
    words = " ".join(f'unsecuredLogin{name}="{text}"' for name, text in options.items())
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f"{LOGIN_MODULE} {words};",
    }


def listed(tools: KafkaTools, doors: Doors, address: str, config: dict[str, str]) -> Done:
    """Return what kafka-acls --list says."""
    file = doors.files / "client.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
    words = ("--bootstrap-server", address, "--command-config", str(file), "--list")
    return tools.run("kafka-acls", *words)


SCOPE = {"ListClaim_scp": "|read|write"}
GOOD: dict[str, dict[str, str]] = {
    "a text": {},
    "odd characters": {"StringClaim_sub": "b,c=d"},
    "numbers, lists and texts": {"NumberClaim_level": "1.5e3", "ListClaim_teams": ",a,b,,"},
    "a claim of another name": {"PrincipalClaimName": "user", "StringClaim_user": "someone"},
    "a claim for the scope": {"ScopeClaimName": "scp"},
    "a lifetime": {"LifetimeSeconds": "60"},
    "extensions": {"Extension_traceId": "42 x", "Extension_logicalCluster": "lkc-1"},
}


@pytest.mark.parametrize("options", GOOD.values(), ids=GOOD)
def test_tokens_of_kafkas_client(doors: Doors, tools: KafkaTools, options: dict[str, str]) -> None:
    """With each of its options the tool is the principal of the claim sub, which may see ACLs."""
    done = listed(
        tools, doors, doors.oauth, java_client(**{"StringClaim_sub": "alice"} | SCOPE | options)
    )

    assert done.status == 0, done.text
    assert "principal=User:b,c=d" in done.stdout


def test_missing_scope_is_reported_to_kafkas_client(
    doors: Doors, kafka_tools: Callable[[str], KafkaTools]
) -> None:
    config = {"bootstrap.servers": doors.oauth, **java_client(StringClaim_sub="alice")}

    with pytest.raises(CallFailed) as failed:
        kafka_tools(REFERENCE).call("describeCluster", config)

    assert str(failed.value) == f"SaslAuthenticationException: {NO_SCOPE}"


def with_token(doors: Doors, file: str) -> Done:
    """Return what kafka-acls --list says with a token of a file, in a JVM of its own."""
    config = java_client() | {
        "sasl.login.callback.handler.class": f"{_PACKAGE}.OAuthBearerLoginCallbackHandler",
        "sasl.oauthbearer.token.endpoint.url": (doors.files / file).as_uri(),
    }
    path = doors.files / "jwt.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
    words = ("--bootstrap-server", doors.jwt, "--command-config", str(path), "--list")
    return run_process(jars(REFERENCE), "kafka-acls", *words)


def test_signed_token_of_kafkas_client(doors: Doors) -> None:
    good, bad = with_token(doors, "good.jwt"), with_token(doors, "bad.jwt")

    assert good.status == 0, good.text
    assert "principal=User:b,c=d" in good.stdout
    assert bad.status == 1
    assert f"SaslAuthenticationException: {INVALID}" in bad.text


def in_place(tools: KafkaTools, doors: Doors) -> tuple[int, int]:
    """Hold a session of Kafka's client for twice its token; return its calls and connections."""
    options = {"StringClaim_sub": "alice", "LifetimeSeconds": "4"} | SCOPE
    config = {
        "bootstrap.servers": doors.oauth,
        "sasl.login.refresh.buffer.seconds": "0",
        "sasl.login.refresh.min.period.seconds": "0",
        **java_client(**options),
    }
    before = doors.connections
    calls = tools.call("describeClusterFor", config, seconds=9)
    return calls, doors.connections - before


def test_kafkas_client_reauthenticates(
    doors: Doors, kafka_tools: Callable[[str], KafkaTools]
) -> None:
    calls, connections = in_place(kafka_tools(REFERENCE), doors)

    assert calls > 20
    if isinstance(doors.server, DoorkeeperServer):
        # One to the address that it was given, one to the node that it was told of.
        assert 1 <= connections <= 2


def plain_token(lifetime_s: float, **others: Any) -> tuple[str, float]:
    """Return an unsigned token of alice, and its end."""
    end_s = now_s() + lifetime_s
    return unsigned({"sub": "alice", "scp": ["read"], "exp": end_s} | others), end_s


@pytest.mark.parametrize("library", LIBRARIES)
def test_other_clients_authenticate_and_are_rejected(doors: Doors, library: str) -> None:
    end_s = now_s() + 600
    right, wrong = (signed(claims(**each), KEY, "RS256") for each in ({}, {"aud": "x"}))
    good = held(library, doors.jwt, OAUTH, tokens=[(0, right, end_s)])
    plain = held(library, doors.oauth, OAUTH, tokens=[(0, *plain_token(600))])

    for session in (good, plain):
        assert (session["error"], session["calls"]) == (None, 1), session
    invalid = refusal(library, doors.jwt, OAUTH, INVALID, tokens=[(0, wrong, end_s)])
    narrow_token = (0, *plain_token(600, scp="write"))
    narrow = refusal(library, doors.oauth, OAUTH, NO_SCOPE, tokens=[narrow_token])
    # A broker closes at once, and what kafka-python sees first is a matter of chance.
    if isinstance(doors.server, DoorkeeperServer) or library != "kafka-python":
        assert INVALID in invalid
        assert NO_SCOPE in narrow


@pytest.mark.parametrize("library", LIBRARIES)
def test_other_clients_reauthenticate(doors: Doors, library: str) -> None:
    soon_s, late_s = now_s() + SHORT_S, now_s() + 600
    first = signed(claims(exp=soon_s), KEY, "RS256")
    second = signed(claims(exp=late_s), KEY, "RS256")
    before = doors.connections

    tokens = [(0, first, soon_s), (2, second, late_s)]
    found = held(library, doors.jwt, OAUTH, tokens=tokens, seconds=SHORT_S + 2)

    assert found["error"] is None, found
    assert found["calls"] > 20
    if isinstance(doors.server, DoorkeeperServer):
        assert 1 <= doors.connections - before <= 3


@pytest.mark.parametrize("heading", ["Signed tokens", "Unsigned tokens, for development"])
def test_page_can_be_followed(
    heading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    found = [
        block.replace("/etc/doorkeeper", str(tmp_path)).replace(
            "localhost:9093", f"localhost:{port}"
        )
        for block in blocks(f"### {heading}")
    ]
    properties = dict(
        line.split("=", 1) for line in re.sub(r"\\\n *", "", found[0]).splitlines() if line
    )
    if heading == "Signed tokens":
        _, program, client, tools = found
        subprocess.run([sys.executable, "-c", program], check=True)
        monkeypatch.setenv("JAVA_TOOL_OPTIONS", tools.splitlines()[0].partition("KAFKA_OPTS=")[2])
    else:
        _, client = found
        tools = blocks("### Signed tokens")[-1]
    words = tools.splitlines()[-1].split()[1:]
    (tmp_path / "client.properties").write_text(client)
    words = [str(tmp_path / word) if word == "client.properties" else word for word in words]
    words = [word.replace("localhost:9093", f"localhost:{port}") for word in words]
    server = DoorkeeperServer(properties, ports=(port,))
    try:
        server.start()
        done = or_skip(lambda: run_process(jars(REFERENCE), "kafka-acls", *words))
    finally:
        server.close()

    assert done.status == 0, done.text
