"""GSSAPI with a real KDC: clients of others log in, and a broker with the same realm agrees."""

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from doorkeeper.base.jaas import LoginModule
from doorkeeper.server.config.sasl import MechanismSettings
from doorkeeper.server.security.gssapi import LOGIN_MODULE, GssapiProvider
from testkit import kerberos
from testkit.frame_recorder import FrameRecorder
from testkit.kafka_broker import free_port
from testkit.kafka_jars import cannot, jars
from testkit.kafka_target import Target, doorkeeper_target, kafka_target
from testkit.kafka_tools import CallFailed, KafkaTools
from testkit.kdc import Kdc, missing_packages
from testkit.kerberos import CLOSED, LAYERS, SERVER, Answer, Login, Ticket, principals_seen, shape
from testkit.load import scaled
from testkit.or_skip import or_skip
from testkit.oracle_totals import Totals
from testkit.plain import NO_SOURCES
from testkit.recording_logger import RecordingLogger
from testkit.security_page import blocks
from testkit.serving import Serving

GENERAL = (
    "Authentication failed during authentication due to invalid credentials with SASL mechanism"
    " GSSAPI"
)

RULES = (
    r"RULE:[2:$1.$2](bob\..*)s/\./-/g/U,"
    r"RULE:[1:$1@$0](C[a-z]*@EXAMPLE\.COM)s/@.*//L,"
    r"RULE:[2:$1@$0](none@.*),"
    r"RULE:[1:$1](wrong.*)s/w/$9/,"
    r"DEFAULT"
)
"""Some give a name, some refuse it, one fails."""

PRINCIPALS = {
    "alice": "alice",
    "bob/host.1": "BOB-HOST-1",
    "Carol": "carol",
    "dave/admin": "dave",
    "a b": "a b",
    'quo"te': 'quo"te',
    "dollar$1": "dollar$1",
    r"at\@x": None,
    "x/y/z": None,
    "none/host": None,
    "wrongrule": None,
}
"""Each principal, as kadmin takes it, and the user's name; None where nobody logs in."""

LIFETIME_MS = 4000


@dataclass(frozen=True)
class Realm:
    """A KDC, the server's keytab, and a client's keytab and cache for each principal."""

    kdc: Kdc
    keytab: Path
    clients: Path
    caches: dict[str, Path]


@pytest.fixture(scope="module")
def realm() -> Iterator[Realm]:
    """Give a realm; the environment of this process tells of it."""
    missing = missing_packages()
    if missing is not None:
        cannot(missing)
    before = dict(os.environ)
    with Kdc() as kdc:
        kdc.add(SERVER, *PRINCIPALS)
        keytab = kdc.keytab("server.keytab", SERVER)
        clients = kdc.keytab("clients.keytab", *PRINCIPALS)
        caches = {
            name: kdc.ticket_cache(f"cache-{place}", clients, name)
            for place, name in enumerate(PRINCIPALS)
        }
        os.environ.update(kerberos.environment(kdc))
        try:
            yield Realm(kdc, keytab, clients, caches)
        finally:
            os.environ.clear()
            os.environ.update(before)


@pytest.fixture(scope="module")
def properties(realm: Realm) -> dict[str, str]:
    """Give the keys of both servers."""
    return {
        **kerberos.server_properties(realm.kdc, realm.keytab, RULES),
        "listener_name_sasl_gssapi_connections_max_reauth_ms": str(LIFETIME_MS),
        "super_users": "User:ANONYMOUS;User:carol",
    }


@pytest.fixture(scope="module")
def ours(properties: dict[str, str]) -> Iterator[Target]:
    """Give a Doorkeeper of the realm."""
    target = doorkeeper_target(**properties, doorkeeper_clients_join_group="true")
    yield target
    target.close()


@pytest.fixture(scope="module")
def broker(properties: dict[str, str]) -> Iterator[Target]:
    """Give a broker of the realm."""
    target = or_skip(lambda: kafka_target(audit_level="info", **properties))
    yield target
    target.close()


@pytest.fixture(scope="module")
def java(realm: Realm) -> Iterator[KafkaTools]:
    """Give Kafka's tools, in a JVM that knows the realm."""
    tools = or_skip(lambda: KafkaTools(jars("4.3.1")))
    yield tools
    tools.close()


