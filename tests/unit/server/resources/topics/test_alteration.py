"""What the settings of a topic may become: a controller's codes and texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.base.errors import ApiError
from doorkeeper.server.resources.policies.contract import ConfigResourceType
from doorkeeper.server.resources.policies.guard import Policies
from doorkeeper.server.resources.settings.operations import Alteration, AlteredResource
from doorkeeper.server.resources.topics.plans import plan_alteration
from doorkeeper.server.resources.topics.table import Topics
from doorkeeper.server.schema.declared import TOPIC as KIND
from testkit.nodes import a_topic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.server.schema.declared import StoredTopic

SET, DELETE, APPEND, SUBTRACT = range(4)
TOPIC = a_topic("orders", configs={"retention.ms": "5"})


def asked(
    name: str, alteration: tuple[str, int, str | None], *, replaces: bool = False
) -> AlteredResource:
    kind = ConfigResourceType.TOPIC
    return AlteredResource(kind, name, (Alteration(*alteration),), replaces=replaces)


def altered(resource: AlteredResource, *topics: StoredTopic) -> Mapping[str, str]:
    """Return the settings of the one topic afterwards."""
    change = plan_alteration(Topics.of(topics), resource, Policies())
    (topic,) = change[KIND].set if change else topics
    configs: Mapping[str, str] = topic.configs
    return configs


def test_omitted_configs_are_removed() -> None:
    wanted = asked("orders", ("segment.ms", SET, "9"), replaces=True)

    assert altered(wanted, TOPIC) == {"segment.ms": "9"}


@pytest.mark.parametrize(
    ("alteration", "configs"),
    [
        (("segment.ms", SET, "9"), {"retention.ms": "5", "segment.ms": "9"}),
        (("retention.ms", DELETE, None), {}),
        (("nope", DELETE, None), {"retention.ms": "5"}),
        (("cleanup.policy", APPEND, "compact"),
         {"retention.ms": "5", "cleanup.policy": "delete,compact"}),
        (("cleanup.policy", APPEND, "delete,"), {"retention.ms": "5", "cleanup.policy": "delete"}),
        (("cleanup.policy", SUBTRACT, "delete"), {"retention.ms": "5", "cleanup.policy": ""}),
        (("cleanup.policy", SUBTRACT, "x"), {"retention.ms": "5", "cleanup.policy": "delete"}),
    ],
)  # fmt: skip
def test_valid_alterations(
    alteration: tuple[str, int, str | None], configs: dict[str, str]
) -> None:
    assert altered(asked("orders", alteration), TOPIC) == configs
    assert TOPIC.configs == {"retention.ms": "5"}


@pytest.mark.parametrize(
    ("name", "alteration", "code", "text"),
    [
        ("orders", ("nope", SET, "1"), 40, "Unknown topic config name: nope"),
        ("orders", ("retention.ms", SET, "x"), 40,
         "Invalid value x for configuration retention.ms: Not a number of type LONG"),
        ("orders", ("retention.ms", APPEND, "5"), 40,
         "Can't APPEND to key retention.ms because its type is not LIST."),
        ("orders", ("retention.ms", 9, "5"), -1, None),
        ("", ("retention.ms", SET, "5"), 42, "Default topic resources are not allowed."),
        ("", ("retention.ms", 7, "5"), -1, None),
        ("", ("retention.ms", APPEND, "5"), 40,
         "Can't APPEND to key retention.ms because its type is not LIST."),
        ("absent", ("nope", SET, "5"), 40, "Unknown topic config name: nope"),
        ("absent", ("retention.ms", SET, "5"), 3, "The topic 'absent' does not exist."),
        ("..", ("retention.ms", SET, "5"), 17, "Topic name is invalid: '..' is not allowed"),
    ],
)  # fmt: skip
def test_invalid_alterations(
    name: str, alteration: tuple[str, int, str], code: int, text: str | None
) -> None:
    with pytest.raises(ApiError) as refused:
        altered(asked(name, alteration), TOPIC)

    assert (int(refused.value.code), refused.value.message) == (code, text)
