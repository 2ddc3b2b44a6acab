"""SCRAM with Kafka's tools, kafka-python and confluent-kafka, on a broker and on Doorkeeper.

Both have the same users, which kafka-configs.sh makes as the documentation prints it. Who a client
is shows in what it may do: only User:alice may see ACLs.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testkit.frame_steps import CLUSTER, DESCRIBE, create, creation
from testkit.kafka_broker import free_port, wait_for_port
from testkit.kafka_jars import VERSIONS, Unavailable, cannot
from testkit.kafka_target import Target, doorkeeper_target, kafka_target
from testkit.kafka_tools import Done, KafkaTools, write_scripts
from testkit.library_sessions import LIBRARIES, held, refusal
from testkit.security_page import blocks
from testkit.side_by_side import Side

REFERENCE = VERSIONS[0]
MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required"
REAUTHENTICATION_MS = 3000
CLIENT_S = 60
PASSWORD = "\u00e4lice-secret"
REFUSED = (
    "Authentication failed during authentication due to invalid credentials with SASL mechanism"
)


@pytest.fixture(scope="module", params=["kafka", "doorkeeper"])
def scram_target(
    request: pytest.FixtureRequest, kafka_tools: Callable[[str], KafkaTools]
) -> Iterator[Target]:
    """Give a server with SCRAM and alice, once a real broker and once Doorkeeper."""
    keys = {
        "sasl.enabled.mechanisms": ",".join(("PLAIN", *MECHANISMS)),
        "connections.max.reauth.ms": str(REAUTHENTICATION_MS),
        "inter.broker.listener.name": "PLAINTEXT",
        **{
            f"listener.name.sasl.{each.lower()}.sasl.jaas.config": f"{MODULE};"
            for each in MECHANISMS
        },
    }
    try:
        if request.param == "kafka":
            target = kafka_target(REFERENCE, **keys)
        else:
            target = doorkeeper_target(**keys, **{"doorkeeper.log.levels": "doorkeeper.net=DEBUG"})
        tools = kafka_tools(REFERENCE)
    except Unavailable as missing:
        cannot(str(missing))
    side = Side(target)
    side.ask(
        create(
            creation(
                resource_type=CLUSTER,
                resource_name="kafka-cluster",
                principal="User:alice",
                operation=DESCRIBE,
            )
        )
    )
    for mechanism, options in zip(MECHANISMS, ("iterations=8192,", ""), strict=True):
        done = tools.run(
            *("kafka-configs", "--bootstrap-server", target.plain, "--alter", "--add-config"),
            f"{mechanism}=[{options}password={PASSWORD}]",
            *("--entity-type", "users", "--entity-name", "alice"),
        )
        assert done.status == 0, done.text
    side.settle()
    yield target
    side.close()
    target.close()


def config_of(target: Target, mechanism: str, user: str, password: str) -> dict[str, str]:
    """Return the properties of a Java client."""
    return {
        "bootstrap.servers": target.sasl,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{MODULE} username="{user}" password="{password}";',
    }


def connections(target: Target) -> int:
    """Return how many connections Doorkeeper has accepted."""
    return target.server.log.read_text().count('"connection accepted"')


def listing(tools: KafkaTools, target: Target, folder: Path, *who: str) -> Done:
    """List the ACLs with kafka-acls.sh as somebody."""
    file = folder / "client.properties"
    config = config_of(target, *who)
    # As Java reads it: Latin-1, and escapes.
    lines = "".join(f"{key}={value}\n" for key, value in config.items())
    file.write_text(lines, encoding="latin-1")
    at = ("--bootstrap-server", target.sasl, "--command-config", str(file))
    return tools.run("kafka-acls", *at, "--list")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_tools_authenticate_and_are_rejected(
    scram_target: Target, kafka_tools: Callable[[str], KafkaTools], tmp_path: Path, mechanism: str
) -> None:
    tools = kafka_tools(REFERENCE)

    good = listing(tools, scram_target, tmp_path, mechanism, "alice", PASSWORD)
    wrong = listing(tools, scram_target, tmp_path, mechanism, "alice", "wrong")
    nobody = listing(tools, scram_target, tmp_path, mechanism, "nobody", "wrong")

    assert good.status == 0, good.text
    assert "principal=User:alice" in good.stdout
    for refused in (wrong, nobody):
        assert refused.status == 1
        assert f"SaslAuthenticationException: {REFUSED} {mechanism}" in refused.text


def test_kafkas_client_reauthenticates(
    scram_target: Target, kafka_tools: Callable[[str], KafkaTools]
) -> None:
    before = connections(scram_target)
    config = config_of(scram_target, "SCRAM-SHA-512", "alice", PASSWORD)

    calls = kafka_tools(REFERENCE).call("describeClusterFor", config, seconds=7)

    assert calls > 20
    if not scram_target.is_kafka:
        assert 1 <= connections(scram_target) - before <= 2


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_other_clients_authenticate_and_are_rejected(
    scram_target: Target, library: str, mechanism: str
) -> None:
    expected = f"{REFUSED} {mechanism}"
    good = held(library, scram_target.sasl, mechanism, password=PASSWORD)
    said = refusal(library, scram_target.sasl, mechanism, expected, password="wrong")

    assert (good["error"], good["calls"]) == (None, 1), good
    # A broker closes at once, and what kafka-python sees first is a matter of chance.
    if not scram_target.is_kafka or library != "kafka-python":
        assert expected in said


@pytest.mark.parametrize("library", LIBRARIES)
def test_other_clients_reauthenticate(scram_target: Target, library: str) -> None:
    before = connections(scram_target)

    found = held(library, scram_target.sasl, "SCRAM-SHA-256", password=PASSWORD, seconds=8)

    assert found["error"] is None, found
    assert found["calls"] > 20
    if not scram_target.is_kafka:
        assert 1 <= connections(scram_target) - before <= 3


def test_token_example_of_the_page_runs(
    kafka_tools: Callable[[str], KafkaTools], tmp_path: Path
) -> None:
    server_file, client_file, commands, _ = blocks("## Delegation tokens")
    port = free_port()
    address = f"localhost:{port}"
    (tmp_path / "server.properties").write_text(server_file.replace("localhost:9092", address))
    (tmp_path / "client.properties").write_text(client_file)
    write_scripts(kafka_tools(REFERENCE).jars, tmp_path / "bin", plain=address, sasl=address)
    server = subprocess.Popen(
        [sys.executable, "-m", "doorkeeper", "serve", "--config", "server.properties"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for_port(port, server, tmp_path / "server.properties")
        done = subprocess.run(
            ["bash", "-c", f"export PATH={tmp_path / 'bin'}:$PATH; set -e; {commands}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=CLIENT_S,
        )
    finally:
        server.terminate()
        server.wait()

    assert done.returncode == 0, done
    assert done.stdout.count("User:user1") >= 4
    assert "Cluster ID: " in done.stdout
    assert "expiry" in done.stdout.lower()
