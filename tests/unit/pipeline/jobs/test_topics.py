"""Topics as inputs of a run, on the test broker: each record counts once."""

from __future__ import annotations

import datetime as dt
import itertools
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient
from kafka.structs import TopicPartition

from doorkeeper.testing import DoorkeeperServer
from doorkeeper_pipeline.engines.local import LocalEngine
from doorkeeper_pipeline.errors import PipelineError, Unreadable
from doorkeeper_pipeline.jobs.run import RunRequest, RunSummary, Surroundings, run
from doorkeeper_pipeline.tables import delta
from testkit.acl import DESCRIBE, READ, WRITE, allow, topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOON = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)
LOGS = "logs"


def line(name: str, time: str = "2026-11-22 07:10:00,000") -> str:
    """Return a line of kafka-authorizer.log."""
    return (
        f"[{time}] INFO Principal = User:alice is Denied operation = READ from host = 10.0.0.7"
        f" on resource = Topic:LITERAL:{name} for request = Fetch with resourceRefCount = 1"
        " based on rule DefaultDeny (kafka.authorizer.logger)"
    )


def confluent(name: str, cluster: str = "lkc-1", number: int = 1) -> str:
    """Return an event of Confluent's audit log."""
    event = {
        "specversion": "1.0",
        "id": f"event-{number}-{cluster}",
        "source": f"crn://confluent.cloud/kafka={cluster}",
        "type": "io.confluent.kafka.server/authorization",
        "time": "2026-11-22T07:10:00.000Z",
        "data": {
            "serviceName": f"crn://confluent.cloud/kafka={cluster}",
            "methodName": "kafka.Fetch",
            "authenticationInfo": {"principal": "User:alice"},
            "authorizationInfo": {
                "granted": False,
                "operation": "Read",
                "resourceType": "Topic",
                "resourceName": name,
            },
            "clientAddress": [{"ip": "10.0.0.7"}],
        },
    }
    return json.dumps(event, indent=1)


