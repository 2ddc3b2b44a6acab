"""Applications of Kafka on the test broker and on a broker: Streams and Connect."""

from __future__ import annotations

import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic

from testkit.kafka_broker import free_port
from testkit.kafka_jars import other_jars
from testkit.kafka_target import doorkeeper_target, kafka_target
from testkit.load import scaled
from testkit.or_skip import or_skip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from testkit.kafka_target import Target

pytestmark = [pytest.mark.interop, pytest.mark.slow]

POM = Path(__file__).parents[1] / "kafka_applications" / "pom.xml"
INPUT, OUTPUT = "streams-plaintext-input", "streams-wordcount-output"
LINES = ("all streams lead to kafka", "hello kafka streams", "join kafka summit")
COUNTS = [
    *(("all", 1), ("streams", 1), ("lead", 1), ("to", 1), ("kafka", 1), ("hello", 1)),
    *(("kafka", 2), ("streams", 2), ("join", 1), ("kafka", 3), ("summit", 1)),
]
WORDCOUNT = "org.apache.kafka.streams.examples.wordcount.WordCountDemo"
CONNECT = "org.apache.kafka.connect.cli.ConnectStandalone"
COMING_S = 60

TARGETS: dict[str, Callable[[], Target]] = {
    "kafka": lambda: kafka_target("4.3.1"),
    "doorkeeper": lambda: doorkeeper_target(doorkeeper_test_broker="true"),
}


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """Give a broker, and a Doorkeeper with the test broker."""
    running = or_skip(TARGETS[request.param])
    yield running
    running.close()


@contextmanager
def application(folder: Path, main: str, *files: Path) -> Iterator[None]:
    """Run a Java program until the end of the block; its output is in a file of the folder."""
    lib = or_skip(lambda: other_jars(POM))
    command = ["java", "-Xmx300m", "-cp", f"{lib}/*", main, *map(str, files)]
    with (folder / "output.txt").open("w") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
    try:
        yield
        assert process.poll() is None, (folder / "output.txt").read_text()[-2000:]
    finally:
        process.terminate()
        process.wait(scaled(30))


def properties(path: Path, /, **values: str) -> Path:
    """Write properties; underscores in a key stand for dots."""
    lines = (f"{key.replace('_', '.')}={value}\n" for key, value in values.items())
    path.write_text("".join(lines), encoding="utf-8")
    return path


def create_topics(target: Target, *names: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=target.plain)
    admin.create_topics([NewTopic(name, 1, 1) for name in names])
    admin.close()


def write(target: Target, topic: str, lines: tuple[str, ...]) -> None:
    producer = KafkaProducer(bootstrap_servers=target.plain)
    for line in lines:
        producer.send(topic, line.encode())
    producer.flush()
    producer.close()


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_streams_wordcount(target: Target, guarantee: str, tmp_path: Path) -> None:
    create_topics(target, INPUT, OUTPUT)
    write(target, INPUT, LINES)
    file = properties(
        tmp_path / "streams.properties",
        bootstrap_servers=target.plain,
        state_dir=str(tmp_path / "state"),
        processing_guarantee=guarantee,
        commit_interval_ms="200",
    )
    consumer = KafkaConsumer(
        OUTPUT,
        bootstrap_servers=target.plain,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        consumer_timeout_ms=COMING_S * 1000,
    )

    with application(tmp_path, WORDCOUNT, file):
        counted = [
            (message.key.decode(), int.from_bytes(message.value, "big"))
            # In this order: the counts end first, and no further message is waited for.
            for _, message in zip(COUNTS, consumer, strict=False)
        ]

    consumer.close()
    assert counted == COUNTS


def test_connect_file_connectors(target: Target, tmp_path: Path) -> None:
    """A source connector writes the lines of a file to a topic, and a sink reads them back."""
    (tmp_path / "plugins").mkdir()
    taken, given = tmp_path / "in.txt", tmp_path / "out.txt"
    taken.write_text("one\ntwo\nthree\n", encoding="utf-8")
    create_topics(target, "lines")
    text = "org.apache.kafka.connect.storage.StringConverter"
    worker = properties(
        tmp_path / "worker.properties",
        bootstrap_servers=target.plain,
        key_converter=text,
        value_converter=text,
        offset_storage_file_filename=str(tmp_path / "offsets"),
        listeners=f"HTTP://127.0.0.1:{free_port()}",
        plugin_path=str(tmp_path / "plugins"),
        plugin_discovery="only_scan",
    )
    file = "org.apache.kafka.connect.file"
    source = properties(
        tmp_path / "source.properties",
        name="source",
        connector_class=f"{file}.FileStreamSourceConnector",
        file=str(taken),
        topic="lines",
    )
    sink = properties(
        tmp_path / "sink.properties",
        name="sink",
        connector_class=f"{file}.FileStreamSinkConnector",
        file=str(given),
        topics="lines",
    )

    with application(tmp_path, CONNECT, worker, source, sink):
        deadline_s = time.monotonic() + COMING_S
        while not given.exists() or given.read_text() != taken.read_text():
            assert time.monotonic() < deadline_s, (tmp_path / "output.txt").read_text()[-2000:]
            time.sleep(0.2)
