"""Authorizers of others as real clients meet them: Kafka's tools and AdminClient, kafka-python."""

import http.server
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from doorkeeper_wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from testkit.checkout import ROOT
from testkit.clients import CLIENTS, DRIVERS
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.frames import FrameClient
from testkit.kafka_acl_rows import allow, deny, listed
from testkit.kafka_broker import free_port, jaas
from testkit.kafka_target import USERS
from testkit.kafka_tools import CallFailed, Done, KafkaTools
from testkit.load import scaled
from testkit.or_skip import or_skip

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.fixture
def tools(kafka_tools: Callable[[str], KafkaTools]) -> KafkaTools:
    """Give the reference release's tools."""
    return kafka_tools("4.3.1")


@contextmanager
def served(
    monkeypatch: pytest.MonkeyPatch, plugin: str, listeners: Mapping[str, str], **keys: str
) -> Iterator[dict[str, str]]:
    """Run a server with an authorizer; give the address of each listener: name -> protocol."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"), prepend=os.pathsep)
    ports = {name: free_port() for name in listeners}
    properties = {
        "listeners": ",".join(f"{name}://localhost:{port}" for name, port in ports.items()),
        "listener.security.protocol.map": ",".join(f"{n}:{p}" for n, p in listeners.items()),
        "inter.broker.listener.name": next(iter(listeners)),
        "sasl.enabled.mechanisms": "PLAIN",
        "authorizer.class.name": plugin,
        **{key.replace("_", "."): value for key, value in keys.items()},
        **{
            f"listener.name.{name.lower()}.plain.sasl.jaas.config": jaas(USERS)
            for name, protocol in listeners.items()
            if protocol == "SASL_PLAINTEXT"
        },
    }
    server = DoorkeeperServer(properties, ports=tuple(ports.values()))
    try:
        server.start()
        yield {name: f"localhost:{port}" for name, port in ports.items()}
        assert server.stop() == 0
    finally:
        server.close()


def config(address: str, user: str | None = None) -> dict[str, str]:
    """Return the properties of a Java client."""
    if user is None:
        return {"bootstrap.servers": address}
    login = f'{MODULE} required username="{user}" password="{USERS[user]}";'
    return {
        "bootstrap.servers": address,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": login,
    }


def outcome(call: Callable[[], Any]) -> str:
    """Return the class of what a Java call failed with; empty for success."""
    try:
        call()
    except CallFailed as error:
        return str(error).partition(":")[0].rpartition(".")[2]
    return ""


def test_plug_in_updates_and_clients(tools: KafkaTools, monkeypatch: pytest.MonkeyPatch) -> None:
    """kafka-python sees each item's own end, in one request; the Java client each exception."""
    names = ("late-a", "last-b", "refused-c", "fails-d", "never-e", "once-f")
    plugin, time_out = "testkit.plugins.Unhurried", {"doorkeeper_update_timeout_ms": "500"}
    with served(monkeypatch, plugin, {"PLAINTEXT": "PLAINTEXT"}, **time_out) as addresses:
        rows = frozenset().union(*(allow("User:a", "READ", f"TOPIC {name}") for name in names))
        (result,) = or_skip(
            lambda: CLIENTS[0].talk(
                addresses["PLAINTEXT"], ("create_acls", {"bindings": [list(r) for r in rows]})
            )
        )
        created = {row[1] for row in result["value"]["created"]}
        assert created == {"late-a", "last-b", "once-f"}
        failed = ["PolicyViolationError", "RequestTimedOutError", "UnknownError"]
        assert result["value"]["failed"] == failed

        java = config(addresses["PLAINTEXT"])
        ends = {
            name: outcome(
                lambda name=name: tools.call(  # type: ignore[misc]
                    "createAcls", java, bindings=sorted(allow("User:a", "READ", f"TOPIC {name}"))
                )
            )
            for name in names
        }
        assert ends == {
            "late-a": "",
            "last-b": "",
            "refused-c": "PolicyViolationException",
            "fails-d": "UnknownServerException",
            "never-e": "TimeoutException",
            "once-f": "",
        }