class Site:
    """A server with a topic, and an output folder."""

    def __init__(self, server: DoorkeeperServer, folder: Path) -> None:
        """Take a running server."""
        self.server = server
        self.out = folder / "out"
        self._runs = itertools.count(1)

    def address(self, name: str = LOGS) -> str:
        """Return the address of a topic."""
        return f"kafka://{self.server.bootstrap_servers}/{name}"

    def send(
        self, *values: str | None, partition: int = 0, to: str = LOGS, **settings: Any
    ) -> None:
        """Write records."""
        plain = self.server.client_config().kafka_python()
        with closing(KafkaProducer(**plain, **settings, max_block_ms=10_000)) as producer:
            for value in values:
                data = None if value is None else value.encode()
                producer.send(to, data, partition=partition, key=b"k").get(10)

    def delete(self, before: int, partition: int = 0) -> None:
        """Delete the records before an offset, as retention does."""
        with closing(KafkaAdminClient(**self.server.client_config().kafka_python())) as admin:
            admin.delete_records({TopicPartition(LOGS, partition): before})

    def run(
        self,
        *inputs: str,
        checkpoint: Callable[[str], None] = lambda _: None,
        tell: Callable[[str], None] = lambda _: None,
        **asked: Any,
    ) -> RunSummary:
        """Run."""
        request = RunRequest(**{"out": self.out, "inputs": inputs or (self.address(),), **asked})
        around = Surroundings(
            engine=LocalEngine(),
            now=lambda: NOON,
            run_id=f"run-{next(self._runs)}",
            version="1",
            tell=tell,
            checkpoint=checkpoint,
        )
        return run(request, around)

    def counts(self) -> dict[str, int]:
        """Return how often each name was refused."""
        rows = (
            delta.read(self.out, "decisions").group_by("resource_name").agg(pl.col("count").sum())
        )
        return dict(rows.select("resource_name", "count").rows())

    def ranges(self) -> list[tuple[int, int, int]]:
        """Return partition, first and end offset of all that was read."""
        files = delta.read(self.out, "files")
        return sorted(files.select("partition", "first_offset", "end_offset").rows())


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Run a server with a topic of two partitions."""
    topics: list[str | dict[str, Any]] = [{"name": LOGS, "partitions": 2}, "other"]
    with DoorkeeperServer(topics=topics, records=True) as server:
        yield Site(server, tmp_path)


def test_records_are_lines(site: Site) -> None:
    """Each record counts, of every partition; those without a value are no decisions."""
    site.send(line("x"), line("y"), None, " ")
    site.send(line("x"), "garbage", partition=1)

    summary = site.run()

    assert site.counts() == {"x": 2, "y": 1}
    counted = ("lines", "decisions", "ignored", "quarantined")
    assert [summary.run[each] for each in counted] == [6, 3, 2, 1]
    assert site.ranges() == [(0, 0, 4), (1, 0, 2)]


def test_quarantine_has_offsets(site: Site) -> None:
    """A record that cannot be read is named by topic, partition and offset."""
    site.send(line("x"), "{}", line("y"), "garbage", partition=1)

    site.run(max_quarantined=100)

    quarantine = delta.read(site.out, "quarantine").sort("byte_offset")
    assert quarantine.select("file", "byte_offset", "text").rows() == [
        (f"{site.address()}/1", 1, "{}"),
        (f"{site.address()}/1", 3, "garbage"),
    ]


def test_only_new_records_are_read(site: Site) -> None:
    """The next run goes on where the last one ended; one without new records reads nothing."""
    site.send(line("x"))
    site.run()
    site.send(line("x"), line("y"))

    second = site.run()
    third = site.run()

    assert site.counts() == {"x": 2, "y": 1}
    assert (second.run["lines"], third.run["lines"]) == (2, 0)
    assert site.ranges() == [(0, 0, 1), (0, 1, 3)]
    assert third.run["files_unchanged"] == 2


def test_a_killed_run(site: Site) -> None:
    """Offsets are committed with the decisions: what a killed run had read is read again, once."""

    class Killed(Exception):
        """Stands for the kill."""

    site.send(line("x"))
    site.run()
    for step in ("staged", "committed files"):
        site.send(line("x"))

        def kill(reached: str, step: str = step) -> None:
            if reached == step:
                raise Killed

        with pytest.raises(Killed):
            site.run(checkpoint=kill)

    site.run()

    assert site.counts() == {"x": 3}
    assert site.ranges() == [(0, 0, 1), (0, 1, 3)]


def test_what_retention_deleted_is_named(site: Site) -> None:
    """Records that were deleted before they were read are a gap: offsets and number are told."""
    site.send(line("x"))
    site.run()
    site.send(*(line("x") for _ in range(4)))
    site.delete(before=3)

    summary = site.run()

    assert site.counts() == {"x": 3}
    assert (
        f"{site.address()}/0: records deleted by the topic's retention before they were read,"
        " offsets 1 to 2: 2"
    ) in summary.run["warnings"]
    assert site.ranges() == [(0, 0, 1), (0, 3, 5)]


def test_rebuild(site: Site) -> None:
    """Ranges are read again; one that is not whole any more stays as it was, and is told."""
    for _ in range(2):
        site.send(line("x"), line("y"))
        site.run()
    site.delete(before=1)

    summary = site.run(rebuild=True)

    assert site.counts() == {"x": 2, "y": 2}
    assert summary.run["lines"] == 2
    name = f"{site.address()}: records that are no longer there and stay as they were read"
    assert f"{name}: 2" in summary.run["warnings"]


def test_a_topic_that_was_created_anew(site: Site) -> None:
    """It has another id, and its offsets begin again."""
    site.send(line("x"), line("x"))
    site.run()
    with closing(KafkaAdminClient(**site.server.client_config().kafka_python())) as admin:
        admin.delete_topics([LOGS])
        admin.create_topics({LOGS: {"num_partitions": 1, "replication_factor": 1}})
    site.send(line("x"))

    site.run()

    assert site.counts() == {"x": 3}


def test_events_with_line_breaks(site: Site) -> None:
    """A value is one event, however it is written; the source is recognised."""
    site.send(confluent("x"), confluent("y", number=2))

    site.run()

    assert site.counts() == {"x": 1, "y": 1}
    assert delta.read(site.out, "files")["source"].to_list() == ["cloudevents"]


def test_beside_files(site: Site, tmp_path: Path) -> None:
    """Topics and files may be mixed; a file that holds the same lines is a copy of the topic."""
    site.send(line("x"))
    log = tmp_path / "kafka-authorizer.log"
    log.write_text(line("x") + "\n" + line("y", "2026-11-22 08:10:00,000") + "\n")

    site.run(site.address(), str(log))
    summary = site.run(str(log))

    assert site.counts() == {"x": 1, "y": 1}
    assert summary.gone == (f"{site.address()}/0",)


def test_a_pieces_border(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A range is read by several tasks, also where it begins inside of a batch."""
    monkeypatch.setattr("doorkeeper_pipeline.topics.ranges.RANGE_RECORDS", 2)
    site.send(*(line(f"n{number}") for number in range(5)), linger_ms=50)
    told: list[str] = []

    site.run(tell=told.append)

    assert site.counts() == {f"n{number}": 1 for number in range(5)}
    assert "1 topics, 5 offsets to read" in told


