"""Policies that say what they were given: those of ``RefusingPolicies.java``, in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doorkeeper.plugins import (
    AlterConfigPolicy,
    ApiError,
    ConfigAlteration,
    CreateTopicPolicy,
    ErrorCode,
    PolicyViolation,
    TopicCreation,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


class Topics(CreateTopicPolicy):
    """A name that begins with "refused" is refused, with the request in the text."""

    def validate(self, request: TopicCreation) -> None:
        if request.topic.startswith("silent"):
            raise PolicyViolation
        if request.topic.startswith("broken"):
            raise LookupError("broken")
        if request.topic.startswith("refused"):
            counts = f"{_java(request.num_partitions)} {_java(request.replication_factor)}"
            chosen = request.replicas_assignments
            assignments = "null" if chosen is None else _map(chosen)
            raise PolicyViolation(f"{counts} {assignments} {_map(request.configs)}")


class Configs(AlterConfigPolicy):
    """Some values are refused, with the request in the text."""

    def validate(self, request: ConfigAlteration) -> None:
        values = request.configs.values()
        if "5001" in values:
            kind, name = request.resource_type.name, request.resource_name
            raise PolicyViolation(f"{kind} {name} {_map(request.configs)}")
        if "5002" in values:
            raise LookupError("broken")
        if "5003" in values:
            raise ApiError(ErrorCode.INVALID_CONFIG, "not this one")
        if "5004" in values:
            raise PolicyViolation


def _java(value: object) -> str:
    return "null" if value is None else str(value)


def _map(values: Mapping[Any, object]) -> str:
    pairs = sorted((str(name), _java(value)) for name, value in values.items())
    return "{" + ", ".join(f"{name}={value}" for name, value in pairs) + "}"
