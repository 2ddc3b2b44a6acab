"""Programs of the shelf that are Kafka Connect: a worker, connectors, Debezium."""

from __future__ import annotations

import json
import urllib.request
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.error import URLError

from testkit.kafka_broker import free_port
from testkit.kafka_jars import PROJECT, other_jars
from testkit.postgres import Postgres

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from testkit.shelf import Stage

POMS = PROJECT / "tests" / "interop"
SUPER = "admin"
"""Whatever is not the part that is learned logs in as a super user."""

SOURCE = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector"}
SINK = {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector"}
CREATING = {
    "topic.creation.default.partitions": "1",
    "topic.creation.default.replication.factor": "1",
}
TEXT = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"


def java(main: str, *words: object, jars: tuple[str, ...] = ("kafka_applications",)) -> list[str]:
    """Return the command of a Java program, with the jars of poms beside the suites."""
    path = ":".join(f"{other_jars(POMS / folder / 'pom.xml')}/*" for folder in jars)
    quick = ("-Xmx400m", "-XX:TieredStopAtLevel=1")
    return ["java", *quick, "-cp", path, main, *map(str, words)]


class Worker:
    """The REST port of a worker."""

    def __init__(self, stage: Stage, port: int) -> None:
        self._stage = stage
        self._address = f"http://127.0.0.1:{port}"

    def ask(self, path: str, body: object = None, method: str = "GET") -> Any:
        """Return what it answers; None for an error, as long as it is not ready."""
        request = urllib.request.Request(
            self._address + path,
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read() or b"true")
        except (URLError, ConnectionError, TimeoutError):
            return None

    def put(self, name: str, config: Mapping[str, str], **more: str) -> None:
        """Make a connector, or change it."""
        path = f"/connectors/{name}/config"
        self._stage.until(f"{name} is made", lambda: self.ask(path, {**config, **more}, "PUT"))

    def delete(self, name: str) -> bool:
        """Delete a connector; return whether it is gone."""
        self.ask(f"/connectors/{name}", method="DELETE")
        return name not in (self.ask("/connectors") or (name,))

    def runs(self, name: str) -> None:
        """Wait until a connector and its task run."""

        def is_so() -> bool:
            status = self.ask(f"/connectors/{name}/status") or {"connector": {}, "tasks": ()}
            states = [each.get("state") for each in (status["connector"], *status["tasks"])]
            return states == ["RUNNING"] * 2

        self._stage.until(f"{name} runs", is_so)

    def has_offsets(self, name: str) -> None:
        """Wait until the worker has stored how far a connector is."""
        path = f"/connectors/{name}/offsets"
        self._stage.until(
            f"offsets of {name} are stored", lambda: (self.ask(path) or {}).get("offsets")
        )


@contextmanager
def worker(
    stage: Stage, own: str, connectors: str, *jars: str, **settings: str
) -> Iterator[Worker]:
    """Run a worker that logs in as one user, and whose connectors log in as another."""
    # With the topics of another run it would go on with the connectors of that run.
    run = "-".join(stage.folder.parts[-2:])
    port, names = free_port(), {"group": run, **stage.names}
    topics = {
        f"{kind}.storage.topic": names.get(f"{kind}Topic", f"{kind}-of-{run}")
        for kind in ("config", "offset", "status")
    }
    of_clients = stage.login(user=connectors)
    (stage.folder / "plugins").mkdir(exist_ok=True)
    properties = {
        **stage.login(user=own),
        **{
            f"{client}.{key}": value
            for client in ("producer", "consumer", "admin")
            for key, value in of_clients.items()
        },
        "group.id": names["group"],
        **topics,
        **{f"{key.removesuffix('topic')}replication.factor": "1" for key in topics},
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
        "offset.flush.interval.ms": "500",
        "key.converter": TEXT,
        "value.converter": TEXT,
        "listeners": f"HTTP://127.0.0.1:{port}",
        "plugin.path": str(stage.folder / "plugins"),
        "plugin.discovery": "service_load",
        **settings,
    }
    file = stage.properties("worker.properties", **properties)
    main = "org.apache.kafka.connect.cli.ConnectDistributed"
    with stage.running(*java(main, file, jars=("kafka_applications", *jars))):
        yield Worker(stage, port)


def connect_worker(stage: Stage) -> None:
    """Carry lines from file to file by two connectors; go on after a restart; delete one."""
    taken, given = stage.folder / "in.txt", stage.folder / "out.txt"
    topic, lines = f"lines-of-{stage.names['group']}", ""
    stage.clusters[0].create_topics(topic)
    for run in (1, 2):
        lines += f"line {run}\n"
        taken.write_text(lines)
        with worker(stage, stage.user, SUPER) as rest:
            if run == 1:
                rest.put("source", SOURCE, file=str(taken), topic=topic)
                rest.put("sink", SINK, file=str(given), topics=topic)
            rest.runs("source")
            rest.runs("sink")
            stage.until("lines are carried", partial(holds, given, lines))
            rest.has_offsets("source")
            if run == 2:
                stage.until("a connector is deleted", partial(rest.delete, "sink"))


def file_connectors(stage: Stage) -> None:
    """Carry lines through a topic that the source makes; put one into a dead letter queue."""
    taken, given = stage.folder / "in.txt", stage.folder / "out.txt"
    (kafka,), names = stage.clusters, stage.names
    taken.write_text("1\ntwo {\n3\n")
    kafka.create_topics(names["dead"])
    to_json = {
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": names["dead"],
        "errors.deadletterqueue.topic.replication.factor": "1",
    }
    with worker(stage, SUPER, stage.user) as rest:
        source = f"source-of-{names['connector']}"
        rest.put(source, {**SOURCE, **CREATING}, file=str(taken), topic=names["source"])
        rest.runs(source)
        topics = names["sink"]
        rest.put(names["connector"], {**SINK, **to_json}, file=str(given), topics=topics)
        rest.runs(names["connector"])
        stage.until("lines are carried", partial(holds, given, "1\n3\n"))
        stage.until("a record is put aside", partial(kafka.has, names["dead"]))
        group = f"connect-{names['connector']}"
        stage.until("offsets are committed", partial(kafka.is_at, group, topics, 3))


def debezium_postgres(stage: Stage) -> None:
    """Take a snapshot of a table, then follow its changes; beat; go on after a restart."""
    (kafka,), name = stage.clusters, stage.names["server"]
    with Postgres(settings={"wal_level": "logical"}) as server:
        base = server.create_database()
        base.execute("CREATE TABLE orders (id int PRIMARY KEY); INSERT INTO orders VALUES (1)")
        config = {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "plugin.name": "pgoutput",
            "slot.name": name,
            "publication.name": name,
            "topic.prefix": name,
            "table.include.list": "public.orders",
            "database.hostname": "127.0.0.1",
            "database.port": str(server.port),
            "database.user": "postgres",
            "database.password": "unused",
            "database.dbname": base.name,
            "heartbeat.interval.ms": "500",
            "value.converter": JSON,
            **CREATING,
        }
        for run in (2, 3):
            with worker(stage, SUPER, stage.user, "debezium_postgres") as rest:
                rest.put(name, config)
                rest.runs(name)
                base.execute(f"INSERT INTO orders VALUES ({run})")
                stage.until(
                    "changes are written",
                    partial(kafka.has, f"{name}.public.orders", run),
                )
                stage.until("it beats", partial(kafka.has, f"__debezium-heartbeat.{name}"))
                rest.has_offsets(name)


def holds(file: Path, text: str) -> bool:
    """Say whether a file has a text."""
    return file.exists() and file.read_text() == text