def test_an_unknown_topic(site: Site) -> None:
    """It is told with its address, and is not created."""
    with pytest.raises(Unreadable) as caught:
        site.run(site.address("nothing"))

    assert str(caught.value) == f"{site.address('nothing')}: there is no such topic"
    with closing(KafkaAdminClient(**site.server.client_config().kafka_python())) as admin:
        assert "nothing" not in admin.list_topics()


def test_no_broker(site: Site) -> None:
    """It is told in one line with the address."""
    with pytest.raises(Unreadable) as caught:
        site.run("kafka://127.0.0.1:9/logs")

    assert str(caught.value).startswith("kafka://127.0.0.1:9/logs: ")
    assert "\n" not in str(caught.value)


def test_an_invalid_address_is_refused(site: Site) -> None:
    """What may be a password is not repeated."""
    with pytest.raises(PipelineError, match=r"--audit: found 'kafka://\.\.\.@h:1/t'"):
        site.run("kafka://u:secret@h:1/t")


def test_records_that_say_nothing(site: Site) -> None:
    """Records of which none is recognised are refused with the options that name them."""
    site.send("a", "b")

    with pytest.raises(Unreadable, match="nothing in its first records tells what they are"):
        site.run()


def test_a_user_that_may_read(tmp_path: Path) -> None:
    """READ and DESCRIBE on the topic are enough, no group is needed; without READ it is told."""
    granted = [allow("svc", DESCRIBE, topic(LOGS))]
    users = {"svc": "secret", "writer": "secret"}
    grants = [*granted, allow("writer", WRITE, topic(LOGS))]
    with DoorkeeperServer(users=users, topics=[LOGS], acls=grants, records=True) as server:
        site = Site(server, tmp_path)
        with closing(KafkaProducer(**server.client_config("writer").kafka_python())) as producer:
            producer.send(LOGS, line("x").encode()).get(10)
        config = server.client_config("svc").write_java(tmp_path / "client.properties")

        with pytest.raises(Unreadable) as caught:
            site.run(command_config=str(config))
        server.add_acls([allow("svc", READ, topic(LOGS))])
        site.run(command_config=str(config))

        assert "not allowed: READ and DESCRIBE on the topic are needed" in str(caught.value)
        assert site.counts() == {"x": 1}
        stored = [str(delta.read(site.out, name).to_dicts()) for name in ("files", "runs")]
        assert not any("secret" in text for text in stored)


def test_a_wrong_password(tmp_path: Path) -> None:
    """A login that fails is told in one line, without the password."""
    with DoorkeeperServer(users={"svc": "secret"}, topics=[LOGS], records=True) as server:
        config = server.client_config("svc").write_java(tmp_path / "client.properties")
        config.write_text(config.read_text().replace('"secret"', '"other-secret"'))

        with pytest.raises(Unreadable) as caught:
            Site(server, tmp_path).run(command_config=str(config))

    assert "other-secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
