"""The tables of docs/reference/clients.md, and how the requests in them are recorded.

Every client does everything it can, each call in a conversation of its own, against a Doorkeeper
behind a ``FrameRecorder``. What passed is kept in ``tests/interop/clients/seen.json``, of which the
page is made: ``PYTHONPATH=tools:tests python -m pages.clients`` writes it anew.
"""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from doorkeeper.acls.entities.model import TopicEntity
from doorkeeper_wire.api_keys import API_NAMES
from testkit.clients import CLIENTS, DRIVERS, Client
from testkit.frame_recorder import FrameRecorder, Seen
from testkit.kafka_acl_rows import ANY
from testkit.kafka_jars import VERSIONS, jars
from testkit.kafka_target import Target, doorkeeper_target
from testkit.kafka_tools import KafkaTools

SEEN = DRIVERS / "seen.json"

ROW = ["TOPIC", "orders", "LITERAL", "User:bob", "*", "READ", "ALLOW"]

CALLS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "create ACLs": ("create_acls", {"bindings": [ROW]}),
    "describe ACLs": ("describe_acls", {"wanted": ANY}),
    "delete ACLs": ("delete_acls", {"filters": [ROW]}),
    "describe the cluster": ("describe_cluster", {}),
    "create a topic": ("create_topics", {"topics": {"mine": 1}}),
    "list topics": ("list_topics", {}),
    "describe a topic": ("describe_topics", {"names": ["orders"]}),
    "delete a topic": ("delete_topics", {"names": ["mine"]}),
    "list groups": ("list_groups", {}),
    "describe a group": ("describe_groups", {"names": ["payments"]}),
    "show a broker's configuration": ("broker_configs", {"keys": ["super.users"]}),
}
"""Each call, by the words of the page: the operation of a driver and its arguments."""

COMMANDS: Mapping[str, str] = {
    "create ACLs": "kafka-acls --add --allow-principal User:bob --operation Read --topic orders",
    "describe ACLs": "kafka-acls --list",
    "delete ACLs": (
        "kafka-acls --remove --force --allow-principal User:bob --operation Read --topic orders"
    ),
    "describe the cluster": "kafka-cluster cluster-id",
    "create a topic": "kafka-topics --create --topic mine",
    "list topics": "kafka-topics --list",
    "describe a topic": "kafka-topics --describe --topic orders",
    "delete a topic": "kafka-topics --delete --topic mine",
    "list groups": "kafka-consumer-groups --list",
    "describe a group": "kafka-consumer-groups --describe --group payments --members",
    "show a broker's configuration": (
        "kafka-configs --describe --all --entity-type brokers --entity-name 1"
    ),
}
"""The commands of Kafka's own tools for the same."""

TOPICS = (TopicEntity("orders", 1),)
GROUPS = ("payments",)

Calls = dict[str, list[str]]


class Sight(NamedTuple):
    """What was seen of one release of a client: each call with its requests, API by API."""

    release: str
    software: list[str]
    calls: Calls


class Scene(NamedTuple):
    """A Doorkeeper behind a recorder; ``address`` is for clients that log in as ``admin``."""

    target: Target
    recorder: FrameRecorder
    address: str


@contextmanager
def scene() -> Iterator[Scene]:
    """Start a Doorkeeper whose SASL listener is reached through a recorder only."""
    recorder = FrameRecorder()
    address = f"localhost:{recorder.port}"
    target = doorkeeper_target(
        "4.3.1", TOPICS, groups=GROUPS, advertised_listeners=f"SASL://{address}"
    )
    recorder.forward(int(target.sasl.rpartition(":")[2]))
    try:
        yield Scene(target, recorder, address)
    finally:
        target.close()
        recorder.close()


def watch_client(client: Client, around: Scene) -> Sight:
    """Let a client do everything, and return what it sent.

    Raises:
        RuntimeError: a call failed.
        Unavailable: the client cannot be had on this machine.
        WrongPython: the client runs on another Python.
    """
    told: dict[str, list[Seen]] = {}
    for call, operation in CALLS.items():
        results = client.talk(around.address, operation, login=("admin", "admin-secret"))
        if "value" not in results[0]:
            raise RuntimeError(f"{client.name}, {call}: {results[0]}")
        told[call] = around.recorder.taken()
    return _sight(release_of(client), told)