def test_kerberos_principals_match_the_broker(
    realm: Realm, ours: Target, broker: Target, totals: Totals
) -> None:
    before = [len(principals_seen(target, 0)) for target in (ours, broker)]
    told: dict[str, list[object]] = {}
    for name, cache in realm.caches.items():
        told[name] = []
        for target in (ours, broker):
            with Login(target) as login:
                last = login.log_in(Ticket(cache))
                told[name].append((shape(last), login.describe_acls()))
        totals.compared["logins with Kerberos, with a broker"] += 1

    assert {name: each[0] for name, each in told.items()} == {
        name: each[1] for name, each in told.items()
    }
    known = [f"User:{name}" for name in PRINCIPALS.values() if name not in {None, "carol"}]
    for target, earlier in zip((ours, broker), before, strict=True):
        assert principals_seen(target, earlier + len(known))[earlier:] == known
    refused = [name for name, each in told.items() if each[0] == ((0, "", False), CLOSED)]
    assert refused == [name for name, user in PRINCIPALS.items() if user is None]


def broken(login: Login, cache: Path, kind: str) -> list[Answer]:
    """Go wrong in a way; return the shapes of all answers."""
    ticket = Ticket(cache, mutual=kind != "one way")
    answers = [login.choose()]
    if kind in {"garbage", "empty", "cut"}:
        token = {"garbage": b"garbage", "empty": b"", "cut": ticket.token[:-9]}[kind]
        return [*answers, login.send(token)]
    answers.append(login.send(ticket.token))
    if kind == "one way":
        assert ticket.unwrapped(answers[-1][2]) == LAYERS
    else:
        ticket.prove(answers[-1][2])
        answers.append(login.send(b"more" if kind == "more" else b""))
    if kind == "more":
        return answers
    message = {
        "privacy": b"\4\0\0\0",
        "all": b"\7\0\0\0",
        "size": b"\1\0\xff\xff",
        "odd name": b"\1\0\0\0\xff\0\n",
    }.get(kind, b"\1\0\0\0")
    token = message if kind == "unwrapped" else ticket.wrapped(message)
    answers.append(login.send(token))
    answers.append(login.describe_acls())
    return answers


@pytest.mark.parametrize(
    "kind",
    [
        *("garbage", "empty", "cut", "more", "unwrapped", "privacy", "all", "size", "odd name"),
        "one way",
    ],
)
def test_broken_gssapi_exchanges(
    realm: Realm, ours: Target, broker: Target, totals: Totals, kind: str
) -> None:
    found = []
    for target in (ours, broker):
        with Login(target) as login:
            found.append([shape(each) for each in broken(login, realm.caches["alice"], kind)])
    totals.compared["exchanges of GSSAPI, with a broker"] += len(found[0])

    assert found[0] == found[1]
    assert len(found[0]) > 1


def test_replayed_ticket_is_not_answered(
    realm: Realm, ours: Target, broker: Target, totals: Totals
) -> None:
    """Kafka takes it for something that may work the next time, and only closes."""
    for target in (ours, broker):
        ticket = Ticket(realm.caches["alice"])
        with Login(target) as first, Login(target) as second:
            assert first.choose() == second.choose() == (0, ("GSSAPI",))
            assert first.send(ticket.token)[0] == 0

            assert second.send(ticket.token) == CLOSED
        totals.compared["exchanges of GSSAPI, with a broker"] += 1


def test_reauthentication_in_place(
    realm: Realm, ours: Target, broker: Target, totals: Totals
) -> None:
    found = []
    for target in (ours, broker):
        with Login(target) as alice, Login(target) as other:
            answers = [alice.log_in(Ticket(realm.caches["alice"]))]
            other.log_in(Ticket(realm.caches["alice"]))
            assert alice.lifetime_ms == LIFETIME_MS
            time.sleep(1.1)  # A broker takes no second handshake within a second.
            answers += [alice.log_in(Ticket(realm.caches["alice"])), alice.describe_acls()]
            answers += [other.log_in(Ticket(realm.caches["dave/admin"])), other.describe_acls()]
        found.append([shape(each) for each in answers])
    totals.compared["exchanges of GSSAPI, with a broker"] += len(found[0])

    assert found[0] == found[1]
    changed = "Cannot change principals during re-authentication from User.alice: User.dave"
    assert found[0][-2:] == [(58, changed, False), CLOSED]


def logged_in(target: Target, cache: Path) -> Answer:
    """Log in; return the shape of the last answer."""
    with Login(target) as login:
        return shape(login.log_in(Ticket(cache)))


def keytab_of(realm: Realm, principal: str) -> str:
    return (
        f'useKeyTab=true storeKey=true keyTab="{realm.clients}"'
        f' principal="{principal}@{realm.kdc.realm}"'
    )


