"""The programs of the shelf of learned roles: how each is started, and what it must have done."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from testkit.shelf import Program

if TYPE_CHECKING:
    from testkit.shelf import Stage


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


PROGRAMS = {
    "kcat": Program(kcat, ["kcat"], "authorization failed"),
}
