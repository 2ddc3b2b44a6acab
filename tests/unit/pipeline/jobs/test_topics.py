"""Topics as inputs of a run, on the test broker: each record counts once."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient
from kafka.structs import TopicPartition

from doorkeeper.testing import DoorkeeperServer
from doorkeeper_pipeline.errors import PipelineError, Unreadable
from doorkeeper_pipeline.tables import delta
from testkit.acl import DESCRIBE, READ, WRITE, allow, topic
from testkit.pipeline_runs import Output, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOGS = "logs"


class Site(Output):
    """A server with a topic, and an output folder."""

    def __init__(self, server: DoorkeeperServer, folder: Path) -> None:
        """Take a running server."""
        self.server = server
        super().__init__(folder / "out", self.address())

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

    def ranges(self) -> list[tuple[int, int, int]]:
        """Return partition, first and end offset of all that was read."""
        files = delta.Tables(self.out).read("files")
        return sorted(files.select("partition", "first_offset", "end_offset").rows())


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Run a server with a topic of two partitions."""
    topics: list[str | dict[str, Any]] = [{"name": LOGS, "partitions": 2}, "other"]
    with DoorkeeperServer(topics=topics, records=True) as server:
        yield Site(server, tmp_path)


def test_records_are_lines(site: Site) -> None:
    """Each record counts, of every partition; those without a value are no decisions."""
    site.send(record("x"), record("y"), None, " ")
    site.send(record("x"), "garbage", partition=1)

    summary = site.run()

    assert site.counts() == {"x": 2, "y": 1}
    counted = ("lines", "decisions", "ignored", "quarantined")
    assert [summary.run[each] for each in counted] == [6, 3, 2, 1]
    assert site.ranges() == [(0, 0, 4), (1, 0, 2)]


def test_quarantine_has_offsets(site: Site) -> None:
    """A record that cannot be read is named by topic, partition and offset."""
    site.send(record("x"), "{}", record("y"), "garbage", partition=1)

    site.run(max_quarantined=100)

    quarantine = delta.Tables(site.out).read("quarantine").sort("byte_offset")
    assert quarantine.select("file", "byte_offset", "text").rows() == [
        (f"{site.address()}/1", 1, "{}"),
        (f"{site.address()}/1", 3, "garbage"),
    ]


def test_only_new_records_are_read(site: Site) -> None:
    """The next run goes on where the last one ended; one without new records reads nothing."""
    site.send(record("x"))
    site.run()
    site.send(record("x"), record("y"))

    second = site.run()
    third = site.run()

    assert site.counts() == {"x": 2, "y": 1}
    assert (second.run["lines"], third.run["lines"]) == (2, 0)
    assert site.ranges() == [(0, 0, 1), (0, 1, 3)]
    assert third.run["files_unchanged"] == 2


def test_killed_run_reads_records_once(site: Site) -> None:
    class Killed(Exception):
        """Stands for the kill."""

    site.send(record("x"))
    site.run()
    for step in ("staged", "committed files"):
        site.send(record("x"))

        def kill(reached: str, step: str = step) -> None:
            if reached == step:
                raise Killed

        with pytest.raises(Killed):
            site.run(checkpoint=kill)

    site.run()

    assert site.counts() == {"x": 3}
    assert site.ranges() == [(0, 0, 1), (0, 1, 3)]


def test_deleted_records_are_reported(site: Site) -> None:
    site.send(record("x"))
    site.run()
    site.send(*(record("x") for _ in range(4)))
    site.delete(before=3)

    summary = site.run()

    assert site.counts() == {"x": 3}
    assert (
        f"{site.address()}/0: records deleted by the topic's retention before they were read,"
        " offsets 1 to 2: 2"
    ) in summary.run["warnings"]
    assert site.ranges() == [(0, 0, 1), (0, 3, 5)]
    for later in (summary, site.run()):
        assert any(each.startswith("lines are missing") for each in later.run["warnings"])
        assert len(later.evidence.observed.missing_days) == 1