def list_acls(java: KafkaTools, target: Target, folder: Path, options: str) -> str:
    """Run kafka-acls --list with this login module; return what it wrote."""
    config = folder / "client.properties"
    lines = kerberos.client_properties(target, options)
    config.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    words = ("--bootstrap-server", target.sasl, "--command-config", str(config), "--list")
    return java.run("kafka-acls", *words).text


def test_kafka_tools_authenticate_with_keytab_and_ticket_cache(
    realm: Realm, ours: Target, java: KafkaTools, tmp_path: Path
) -> None:
    cache = f'useTicketCache=true ticketCache="{realm.caches["Carol"]}"'

    from_keytab = list_acls(java, ours, tmp_path, keytab_of(realm, "Carol"))
    from_cache = list_acls(java, ours, tmp_path, cache)
    as_alice = list_acls(java, ours, tmp_path, keytab_of(realm, "alice"))

    for text in (from_keytab, from_cache):
        assert "Exception" not in text
        assert "Error" not in text
    assert "ClusterAuthorizationException" in as_alice


def run_kafka_python(realm: Realm, target: Target, cache: Path, seconds: float = 0) -> str:
    """Describe ACLs with kafka-python, once or for a time; return what it wrote."""
    driver = Path(__file__).parents[1] / "clients" / "kafka_python_gssapi.py"
    done = subprocess.run(
        [sys.executable, str(driver), target.sasl, str(seconds)],
        env={**os.environ, "KRB5CCNAME": f"FILE:{cache}"},
        capture_output=True,
        text=True,
        timeout=scaled(60),
        check=False,
    )
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def watched(ours: Target, properties: dict[str, str]) -> Iterator[tuple[Target, FrameRecorder]]:
    """Give a Doorkeeper whose requests are seen on their way."""
    front = FrameRecorder()
    advertised = (
        f"PLAINTEXT://localhost:{ours.plain.rpartition(':')[2]},SASL://localhost:{front.port}"
    )
    behind = doorkeeper_target(**properties, advertised_listeners=advertised)
    front.forward(int(behind.sasl.rpartition(":")[2]))
    behind.sasl = f"localhost:{front.port}"
    yield behind, front
    front.close()
    behind.close()


@pytest.mark.parametrize(("client", "versions_asked"), [("kafka-python", 1), ("Java", 2)])
def test_clients_reauthenticate_in_place(
    realm: Realm,
    watched: tuple[Target, FrameRecorder],
    java: KafkaTools,
    client: str,
    versions_asked: int,
) -> None:
    target, front = watched
    front.taken()

    if client == "Java":
        config = kerberos.client_properties(target, keytab_of(realm, "Carol"))
        assert java.call("describeClusterFor", config, seconds=LIFETIME_MS // 1000 + 1) > 1
    else:
        cache = realm.caches["Carol"]
        said = run_kafka_python(realm, target, cache, seconds=LIFETIME_MS / 1000 + 1)
        assert said.splitlines()[-1] == "done", said

    seen = [each.api for each in front.taken()]
    connections = seen.count("ApiVersions") // versions_asked
    assert 0 < connections < seen.count("SaslHandshake")


def run_kcat(realm: Realm, target: Target, principal: str, patience_s: int) -> str:
    """List what there is with Debian's kcat; return what it wrote."""
    if shutil.which("kcat") is None:
        cannot("kcat is not installed (make setup-system)")
    options = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "GSSAPI",
        "sasl.kerberos.keytab": str(realm.clients),
        "sasl.kerberos.principal": principal,
        "sasl.kerberos.service.name": kerberos.SERVICE,
    }
    words = [word for key, value in options.items() for word in ("-X", f"{key}={value}")]
    done = subprocess.run(
        ["kcat", "-L", "-b", target.sasl, "-m", str(patience_s), *words],
        env={**os.environ, "KRB5CCNAME": f"FILE:{realm.kdc.folder / 'kcat-cache'}"},
        capture_output=True,
        text=True,
        timeout=scaled(60),
        check=False,
    )
    return done.stdout + done.stderr


def test_kcat_authenticates_with_join_group_listed(
    realm: Realm, ours: Target, properties: dict[str, str]
) -> None:
    """An old librdkafka offers GSSAPI to no server without JoinGroup."""
    without = doorkeeper_target(**properties)
    try:
        refused = run_kcat(realm, without, "alice", patience_s=2)
    finally:
        without.close()

    assert f"broker 1 at {ours.sasl}" in run_kcat(realm, ours, "alice", patience_s=20)
    assert "broker 1 at" not in refused


