"""Confluent's audit log. The events are ours, in the form of the public documentation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doorkeeper_pipeline.sources import cloudevents


def event(info: dict[str, Any] | None = None, **changed: object) -> dict[str, Any]:
    """Return an event of an authorization."""
    return {
        "id": "00000000-0000-0000-0000-000000000001",
        "source": "crn://confluent.cloud/kafka=lkc-a1b2c",
        "specversion": "1.0",
        "type": "io.confluent.kafka.server/authorization",
        "time": "2021-01-01T12:34:56.789Z",
        "data": {
            "serviceName": "crn://confluent.cloud/kafka=lkc-a1b2c",
            "methodName": "kafka.CreateTopics",
            "authenticationInfo": {"principal": "User:123456"},
            "authorizationInfo": {
                "granted": False,
                "operation": "Create",
                "resourceType": "Topic",
                "resourceName": "departures",
                "patternType": "LITERAL",
                **(info or {}),
            },
            "clientAddress": [{"ip": "192.0.2.7"}],
        },
        **changed,
    }


def line(info: dict[str, Any] | None = None, **changed: object) -> Any:
    """Return what an event says."""
    return cloudevents.line(json.dumps(event(info, **changed)).encode()).decided


def test_decision_event() -> None:
    (found,) = line()

    assert found[:9] == (
        "User:123456",
        "192.0.2.7",
        "CREATE",
        "TOPIC",
        "departures",
        "DENIED",
        "CreateTopics",
        "DefaultDeny",
        "",
    )
    assert found.first_us == 1609504496789000


@pytest.mark.parametrize(
    ("info", "rule"),
    [
        ({"superUserAuthorization": True}, "SuperUser"),
        ({"aclAuthorization": {"permissionType": "ALLOW", "host": "*"}}, "MatchingAcl"),
        ({"rbacAuthorization": {"role": "DeveloperRead"}}, "Role DeveloperRead"),
        ({}, ""),
    ],
)
def test_granting_rule(info: dict[str, Any], rule: str) -> None:
    assert line({"granted": True, **info})[0].rule == rule


def test_address_in_confluent_platform() -> None:
    changed = event()["data"]
    del changed["clientAddress"]
    changed["requestMetadata"] = {"client_address": "/10.1.2.3"}

    assert line(data=changed)[0].host == "10.1.2.3"


@pytest.mark.parametrize(
    "changed",
    [
        {"type": "io.confluent.kafka.server/authentication"},
        {"data": {"methodName": "mds.Authorize"}},
    ],
)
def test_other_events_are_skipped(changed: dict[str, Any]) -> None:
    assert line(**changed) == ()


@pytest.mark.parametrize(
    "changed",
    [{"time": "2021-01-01T12:34:56"}, {"time": None}, {"data": {"methodName": "kafka.Fetch"}}],
)
def test_invalid_events_are_quarantined(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        line(**changed)


@pytest.mark.parametrize(
    ("source", "service", "cluster"),
    [
        ("crn://confluent.cloud/kafka=lkc-a1b2c", "", "lkc-a1b2c"),
        ("crn://mds/kafka=one/topic=x", "crn://mds/kafka=two", "two"),
        ("elsewhere", "", ""),
    ],
)
def test_cluster_of_an_event(source: str, service: str, cluster: str) -> None:
    changed = event(source=source)
    changed["data"]["serviceName"] = service

    found = cloudevents.line(json.dumps(changed).encode())

    assert [each.cluster for each in found.decided] == [cluster]