def test_rebuild_reads_ranges_again(site: Site) -> None:
    for _ in range(2):
        site.send(record("x"), record("y"))
        site.run()
    site.delete(before=1)

    summary = site.run(rebuild=True)

    assert site.counts() == {"x": 2, "y": 2}
    assert summary.run["lines"] == 2
    name = f"{site.address()}: records that no longer exist; kept as read before"
    assert f"{name}: 2" in summary.run["warnings"]


def test_recreated_topic_is_rejected(site: Site) -> None:
    site.send(record("x"), record("x"))
    site.run()
    with closing(KafkaAdminClient(**site.server.client_config().kafka_python())) as admin:
        admin.delete_topics([LOGS])
        admin.create_topics({LOGS: {"num_partitions": 1, "replication_factor": 1}})
    site.send(record("x"))

    site.run()

    assert site.counts() == {"x": 3}


def test_topics_and_files_are_combined(site: Site, tmp_path: Path) -> None:
    site.send(record("x"))
    log = tmp_path / "kafka-authorizer.log"
    log.write_text(record("x") + record("y", "2026-11-22 08:10:00,000"))

    site.run(site.address(), str(log))
    summary = site.run(str(log))

    assert site.counts() == {"x": 1, "y": 1}
    assert summary.gone == (f"{site.address()}/0",)


def test_range_within_a_batch(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doorkeeper_pipeline.topics.addresses.RANGE_RECORDS", 2)
    site.send(*(record(f"n{number}") for number in range(5)), linger_ms=50)
    told: list[str] = []

    site.run(tell=told.append)

    assert site.counts() == {f"n{number}": 1 for number in range(5)}
    assert "1 topics, 5 offsets to read" in told


def test_unknown_topic_is_reported(site: Site) -> None:
    with pytest.raises(Unreadable) as caught:
        site.run(site.address("nothing"))

    assert str(caught.value) == f"{site.address('nothing')}: no such topic"
    with closing(KafkaAdminClient(**site.server.client_config().kafka_python())) as admin:
        assert "nothing" not in admin.list_topics()


def test_invalid_address_error_hides_the_password(site: Site) -> None:
    with pytest.raises(PipelineError, match=r"--log: found 'kafka://\.\.\.@h:1/t'"):
        site.run("kafka://u:secret@h:1/t")


def test_unrecognised_records_are_rejected(site: Site) -> None:
    site.send("a", "b")

    with pytest.raises(Unreadable, match="cannot detect the format from the first records; give"):
        site.run()


def test_required_permissions_on_the_topic(tmp_path: Path) -> None:
    granted = [allow("svc", DESCRIBE, topic(LOGS))]
    users = {"svc": "secret", "writer": "secret"}
    grants = [*granted, allow("writer", WRITE, topic(LOGS))]
    with DoorkeeperServer(users=users, topics=[LOGS], acls=grants, records=True) as server:
        site = Site(server, tmp_path)
        with closing(KafkaProducer(**server.client_config("writer").kafka_python())) as producer:
            producer.send(LOGS, record("x").encode()).get(10)
        config = server.client_config("svc").write_java(tmp_path / "client.properties")

        with pytest.raises(Unreadable) as caught:
            site.run(command_config=str(config))
        server.add_acls([allow("svc", READ, topic(LOGS))])
        site.run(command_config=str(config))

        assert "not authorized; READ and DESCRIBE on the topic are required" in str(caught.value)
        assert site.counts() == {"x": 1}
        stored = [str(delta.Tables(site.out).read(name).to_dicts()) for name in ("files", "runs")]
        assert not any("secret" in text for text in stored)


def test_wrong_password_is_reported(tmp_path: Path) -> None:
    with DoorkeeperServer(users={"svc": "secret"}, topics=[LOGS], records=True) as server:
        config = server.client_config("svc").write_java(tmp_path / "client.properties")
        config.write_text(config.read_text().replace('"secret"', '"other-secret"'))

        with pytest.raises(Unreadable) as caught:
            Site(server, tmp_path).run(command_config=str(config))

    assert "other-secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
