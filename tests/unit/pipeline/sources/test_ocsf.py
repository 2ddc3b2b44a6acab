"""Redpanda's audit log. The events are ours, in the form of the public documentation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doorkeeper_pipeline.sources import ocsf


def event(**changed: object) -> dict[str, Any]:
    """Return an event of the class API Activity."""
    return {
        "class_uid": 6003,
        "count": 2,
        "start_time": 1700533480724,
        "end_time": 1700533480725,
        "time": 1700533480724,
        "actor": {
            "authorizations": [
                {
                    "decision": "authorized",
                    "policy": {"desc": "acl: {principal ...}", "name": "aclAuthorization"},
                }
            ],
            "user": {"name": "panda", "type_id": 1},
        },
        "api": {"operation": "metadata", "service": {"name": "kafka rpc protocol"}},
        "resources": [{"name": "test", "type": "topic"}, {"name": "other", "type": "topic"}],
        "src_endpoint": {"ip": "127.0.0.1"},
        "unmapped": {
            "authorization_metadata": {
                "acl_authorization": {
                    "host": "{{any_host}}",
                    "op": "all",
                    "permission_type": "allow",
                    "principal": "{type user name panda}",
                },
                "resource": {"name": "*", "pattern": "literal", "type": "topic"},
            }
        },
        **changed,
    }


def line(**changed: object) -> Any:
    """Return what an event says."""
    return ocsf.line(json.dumps(event(**changed)).encode()).decided


def test_each_resource_is_a_decision() -> None:
    """An event about two topics is two rows, with what Kafka asks of a topic for that request."""
    first, second = line()

    assert (first.resource_name, second.resource_name) == ("test", "other")
    assert (first.principal, first.operation, first.api) == ("User:panda", "DESCRIBE", "Metadata")
    assert (first.count, first.first_us, first.last_us) == (2, 1700533480724000, 1700533480725000)
    assert first.rule_binding == (
        "resourceType=TOPIC, resourceName=*, patternType=LITERAL, principal=User:panda, host=*,"
        " operation=ALL, permissionType=ALLOW"
    )


def test_super_users_and_denials() -> None:
    def actor(decision: str, text: str) -> dict[str, Any]:
        policy = {"decision": decision, "policy": {"desc": text}}
        return {"user": {"name": "a"}, "authorizations": [policy]}

    assert line(actor=actor("authorized", "superuser"))[0].rule == "SuperUser"
    denied = line(actor=actor("denied", ""))[0]
    assert (denied.outcome, denied.rule) == ("DENIED", "DefaultDeny")


def test_request_content_is_not_a_resource() -> None:
    resources = [
        {"name": "create acl", "type": "acl_binding", "data": {}},
        {"name": "kafka-cluster", "type": "cluster"},
    ]
    api = {"operation": "create_acls", "service": {"name": "kafka rpc protocol"}}

    (found,) = line(resources=resources, api=api)

    assert (found.resource_type, found.operation, found.api) == ("CLUSTER", "ALTER", "CreateAcls")


@pytest.mark.parametrize(
    "changed",
    [
        {"class_uid": 3002},
        {"api": {"operation": "GET", "service": {"name": "Redpanda Admin HTTP Server"}}},
    ],
)
def test_other_events_are_skipped(changed: dict[str, object]) -> None:
    assert line(**changed) == ()


@pytest.mark.parametrize(
    "changed",
    [
        {"api": {"operation": "frobnicate", "service": {"name": "kafka rpc protocol"}}},
        {"actor": {"user": {"name": "a"}, "authorizations": []}},
        {"actor": {"user": {"name": "a"}, "authorizations": [{"decision": "maybe"}]}},
        {"resources": [{"name": "t", "type": "gadget"}]},
        {"time": "yesterday"},
    ],
)
def test_invalid_events_are_quarantined(changed: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        line(**changed)
