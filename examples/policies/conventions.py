"""Policies of a company: names of topics, numbers of partitions, how long records are kept.

    create.topic.policy.class.name=conventions.TopicConventions
    alter.config.policy.class.name=conventions.RetentionLimit
    conventions.topics=(orders|payments)-[a-z]+
    conventions.partitions.max=12
    conventions.retention.max.ms=604800000

Python finds the module where PYTHONPATH says.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from doorkeeper.plugins import (
    AlterConfigPolicy,
    ConfigAlteration,
    ConfigResourceType,
    CreateTopicPolicy,
    PolicyViolation,
    TopicCreation,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


class TopicConventions(CreateTopicPolicy):
    """Names match a regular expression, and topics have few partitions."""

    def configure(self, configs: Mapping[str, str]) -> None:
        try:
            self._names = re.compile(configs.get("conventions.topics", ".*"))
        except re.error as error:
            raise ValueError(f"conventions.topics: no regular expression: {error}") from None
        self._partitions_max = _number(configs, "conventions.partitions.max", 12)

    def validate(self, request: TopicCreation) -> None:
        if self._names.fullmatch(request.topic) is None:
            raise PolicyViolation(f"Topics are named {self._names.pattern}, not {request.topic}.")
        # With chosen brokers there is no number of partitions.
        partitions = request.num_partitions or len(request.replicas_assignments or ())
        if partitions > self._partitions_max:
            raise PolicyViolation(
                f"{partitions} partitions are too many: at most {self._partitions_max}."
            )


class RetentionLimit(AlterConfigPolicy):
    """Topics do not keep records for longer than a limit."""

    def configure(self, configs: Mapping[str, str]) -> None:
        self._max_ms = _number(configs, "conventions.retention.max.ms", 604_800_000)

    def validate(self, request: ConfigAlteration) -> None:
        value = request.configs.get("retention.ms")
        if request.resource_type is not ConfigResourceType.TOPIC or value is None:
            return
        if not 0 <= int(value) <= self._max_ms:
            raise PolicyViolation(f"retention.ms={value}: allowed are 0 to {self._max_ms}.")


def _number(configs: Mapping[str, str], key: str, default: int) -> int:
    text = configs.get(key, str(default))
    if not text.isdigit():
        raise ValueError(f"{key}: found {text!r}; allowed: a number")
    return int(text)
