"""What the server makes of a policy's answers, its faults and its time."""

from __future__ import annotations

import logging

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.plugins import (
    AlterConfigPolicy,
    ConfigAlteration,
    ConfigResourceType,
    CreateTopicPolicy,
    PolicyViolation,
    TopicCreation,
)
from doorkeeper.server.config.plug_ins import WARN_EVERY_S
from doorkeeper.server.resources.policies.guard import Policies
from testkit.policies import Configs, Topics

CHANGE = ConfigAlteration(ConfigResourceType.TOPIC, "a", {"retention.ms": "5"})


def creation(name: str) -> TopicCreation:
    return TopicCreation(name, 3, 1, None, {})


def changed_to(value: str) -> ConfigAlteration:
    return CHANGE._replace(configs={"retention.ms": value})


def test_rejection_has_code_and_text() -> None:
    """44, or that of an ApiError; without a text the client has one."""
    policies = Policies(Topics(), Configs())

    policies.check_creation(creation("good"))
    policies.check_alteration(CHANGE)
    found = []
    for name in ("refused", "silent"):
        with pytest.raises(ApiError) as caught:
            policies.check_creation(creation(name))
        found.append((caught.value.code, caught.value.message))
    with pytest.raises(ApiError) as caught:
        policies.check_alteration(changed_to("5003"))
    found.append((caught.value.code, caught.value.message))

    assert found == [
        (ErrorCode.POLICY_VIOLATION, "3 1 null {}"),
        (ErrorCode.POLICY_VIOLATION, None),
        (ErrorCode.INVALID_CONFIG, "not this one"),
    ]


def test_policy_fault_rejects_without_text(caplog: pytest.LogCaptureFixture) -> None:
    policies = Policies(Topics(), Configs())

    with pytest.raises(ApiError) as of_topic:
        policies.check_creation(creation("broken"))
    with pytest.raises(ApiError) as of_config:
        policies.check_alteration(changed_to("5002"))

    for caught in (of_topic, of_config):
        assert (caught.value.code, caught.value.message) == (ErrorCode.UNKNOWN_SERVER_ERROR, None)

    assert [record.getMessage() for record in caplog.records] == [
        "the policy failed: testkit.policies.Topics",
        "the policy failed: testkit.policies.Configs",
    ]


class Slow(CreateTopicPolicy):
    """Lets the clock of the test run; refuses in the end."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.takes_s = 0.2

    def validate(self, request: TopicCreation) -> None:
        self.now_s += self.takes_s
        raise PolicyViolation(request.topic)


def test_slow_calls_are_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    """Above the limit, whatever the answer."""
    slow = Slow()
    policies = Policies(slow, slow_ms=100, clock=lambda: slow.now_s)

    def lines_after_a_call(takes_s: float) -> int:
        slow.takes_s = takes_s
        with pytest.raises(PolicyViolation):
            policies.check_creation(creation("a"))
        return len(caplog.records)

    assert [lines_after_a_call(0.2), lines_after_a_call(0.2)] == [1, 1]
    slow.now_s += WARN_EVERY_S
    assert [lines_after_a_call(0.05), lines_after_a_call(0.2)] == [1, 2]
    assert caplog.records[0].levelno == logging.WARNING
    assert "Slow blocked the event loop for 200 ms" in caplog.records[0].getMessage()


class Closing(AlterConfigPolicy):
    """Counts how often it is closed, and fails in it."""

    closed = 0

    def validate(self, request: ConfigAlteration) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self.closed += 1
        raise LookupError("still here")


def test_policies_are_closed(caplog: pytest.LogCaptureFixture) -> None:
    """A fault is logged; the server goes on stopping."""
    closing = Closing()

    Policies(Topics(), closing).close()

    assert closing.closed == 1
    assert [record.getMessage() for record in caplog.records] == [
        f"the policy did not close: {__name__}.Closing"
    ]
