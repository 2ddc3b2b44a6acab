"""Confluent's audit log. The events are ours, in the form of the public documentation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doorkeeper_pipeline.sources import cloudevents
from doorkeeper_pipeline.sources.json_lines import Once


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
    found = cloudevents.line(json.dumps(event(info, **changed)).encode())
    return found.decided if isinstance(found, Once) else found


def test_a_decision() -> None:
    """An event says who asked for what, from where, and when."""
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
def test_what_granted_it(info: dict[str, Any], rule: str) -> None:
    """The event names the kind of rule."""
    assert line({"granted": True, **info})[0].rule == rule


def test_the_address_of_confluent_platform() -> None:
    """Confluent Platform writes the address elsewhere, with a slash."""
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
def test_what_is_no_decision_of_acls(changed: dict[str, Any]) -> None:
    """Logins and methods of other services are left out."""
    assert line(**changed) is None


@pytest.mark.parametrize(
    "changed",
    [{"time": "2021-01-01T12:34:56"}, {"time": None}, {"data": {"methodName": "kafka.Fetch"}}],
)
def test_what_cannot_be_read(changed: dict[str, Any]) -> None:
    """A time without a zone, and an event without a decision, are errors, for quarantine."""
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
def test_the_cluster_of_an_event(source: str, service: str, cluster: str) -> None:
    """It is the id in the name of the service, or else of the sender."""
    changed = event(source=source)
    changed["data"]["serviceName"] = service

    found = cloudevents.line(json.dumps(changed).encode())

    assert isinstance(found, Once)
    assert [each.cluster for each in found.decided] == [cluster]
