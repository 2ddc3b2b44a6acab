"""A server follows the release of its store: over the wire, and at the start."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.frame_steps import Step
from testkit.kafka_target import doorkeeper_target
from testkit.side_by_side import Side

VERSIONS = ApiVersionsRequest(client_software_name="a", client_software_version="1")


def level_of(side: Side) -> int:
    """Return the finalized level of metadata.version."""
    answer = side.ask(Step(None, VERSIONS, ApiVersionsResponse, 4))
    levels: list[int] = [
        feature["max_version_level"]
        for feature in answer["finalized_features"]
        if feature["name"] == "metadata.version"
    ]
    [level] = levels
    return level


def test_release_is_changed_only_by_the_command() -> None:
    target = doorkeeper_target(doorkeeper_kafka_release="4.3")
    server = target.server
    assert isinstance(server, DoorkeeperServer)
    config = server.folder / "server.properties"
    try:
        server.stop()
        text = config.read_text(encoding="utf-8")
        config.write_text(text.replace("kafka.release=4.3", "kafka.release=4.4"), encoding="utf-8")
        with pytest.raises(RuntimeError, match=r"found 4\.4, but the store follows Kafka 4\.3"):
            server.start()
        command = ["store", "release", f"config:{config}", "4.4", "--yes"]
        assert CliRunner().invoke(doorkeeper, command).exit_code == 0
        server.start()
        side = Side(target)
        level = level_of(side)
        side.close()
    finally:
        target.close()

    assert level == 33