def test_kip_11_authorizer(tools: KafkaTools, monkeypatch: pytest.MonkeyPatch) -> None:
    """kafka-acls.sh adds, lists and removes; alice may, then may not, by what it has added."""
    listeners = {"PLAINTEXT": "PLAINTEXT", "SASL": "SASL_PLAINTEXT"}
    plugin, keys = "testkit.older.OlderInMemory", {"super_users": "User:ANONYMOUS"}
    with served(monkeypatch, plugin, listeners, **keys) as addresses:

        def acls(*words: str) -> Done:
            done = tools.run("kafka-acls", "--bootstrap-server", addresses["PLAINTEXT"], *words)
            assert done.status == 0, done
            return done

        with FrameClient(addresses["SASL"]) as alice:
            alice.login("alice", USERS["alice"])
            assert _code(alice) == 29

            reads = allow("User:alice", "READ DESCRIBE", "TOPIC orders")
            on_orders = ("--topic", "orders")
            more = ("--operation", "Read", "--operation", "Describe")
            acls("--add", "--allow-principal", "User:alice", *more, *on_orders)
            assert listed(acls("--list")) == reads
            assert _code(alice) == 3

            denial = deny("User:alice", "DESCRIBE", "TOPIC orders")
            acls("--add", "--deny-principal", "User:alice", "--operation", "Describe", *on_orders)
            assert listed(acls("--list", *on_orders)) == reads | denial
            assert _code(alice) == 29

            deny_words = ("--deny-principal", "User:alice", "--operation", "Describe", "--force")
            acls("--remove", *deny_words, *on_orders)
            assert listed(acls("--list", "--principal", "User:alice")) == reads
            assert _code(alice) == 3

            acls("--remove", "--force", *on_orders)
            assert listed(acls("--list")) == frozenset()
            assert _code(alice) == 29


def _code(client: FrameClient) -> int:
    """Return what Metadata says of the topic orders: 29 refused, 3 allowed but unknown."""
    request = MetadataRequest(
        topics=(MetadataRequestTopic(name="orders"),), allow_auto_topic_creation=False
    )
    code: int = client.ask(request, MetadataResponse, 9).topics[0].error_code
    return code


class PolicyServer(http.server.BaseHTTPRequestHandler):
    """Allows everything, but has no answer before a time."""

    opens_s = 0.0

    def do_GET(self) -> None:
        """Answer one question of ``examples/authorizers/http_policy.py``."""
        known = time.monotonic() >= self.opens_s
        self.send_response(200 if known else 503)
        self.end_headers()
        self.wfile.write(b'{"allowed": true}')

    def log_message(self, *_: Any) -> None:
        """Stay quiet."""


@contextmanager
def http_policy(
    monkeypatch: pytest.MonkeyPatch, away_s: float, **keys: str
) -> Iterator[dict[str, str]]:
    """Run a server whose policy server answers after a time; give its addresses."""
    policies = http.server.ThreadingHTTPServer(("127.0.0.1", 0), PolicyServer)
    threading.Thread(target=policies.serve_forever, args=(0.05,), daemon=True).start()
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "examples" / "authorizers"), prepend=os.pathsep)
    keys["http_policy_url"] = f"http://127.0.0.1:{policies.server_port}/allowed"
    try:
        with served(
            monkeypatch, "http_policy.HttpPolicy", {"PLAINTEXT": "PLAINTEXT"}, **keys
        ) as addresses:
            monkeypatch.setattr(PolicyServer, "opens_s", time.monotonic() + away_s)
            yield addresses
    finally:
        policies.shutdown()
        policies.server_close()


@pytest.mark.parametrize(
    ("client", "program"),
    [
        ("confluent-kafka", "confluent_kafka_waits.py"),
        ("kafka-python-3", "kafka_python_3_waits.py"),
    ],
)
@pytest.mark.parametrize("away_s", [0.0, 6.0])
def test_clients_retry_while_the_decision_is_pending(
    monkeypatch: pytest.MonkeyPatch, client: str, program: str, away_s: float
) -> None:
    (library,) = (each for each in CLIENTS if each.name == client)
    command = or_skip(lambda: library.command(DRIVERS / program))
    with http_policy(monkeypatch, away_s, doorkeeper_test_broker="true") as addresses:
        done = subprocess.run(
            [*command, addresses["PLAINTEXT"]],
            capture_output=True,
            text=True,
            timeout=scaled(60),
            check=False,
        )
    assert (done.stdout, done.returncode) == ("sent\nread b'x'\n", 0), done.stderr[-2000:]


@pytest.mark.parametrize("away_s", [0.0, 6.0])
def test_java_admin_client_retries_while_the_decision_is_pending(
    tools: KafkaTools, monkeypatch: pytest.MonkeyPatch, away_s: float
) -> None:
    with http_policy(monkeypatch, away_s) as addresses:
        bindings = sorted(allow("User:a", "READ", "TOPIC a"))
        java = config(addresses["PLAINTEXT"])
        end = outcome(lambda: tools.call("createAcls", java, bindings=bindings))
    assert end == "PolicyViolationException"