def watch_tools(tools: KafkaTools, around: Scene) -> Sight:
    """Let Kafka's own tools do the same.

    Raises:
        RuntimeError: a command failed.
    """
    told: dict[str, list[Seen]] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "client.properties"
        config = around.target.config("admin")
        file.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
        for call, line in COMMANDS.items():
            tool, *words = line.split()
            option = "--config" if tool == "kafka-cluster" else "--command-config"
            done = tools.run(tool, *words, "--bootstrap-server", around.address, option, str(file))
            if done.status:
                raise RuntimeError(f"{line}: {done}")
            told[call] = around.recorder.taken()
    return _sight(tools.version, told)


def _sight(release: str, told: Mapping[str, Sequence[Seen]]) -> Sight:
    software = {seen.software for each in told.values() for seen in each if seen.software}
    return Sight(
        release,
        sorted(software),
        {call: _in_order({str(one) for one in seen}) for call, seen in told.items()},
    )


def _in_order(requests: set[str]) -> list[str]:
    """Sort requests by key and version: their order on the wire may change from run to run."""
    keys = {name: key for key, name in API_NAMES.items()}

    def place(request: str) -> tuple[int, int]:
        name, version = request.split()
        return keys[name], int(version)

    return sorted(requests, key=place)


def release_of(client: Client) -> str:
    """Return the release of a client that its lock names."""
    if client.is_node:
        lock = json.loads((DRIVERS / "kafkajs" / "package-lock.json").read_text(encoding="utf-8"))
        version: str = lock["packages"]["node_modules/kafkajs"]["version"]
        return version
    package = re.sub(r"-[\d.]+$", "", client.name)
    text = (DRIVERS / "requirements" / f"{client.name}.txt").read_text(encoding="utf-8")
    found = re.search(rf"^{package}==(\S+)", text, re.MULTILINE)
    assert found is not None
    return found.group(1)


def releases() -> dict[str, str]:
    """Return the release of every client that the page tells of, by the name of its row."""
    return {
        **{client.name: release_of(client) for client in CLIENTS},
        **{f"kafka-tools-{version}": version for version in VERSIONS},
    }


def load() -> dict[str, Sight]:
    """Return what was seen when the page was made."""
    kept: dict[str, Any] = json.loads(SEEN.read_text(encoding="utf-8"))
    return {name: Sight(**of_client) for name, of_client in kept.items()}


def ask_all() -> dict[str, Sight]:
    """Return what all clients send now."""
    found: dict[str, Sight] = {}
    with scene() as around:
        for client in CLIENTS:
            found[client.name] = watch_client(client, around)
        for version in VERSIONS:
            tools = KafkaTools(jars(version))
            try:
                found[f"kafka-tools-{version}"] = watch_tools(tools, around)
            finally:
                tools.close()
    return found


NOTES = """
What a call sends is in the cells below, without what the client sends in every call. A cell that
would be empty shows its Metadata: that is then the whole of the call.

"""

AFTER = """
aiokafka has no calls for ACLs and is driven by its request classes; confluent-kafka is librdkafka.
"""


def page(seen: Mapping[str, Sight]) -> str:
    """Return what the page says of these clients."""
    always = {name: _always(sight) for name, sight in seen.items()}
    rows = "".join(
        f"| {_title(name, sight)} | {', '.join(sight.software) or 'none'} |"
        f" {', '.join(always[name])} |\n"
        for name, sight in seen.items()
    )
    titles = "".join(f" {_title(name, sight)} |" for name, sight in seen.items())
    calls = "".join(
        f"| {call} |"
        + "".join(f" {_cell(sight.calls[call], always[name])} |" for name, sight in seen.items())
        + "\n"
        for call in CALLS
    )
    return (
        f"| client | names itself | in every call |\n|---|---|---|\n{rows}"
        f"{NOTES}| call |{titles}\n|---|{'---|' * len(seen)}\n{calls}{AFTER}"
    )


def _title(name: str, sight: Sight) -> str:
    package = "Kafka's tools" if name.startswith("kafka-tools") else re.sub(r"-[\d.]+$", "", name)
    return f"{package} {sight.release}"


def _always(sight: Sight) -> list[str]:
    every = set.intersection(*map(set, sight.calls.values()))
    return _in_order(every)


def _cell(requests: Sequence[str], always: Sequence[str]) -> str:
    own = [request for request in requests if request not in always]
    return "<br>".join(own or [request for request in requests if request.startswith("Metadata")])


def text() -> str:
    """Return both tables."""
    return page(load())


def ask_again() -> None:
    """Let all clients do everything again, and keep what they sent."""
    asked = {name: sight._asdict() for name, sight in ask_all().items()}
    SEEN.write_text(json.dumps(asked, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    ask_again()