def test_changed_keys(
    realm: Realm, ours: Target, broker: Target, java: KafkaTools, totals: Totals
) -> None:
    realm.kdc.change_key(SERVER)  # The new keytab will have the old key, too.
    fresh = realm.kdc.ticket_cache("fresh", realm.clients, "Carol")
    options = keytab_of(realm, "Carol")
    java_errors = {}
    answers = []
    for target in (ours, broker):
        answers.append(logged_in(target, fresh))
        with pytest.raises(CallFailed) as refused:
            java.call("describeCluster", kerberos.client_properties(target, options))
        java_errors[target.name] = str(refused.value)
    realm.kdc.keytab("new.keytab", SERVER).rename(realm.keytab)
    after = [logged_in(target, fresh) for target in (ours, broker)]
    totals.compared["exchanges of GSSAPI, with a broker"] += 4

    assert answers == [(58, GENERAL, False)] * 2
    assert java_errors["kafka"] == java_errors["doorkeeper"]
    assert GENERAL in java_errors["kafka"]
    assert after == [(0, "", False)] * 2


def test_documented_example_works(
    realm: Realm, java: KafkaTools, tmp_path: Path, totals: Totals
) -> None:
    parts = blocks("## GSSAPI (Kerberos)")
    port = free_port()
    places = {
        "/etc/security/keytabs/kafka_server.keytab": str(realm.keytab),
        "/etc/security/keytabs/alice.keytab": str(realm.clients),
        "/etc/krb5.conf": str(realm.kdc.configuration),
        "localhost:9092": f"localhost:{port}",
    }
    for place, here in places.items():
        parts = [part.replace(place, here) for part in parts]
    server, client = parts[1:3]
    (command,) = (part for part in parts if "kafka-acls.sh" in part)
    config = tmp_path / "server.properties"
    config.write_text(f"{server}doorkeeper.data.dir={tmp_path / 'data'}\n")
    (tmp_path / "client.properties").write_text(client)
    with Serving(tmp_path, "--config", "server.properties") as serving:
        serving.port("CLIENTS")
        _, *words = shlex.split(
            command.replace("client.properties", str(tmp_path / "client.properties"))
        )

        done = java.run("kafka-acls", *words)

    assert (done.status, done.stderr) == (0, ""), done.text
    totals.compared["documented examples of Kerberos"] += 1


async def test_changed_keytab_is_reloaded(realm: Realm, tmp_path: Path) -> None:
    keytab, log = tmp_path / "server.keytab", RecordingLogger()
    shutil.copy(realm.keytab, keytab)
    options = {"useKeyTab": "true", "keyTab": str(keytab), "principal": SERVER}
    provider = GssapiProvider(
        MechanismSettings(
            name="GSSAPI",
            listener_name="SASL",
            login_module=LoginModule(LOGIN_MODULE, "REQUIRED", options),
            values={"sasl.kerberos.service.name": "kafka"},
            originals={"doorkeeper.kerberos.config.file": str(realm.kdc.configuration)},
        ),
        replace(NO_SOURCES, logger=log),
    )
    await provider.start()
    for content in (realm.clients.read_bytes(), b"", realm.keytab.read_bytes()):
        keytab.write_bytes(content)
        provider.refresh()
        provider.refresh()
    keytab.unlink()
    provider.refresh()
    await provider.close()

    another, empty, gone = [
        str(fields["problem"]) for level, _, fields in log.lines if level == "error"
    ]
    assert [event for level, event, _ in log.lines if level == "info"] == ["files reloaded"]
    assert f"no key of the principal {SERVER}: " in another
    assert f"no key of the principal {SERVER}: " in empty
    assert gone == f"sasl.jaas.config: keyTab {keytab}: No such file or directory"


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        (
            {"doorkeeper_kerberos_config_file": "/nowhere/krb5.conf"},
            "doorkeeper.kerberos.config.file: /nowhere/krb5.conf: No such file or directory",
        ),
        (
            {"listener_name_sasl_gssapi_sasl_jaas_config": (SERVER, "kafka/elsewhere")},
            "no key of the principal kafka/elsewhere@EXAMPLE.COM: ",
        ),
    ],
)
def test_missing_settings_stop_the_start(
    realm: Realm, properties: dict[str, str], changed: dict[str, str | tuple[str, str]], text: str
) -> None:
    new = {
        key: value if isinstance(value, str) else properties[key].replace(*value)
        for key, value in changed.items()
    }

    with pytest.raises(RuntimeError) as stopped:
        doorkeeper_target(**{**properties, **new}).close()

    assert text in str(stopped.value)
    assert "Traceback" not in str(stopped.value)
