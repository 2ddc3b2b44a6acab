"""What a configuration names, looked at without starting anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.app.config_check import check_configuration, problems_of
from doorkeeper.server.app.errors import StartError
from doorkeeper.server.config.keys import CLUSTERS_FILE
from doorkeeper.server.config.loading import STANDARD_AUTHORIZER
from doorkeeper.server.state.storage.files import DATABASE_NAME
from doorkeeper.testing import DoorkeeperProcess
from testkit.settings import settings_of
from testkit.synchronized import store_id_of

if TYPE_CHECKING:
    from pathlib import Path

STANDARD = f"authorizer.class.name={STANDARD_AUTHORIZER}\n"


def problems(file: Path, text: str, *overrides: str) -> list[str]:
    """Return what is told of a file of this text, without its path."""
    file.write_text(text)
    with pytest.raises(StartError) as caught:
        check_configuration(file, overrides)
    return [each.replace(str(file), "F") for each in caught.value.problems]


def test_valid_configuration_passes(tmp_path: Path) -> None:
    """Kafka's authorizer and no groups are right; super users are the authorizer's affair."""
    assert not problems_of(settings_of(f"{STANDARD}super.users=User:a").entries)
    assert not problems_of(settings_of("super.users=a").entries)
    file = tmp_path / "F"
    file.write_text("node.id=7")
    assert check_configuration(file, ()).settings.node_id == 7


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    told = problems(
        tmp_path / "server.properties",
        f"num.partitions=x\nbroker.rack=\\u00zz\n{STANDARD}super.users=a;User:b;c\n"
        "num.partitons=1\n",
        "nonsense",
        "delete.topic.enable=x",
    )

    assert [each.split(": ")[0] for each in told] == [
        "F line 2",
        "--override",
        "F line 1",
        "F line 5",
        "--override",
        "F line 4",
    ]
    users = "expected a string in format principalType:principalName but got"
    assert told[5] == f"F line 4: super.users: {users} a; {users} c"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("doorkeeper.http.listener=http://localhost:9092", "port 9092 is used by listener PLAIN"),
        ("doorkeeper.http.listener=http://127.0.0.1:9092", "port 9092 is used by listener PLAIN"),
        (
            "listeners=A://:9092\ndoorkeeper.http.listener=http://[::1]:9092\n{as_a}",
            "port 9092 is used by listener A",
        ),
        ("doorkeeper.authorizer.log.file={folder}", "is a folder; expected: a file"),
        ("doorkeeper.authorizer.log.file={folder}/none/a.log", "there is no folder"),
        ("doorkeeper.audit.dir=/dev/zero", "/dev/zero is not a folder"),
        ("doorkeeper.audit.dir={folder}/F/x/y", "F is not a folder"),
        ("doorkeeper.data.dir={folder}/F", "F is not a folder"),
        ("doorkeeper.data.dir=/proc/x", "a folder cannot be made in /proc"),
        ("max.connections.per.ip.overrides=a.invalid:5", "a.invalid: the host is unknown"),
        ("listeners=PLAINTEXT://[zz]:9092", "zz is not an IPv6 address"),
        ("listeners=PLAINTEXT://a::zz:9092", "a::zz is not an IPv6 address"),
    ],
)
def test_what_would_stop_a_start_is_found(tmp_path: Path, text: str, said: str) -> None:
    there = {path.name for path in tmp_path.iterdir()}

    as_a = "advertised.listeners=A://a:1\nlistener.security.protocol.map=A:PLAINTEXT"
    (problem,) = problems(tmp_path / "F", text.format(folder=tmp_path, as_a=as_a))

    assert said in problem
    assert {path.name for path in tmp_path.iterdir()} - there == {"F"}


@pytest.mark.parametrize(
    "text",
    [
        "doorkeeper.http.listener=http://127.0.0.1:9093",
        "listeners=PLAINTEXT://127.0.0.2:9092\ndoorkeeper.http.listener=http://127.0.0.1:9092",
        "listeners=PLAINTEXT://[::1]:9092",
        "listeners=PLAINTEXT://[fe80::1%lo]:9092",
        "doorkeeper.data.dir={folder}/a/b\ndoorkeeper.audit.dir={folder}/c/d",
        "doorkeeper.authorizer.log.file={folder}/a.log",
        "max.connections.per.ip.overrides=localhost:5,10.0.0.1:6",
    ],
)
def test_what_does_not_stop_a_start_passes(tmp_path: Path, text: str) -> None:
    file = tmp_path / "F"
    file.write_text(text.format(folder=tmp_path))

    check_configuration(file, ())

    assert [path.name for path in tmp_path.iterdir()] == ["F"]


@pytest.mark.parametrize(("mode", "warnings"), [(0o644, 2), (0o600, 0)])
def test_clear_text_credentials_that_others_can_read(
    tmp_path: Path, mode: int, warnings: int
) -> None:
    """As with the users file of PLAIN, whose passwords are only hashes."""
    for name, line in (("users", "ops:pw"), ("tokens", "a-token-of-some-length")):
        (tmp_path / name).write_text(line)
        (tmp_path / name).chmod(mode)
    file = tmp_path / "F"
    file.write_text(
        "doorkeeper.http.listener=http://localhost:9404\n"
        f"doorkeeper.http.users.file={tmp_path}/users\n"
        f"doorkeeper.http.tokens.file={tmp_path}/tokens\n"
    )

    found = "\n".join(check_configuration(file, ()).warnings)

    assert found.count("is accessible to other users") == warnings


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://host:x/jwks", "the port is not a number from 0 to 65535"),
        ("https://host:99999/", "the port is not a number from 0 to 65535"),
        ("https://ho st/", "the host has a space or a control character"),
    ],
)
def test_urls_of_keys_are_checked(tmp_path: Path, url: str, said: str) -> None:
    (problem,) = problems(
        tmp_path / "F",
        "listeners=SASL_PLAINTEXT://localhost:9092\nsasl.enabled.mechanisms=OAUTHBEARER\n"
        f"sasl.oauthbearer.jwks.endpoint.url={url}\n",
    )

    assert said in problem
    assert "sasl.oauthbearer.jwks.endpoint.url" in problem


SASL = """
listeners=A://localhost:0,B://localhost:0
listener.security.protocol.map=A:SASL_PLAINTEXT,B:SSL
inter.broker.listener.name=A
sasl.enabled.mechanisms=PLAIN,OAUTHBEARER
"""
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_listener_requirements_are_checked(tmp_path: Path) -> None:
    told = problems(
        tmp_path / "server.properties",
        f"{SASL}listener.name.a.plain.sasl.jaas.config={PLAIN} required user_a=hush;\n"
        f"listener.name.a.sasl.oauthbearer.jwks.endpoint.url=file://{tmp_path}/none.json\n"
        f"listener.name.b.ssl.keystore.location={tmp_path}/none.jks\n"
        "listener.name.b.principal.builder.class=no.such.Builder\n",
    )

    assert [": ".join(each.split(": ")[:2]).partition("=")[0] for each in told] == [
        "F line 8: listener.name.b.ssl.keystore.location",
        "F line 9: listener.name.b.principal.builder.class",
        "F line 7: listener.name.a.sasl.oauthbearer.jwks.endpoint.url",
    ]


@pytest.mark.parametrize(
    ("wrong", "listeners"),
    [
        ("num.partitions=x", "AB"),
        ("listener.name.a.ssl.client.auth=x", "B"),
        ("ssl.client.auth=x", "A"),
        ("sasl.server.max.receive.size=x", "B"),
        ("security.inter.broker.protocol=x", ""),
        ("broker.rack=\\u00zz", ""),
    ],
)
def test_listeners_are_checked_together_with_wrong_keys(
    tmp_path: Path, wrong: str, listeners: str
) -> None:
    told = problems(
        tmp_path / "server.properties",
        "listeners=A://localhost:0,B://localhost:0\n"
        "listener.security.protocol.map=A:SASL_PLAINTEXT,B:SSL\n"
        "inter.broker.listener.name=A\nsasl.enabled.mechanisms=OAUTHBEARER\n"
        f"listener.name.a.sasl.oauthbearer.jwks.endpoint.url=file://{tmp_path}/none.json\n"
        f"listener.name.b.ssl.keystore.location={tmp_path}/none.jks\n{wrong}\n",
    )

    lines = {"F line 5": "A", "F line 6": "B"}
    seen = [lines[each.split(": ")[0]] for each in told if each.split(": ")[0] in lines]
    assert sorted(seen) == list(listeners)
    assert [each for each in told if each.startswith("F line 7")]


def test_shared_store_requirements_are_checked(tmp_path: Path) -> None:
    file, ca = tmp_path / "F", tmp_path / "ca.pem"
    ca.write_text("nothing")
    url = "postgresql://u:s3cret@127.0.0.1:1/d"

    (told,) = problems(
        file, f"node.id=1\ndoorkeeper.store={url}?sslmode=verify-ca&sslrootcert={ca}\n"
    )
    file.write_text(f"node.id=1\ndoorkeeper.store={url}\n")

    assert told.startswith("F line 2: doorkeeper.store: sslrootcert: ")
    assert "expected PEM" in told
    assert "s3cret" not in told
    assert check_configuration(file, ()).settings.store is not None


def test_clusters_file_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "clusters.yaml"
    file.write_text("clusters:\n  - {name: a, bootstrap: 'k:1', scop: everything}\n")

    told = problems(tmp_path / "server.properties", f"{STANDARD}doorkeeper.clusters.file={file}\n")

    (fault,) = told
    assert fault.startswith(f"{file}:2: clusters[0].scop: unknown: scop; allowed: name, ")
    assert fault.endswith("; did you mean scope?")


def test_cluster_of_another_store_is_reported(tmp_path: Path) -> None:
    file, data = tmp_path / "clusters.yaml", tmp_path / "data"
    rest = "mode: enforce, scope: everything"
    keys = f"{STANDARD}doorkeeper.clusters.file={file}\ndoorkeeper.data.dir={data}\n"
    other = "o" * 22

    def warnings() -> list[str]:
        properties = tmp_path / "server.properties"
        properties.write_text(keys)
        return [each for each in check_configuration(properties, ()).warnings if "cluster" in each]

    file.write_text(f"clusters:\n  - {{name: a, bootstrap: 'a:1', store: {other}, {rest}}}\n")
    assert warnings() == []

    with DoorkeeperProcess(listeners=["PLAINTEXT"], properties={"doorkeeper.data.dir": str(data)}):
        pass
    ours = store_id_of(data)
    with file.open("a") as more:
        more.write(f"  - {{name: b, bootstrap: 'b:1', store: {ours}, {rest}}}\n")

    told = (
        f"{file}: cluster a: the cluster belongs to store {other}, but this is store {ours};"
        f" nothing is changed until its entry has store: {ours} (see doorkeeper clusters adopt)"
    )
    assert warnings() == [told]


def test_store_that_is_none_is_no_traceback(tmp_path: Path) -> None:
    """A start creates a store in an empty file, and refuses another database."""
    file, data = tmp_path / "clusters.yaml", tmp_path / "data"
    entry = "{name: a, bootstrap: 'a:1', mode: enforce, scope: everything}"
    file.write_text(f"clusters:\n  - {entry}\n")
    properties = tmp_path / "server.properties"
    keys = f"{STANDARD}doorkeeper.clusters.file={file}\ndoorkeeper.data.dir={data}\n"
    data.mkdir()

    (data / DATABASE_NAME).touch()
    properties.write_text(keys)
    assert check_configuration(properties, ()).settings[CLUSTERS_FILE] == file
    (data / DATABASE_NAME).write_text("no database " * 100)
    assert problems(properties, keys) == [f"{data / DATABASE_NAME}: file is not a database"]


def test_acknowledgement_by_clusters_requires_clusters(tmp_path: Path) -> None:
    told = problems(tmp_path / "F", f"{STANDARD}doorkeeper.acknowledge=clusters\n")

    assert told == ["F line 2: doorkeeper.acknowledge: clusters requires doorkeeper.clusters.file"]
