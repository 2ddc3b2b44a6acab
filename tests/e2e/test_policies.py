"""Policies in a real process: the example, and what the check and the start say of others."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper_wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from doorkeeper_wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from testkit.checkout import ROOT
from testkit.serving import Serving

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = {"PYTHONPATH": str(ROOT / "examples" / "policies")}
KEYS = (
    "create.topic.policy.class.name=conventions.TopicConventions",
    "alter.config.policy.class.name=conventions.RetentionLimit",
    "conventions.topics=orders-[a-z]+",
)


def overrides(*settings: str) -> list[str]:
    return [word for setting in settings for word in ("--override", setting)]


def topic(name: str, partitions: int, retention: str | None = None) -> CreatableTopic:
    configs = (
        () if retention is None else (CreatableTopicConfig(name="retention.ms", value=retention),)
    )
    return CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=1, configs=configs
    )


def test_the_example_keeps_to_its_conventions(tmp_path: Path) -> None:
    """Names, partitions and retention: 44 with the policy's text, and everything else is made."""
    settings = ("listeners=PLAINTEXT://localhost:0", *KEYS)
    started = Serving(tmp_path, *overrides(*settings), environment=EXAMPLES)
    with started as server, server.connect() as talk:
        request = CreateTopicsRequest(
            topics=(
                topic("orders-eu", 3, "1000"),
                topic("secrets", 1),
                topic("orders-us", 13),
                topic("orders-asia", 1, "-1"),
            ),
            timeout_ms=9000,
        )
        made: Any = talk.call(request, CreateTopicsResponse, 7)
        change = AlterableConfig(name="retention.ms", config_operation=0, value="604800001")
        resource = AlterConfigsResource(
            resource_type=2, resource_name="orders-eu", configs=(change,)
        )
        asked = IncrementalAlterConfigsRequest(resources=(resource,))
        altered: Any = talk.call(asked, IncrementalAlterConfigsResponse, 1)

    assert [(each.error_code, each.error_message) for each in made.topics] == [
        (0, None),
        (44, "Topics are named orders-[a-z]+, not secrets."),
        (44, "13 partitions are too many: at most 12."),
        (44, "retention.ms=-1: allowed are 0 to 604800000."),
    ]
    assert [(each.error_code, each.error_message) for each in altered.responses] == [
        (44, "retention.ms=604800001: allowed are 0 to 604800000.")
    ]


@pytest.mark.parametrize("command", [("config", "check"), ("serve", "--config")])
def test_policies_that_cannot_be_used_are_told(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Both, by the check and at the start."""
    file = tmp_path / "server.properties"
    settings = (
        "create.topic.policy.class.name=com.example.Policy",
        "alter.config.policy.class.name=conventions.RetentionLimit",
        "conventions.retention.max.ms=a week",
        "listeners=PLAINTEXT://localhost:0",
    )
    file.write_text("\n".join(settings))
    done = subprocess.run(
        [sys.executable, "-m", "doorkeeper", *command, str(file)],
        cwd=tmp_path,
        env=EXAMPLES,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1, done
    told = done.stdout + done.stderr
    assert "create.topic.policy.class.name=com.example.Policy: found the name of a Java" in told
    assert "conventions.retention.max.ms: found 'a week'; allowed: a number" in told
