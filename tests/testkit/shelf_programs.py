"""The programs of the shelf of learned roles: how each is started, and what it must have done.

No package registry has Schema Registry, ksqlDB, Karapace, Cruise Control, AKHQ, kafka-ui,
kafka-exporter and kminion. Burrow 1.2.1 cannot decode the offsets of a broker 4.3.1, and Apicurio
Registry 3.3 needs Java 21.
"""

from __future__ import annotations

import json
import shutil
import sys
from functools import partial
from typing import TYPE_CHECKING

from testkit.kafka_jars import PROJECT, other_jars
from testkit.shelf import Program
from testkit.shelf_connect import connect_worker, debezium_postgres, file_connectors, java

if TYPE_CHECKING:
    from testkit.shelf import Stage

INTEROP = PROJECT / "tests" / "interop"
LINES = ("all streams lead to kafka", "hello kafka streams", "join kafka summit")
WORDS = 11
"""The words of ``LINES``: so many counts come out."""


def kcat(stage: Stage) -> None:
    """Write a line to a topic, and read it in a group."""
    (kafka,), topic, group = stage.clusters, stage.names["topic"], stage.names["group"]
    kafka.create_topics(topic)
    line = stage.folder / "line.txt"
    line.write_text("an order\n")
    settings = {
        "bootstrap.servers": kafka.target.sasl,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": stage.user,
        "sasl.password": stage.password,
        "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": "200",
    }
    command = ["kcat", *(word for pair in settings.items() for word in ("-X", "=".join(pair)))]
    with stage.running(*command, "-P", "-t", topic, "-l", str(line)):
        stage.until("a line is written", partial(kafka.has, topic))
    with stage.running(*command, "-G", group, topic):
        stage.until("the line is read", partial(kafka.is_at, group, topic, 1))


def streams(stage: Stage) -> None:
    """Count words exactly once; lose the state, restore it, and count on; purge what is read."""
    (kafka,), names = stage.clusters, stage.names
    kafka.create_topics(names["input"], names["output"])
    settings = {
        **stage.login(),
        "application.id": names["applicationId"],
        "processing.guarantee": "exactly_once_v2",
        "state.dir": str(stage.folder / "state"),
        "commit.interval.ms": "200",
        "repartition.purge.interval.ms": "200",
        "auto.offset.reset": "earliest",
    }
    repartition = f"{names['applicationId']}-KSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition"
    start = kafka.offsets(names["output"])[1]
    # Its topics are the same in each run, and are read from the beginning.
    before = kafka.offsets(names["input"])[1] // len(LINES)
    main = "org.apache.kafka.streams.examples.wordcount.WordCountDemo"
    for run in (1, 2):
        kafka.write(names["input"], *LINES)
        with stage.running(*java(main, stage.properties("streams", **settings))):
            stage.until(
                "words are counted",
                partial(kafka.has, names["output"], WORDS * (before + run), start),
            )
            stage.until("read records are deleted", lambda: kafka.offsets(repartition)[0] > 0)
        shutil.rmtree(stage.folder / "state")


def spark(stage: Stage) -> None:
    """Copy a topic to another one by a stream with a checkpoint; go on after a restart."""
    (kafka,), names = stage.clusters, stage.names
    kafka.create_topics(names["input"], names["output"])
    lib = other_jars(INTEROP / "spark_kafka" / "pom.xml")
    login = {f"kafka.{key}": value for key, value in stage.login().items()}
    settings = {
        "jars": ",".join(sorted(map(str, lib.glob("*.jar")))),
        "checkpoint": str(stage.folder / "checkpoint"),
        "source": {**login, "subscribe": names["input"], "startingOffsets": "earliest"},
        "sink": {**login, "topic": names["output"]},
    }
    script = str(INTEROP / "spark_kafka" / "copy_topic.py")
    for run in (1, 2):
        kafka.write(names["input"], "an order")
        with stage.running(
            sys.executable, script, json.dumps(settings), SPARK_LOCAL_IP="127.0.0.1"
        ):
            stage.until("records are copied", partial(kafka.has, names["output"], run))


KILLED = "Task is being killed and will not recover"

PROGRAMS = {
    "kcat": Program(kcat, ["kcat"], "authorization failed"),
    "kafka-streams": Program(
        streams, ["kafka-streams"], "State transition from PENDING_ERROR", ["input", "output"]
    ),
    "kafka-connect-worker": Program(connect_worker, ["kafka-connect-worker"]),
    "kafka-connect-connectors": Program(file_connectors, ["kafka-connect-connectors"], KILLED),
    "debezium-postgres": Program(debezium_postgres, ["debezium-postgres"], KILLED),
    "spark-kafka": Program(spark, ["spark-kafka"]),
}
