"""The versions of releases, beside Kafka's own classes and a real broker, and Java's clients."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.config.kafka_versions import releases
from doorkeeper.testing import DoorkeeperServer
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_versions_list import RELEASES, TELEMETRY, asked
from testkit.applications import APPLICATION, run, set_acls
from testkit.frames import FrameClient
from testkit.java_lines import client_calls
from testkit.kafka_jars import client_jars
from testkit.kafka_target import Target, doorkeeper_target, kafka_target
from testkit.or_skip import or_skip

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OLDER = "2.8"


@pytest.mark.parametrize("release", RELEASES)
def test_table_matches_kafkas_classes(release: str) -> None:
    row = or_skip(lambda: asked(release))
    known = releases()[release.rpartition(".")[0]]

    assert {key: tuple(versions) for key, versions in row["apis"].items()} == known.apis
    assert {name: tuple(levels) for name, levels in row["features"].items()} == known.features


@pytest.mark.parametrize("release", ["3.9.1", "4.3.1", "4.4.0"])
def test_table_matches_a_broker(release: str) -> None:
    target = or_skip(lambda: kafka_target(release))
    try:
        with FrameClient(target.plain) as client:
            request = ApiVersionsRequest(client_software_name="a", client_software_version="1")
            answer = client.ask(request, ApiVersionsResponse, 3)
    finally:
        target.close()

    known = releases()[release.rpartition(".")[0]]
    listed = {str(row.api_key): (row.min_version, row.max_version) for row in answer.api_keys}
    levels = {row.name: row.max_version_level for row in answer.finalized_features}
    assert listed == known.apis
    assert not listed.keys() & set(TELEMETRY)
    for name, (_, high) in known.features.items():
        assert levels[name] == high


@pytest.mark.parametrize("kafka", ["2.1", "2.8", "3.9"])
@pytest.mark.parametrize("release", ["2.8.2", "4.4.0"])
def test_java_clients_of_an_older_release(kafka: str, release: str) -> None:
    jars = or_skip(lambda: client_jars(release))
    with DoorkeeperServer(kafka=kafka, records=True) as server:
        printed = client_calls(jars, server.bootstrap_servers, "a")

    assert printed == {
        "nodes": "1",
        "topic": "true",
        "deleted": "1",
        "left": "0",
        "topics": "true",
        "plain": "written",
        "idempotent": "written",
    }


NEWER = "librdkafka newer consumer"
"""It needs a protocol that came with 3.7."""


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    """Give a test broker with the versions of 2.8, and all that the applications need."""
    running = doorkeeper_target(doorkeeper_test_broker="true", doorkeeper_test_api_versions=OLDER)
    bindings = {need for application in APPLICATION.values() for need in application.needs}
    asyncio.run(set_acls(running.plain, sorted(bindings)))
    yield running
    running.close()


@pytest.mark.parametrize("name", [each for each in APPLICATION if each != NEWER])
def test_applications_of_an_older_release(name: str, target: Target, tmp_path: Path) -> None:
    """Producers with transactions, consumers in groups, and Kafka's console tools."""
    outcome = run(APPLICATION[name], target.sasl, target.plain, tmp_path)

    assert outcome.done, outcome.text


def test_newer_consumer_is_unsupported(target: Target, tmp_path: Path) -> None:
    outcome = run(APPLICATION[NEWER], target.sasl, target.plain, tmp_path)

    assert not outcome.done
    assert "no record" in outcome.text, outcome.text
