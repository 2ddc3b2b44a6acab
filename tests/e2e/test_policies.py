"""The example of policies in a real process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper_wire.messages.create_topics import CreatableTopic, CreatableTopicConfig
from testkit.checkout import ROOT
from testkit.e2e import serving
from testkit.frame_steps import change_configs, make_topics, new_topic

if TYPE_CHECKING:
    from pathlib import Path

KEYS = (
    "create.topic.policy.class.name=conventions.TopicConventions",
    "alter.config.policy.class.name=conventions.RetentionLimit",
    "conventions.topics=orders-[a-z]+",
)


def retained(name: str, retention_ms: str) -> CreatableTopic:
    return new_topic(name, configs=(CreatableTopicConfig(name="retention.ms", value=retention_ms),))


def test_example_policy_enforces_conventions(tmp_path: Path) -> None:
    """Names, partitions and retention: 44 with the policy's text, and everything else is made."""
    made = make_topics(
        retained("orders-eu", "1000"),
        new_topic("secrets"),
        new_topic("orders-us", num_partitions=13),
        retained("orders-asia", "-1"),
        version=7,
    )
    altered = change_configs(1, (2, "orders-eu", (("retention.ms", 0, "604800001"),)))
    server = serving(tmp_path, *KEYS, python_path=ROOT / "examples" / "policies")
    with server, server.connect() as conversation:
        created, changed = (
            conversation.call(step.request, step.response, step.version) for step in (made, altered)
        )
    assert [(each.error_code, each.error_message) for each in created.topics] == [
        (0, None),
        (44, "Topics are named orders-[a-z]+, not secrets."),
        (44, "13 partitions are too many: at most 12."),
        (44, "retention.ms=-1: allowed are 0 to 604800000."),
    ]
    assert [(each.error_code, each.error_message) for each in changed.responses] == [
        (44, "retention.ms=604800001: allowed are 0 to 604800000.")
    ]
