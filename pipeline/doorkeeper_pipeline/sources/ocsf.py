"""Redpanda's audit log: OCSF 1.0, class 6003 (API Activity), one event a line.

The event names the request, not the operation that was asked of each resource, so the operation is
the one that Kafka checks for that request and type of resource. Events of other classes and of the
HTTP servers are no decisions of ACLs.

Source: docs.redpanda.com, "Sample Audit Log Messages"; schema.ocsf.io.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from doorkeeper.acls.formats import request_words
from doorkeeper_pipeline.bindings import TEXT
from doorkeeper_pipeline.sources import json_lines
from doorkeeper_pipeline.sources.json_lines import Decided, Line

SOURCE = "ocsf"
API_ACTIVITY = 6003
SERVICE = "kafka rpc protocol"
US_IN_MS = 1000

_TOPIC, _GROUP, _CLUSTER, _TXN = "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID"
_TOKEN, _USER = "DELEGATION_TOKEN", "USER"
OPERATIONS: dict[str, dict[str, str]] = {
    "produce": {_TOPIC: "WRITE", _TXN: "WRITE", _CLUSTER: "IDEMPOTENT_WRITE"},
    "fetch": {_TOPIC: "READ", _CLUSTER: "CLUSTER_ACTION"},
    "list_offsets": {_TOPIC: "DESCRIBE"},
    "metadata": {_TOPIC: "DESCRIBE", _CLUSTER: "CREATE"},
    "offset_commit": {_GROUP: "READ", _TOPIC: "READ"},
    "offset_fetch": {_GROUP: "DESCRIBE", _TOPIC: "DESCRIBE"},
    "find_coordinator": {_GROUP: "DESCRIBE", _TXN: "DESCRIBE"},
    "join_group": {_GROUP: "READ"},
    "sync_group": {_GROUP: "READ"},
    "heartbeat": {_GROUP: "READ"},
    "leave_group": {_GROUP: "READ"},
    "describe_groups": {_GROUP: "DESCRIBE"},
    "list_groups": {_CLUSTER: "DESCRIBE", _GROUP: "DESCRIBE"},
    "delete_groups": {_GROUP: "DELETE"},
    "offset_delete": {_GROUP: "DELETE", _TOPIC: "READ"},
    "create_topics": {_TOPIC: "CREATE", _CLUSTER: "CREATE"},
    "delete_topics": {_TOPIC: "DELETE"},
    "delete_records": {_TOPIC: "DELETE"},
    "create_partitions": {_TOPIC: "ALTER"},
    "describe_configs": {_TOPIC: "DESCRIBE_CONFIGS", _CLUSTER: "DESCRIBE_CONFIGS"},
    "alter_configs": {_TOPIC: "ALTER_CONFIGS", _CLUSTER: "ALTER_CONFIGS"},
    "incremental_alter_configs": {_TOPIC: "ALTER_CONFIGS", _CLUSTER: "ALTER_CONFIGS"},
    "create_acls": {_CLUSTER: "ALTER"},
    "delete_acls": {_CLUSTER: "ALTER"},
    "describe_acls": {_CLUSTER: "DESCRIBE"},
    "describe_log_dirs": {_CLUSTER: "DESCRIBE"},
    "describe_producers": {_TOPIC: "READ"},
    "describe_client_quotas": {_CLUSTER: "DESCRIBE_CONFIGS"},
    "alter_client_quotas": {_CLUSTER: "ALTER_CONFIGS"},
    "init_producer_id": {_TXN: "WRITE", _CLUSTER: "IDEMPOTENT_WRITE"},
    "add_partitions_to_txn": {_TXN: "WRITE", _TOPIC: "WRITE"},
    "add_offsets_to_txn": {_TXN: "WRITE", _GROUP: "READ"},
    "txn_offset_commit": {_TXN: "WRITE", _GROUP: "READ", _TOPIC: "READ"},
    "end_txn": {_TXN: "WRITE"},
    "describe_transactions": {_TXN: "DESCRIBE", _TOPIC: "DESCRIBE"},
    "list_transactions": {_TXN: "DESCRIBE"},
    "list_partition_reassignments": {_CLUSTER: "DESCRIBE"},
    "alter_partition_reassignments": {_CLUSTER: "ALTER"},
    "describe_user_scram_credentials": {_CLUSTER: "DESCRIBE"},
    "alter_user_scram_credentials": {_CLUSTER: "ALTER"},
    "offset_for_leader_epoch": {_TOPIC: "DESCRIBE", _CLUSTER: "CLUSTER_ACTION"},
    "describe_cluster": {_CLUSTER: "DESCRIBE"},
    "describe_quorum": {_CLUSTER: "DESCRIBE"},
    "describe_topic_partitions": {_TOPIC: "DESCRIBE"},
    "elect_leaders": {_CLUSTER: "ALTER"},
    "alter_replica_log_dirs": {_CLUSTER: "ALTER"},
    "update_features": {_CLUSTER: "ALTER"},
    "unregister_broker": {_CLUSTER: "ALTER"},
    "write_txn_markers": {_CLUSTER: "CLUSTER_ACTION"},
    "list_config_resources": {_CLUSTER: "DESCRIBE_CONFIGS"},
    "describe_delegation_token": {_TOKEN: "DESCRIBE", _USER: "DESCRIBE_TOKENS"},
    "create_delegation_token": {_USER: "CREATE_TOKENS"},
    "consumer_group_heartbeat": {_GROUP: "READ", _TOPIC: "DESCRIBE"},
    "consumer_group_describe": {_GROUP: "DESCRIBE", _TOPIC: "DESCRIBE"},
    "share_group_heartbeat": {_GROUP: "READ", _TOPIC: "DESCRIBE"},
    "share_group_describe": {_GROUP: "DESCRIBE", _TOPIC: "DESCRIBE"},
    "share_fetch": {_GROUP: "READ", _TOPIC: "READ"},
    "share_acknowledge": {_GROUP: "READ", _TOPIC: "READ"},
}
"""The operation that Kafka checks, by Redpanda's name of the request and resource type."""

_NO_RESOURCE = {"acl_binding", "acl_binding_filter"}
"""Resources of an event that are the content of a request, and not checked."""

_PRINCIPAL = re.compile(r"\{+type \{?user\}? name \{?(.*?)\}*\Z", re.DOTALL)


class Named(msgspec.Struct, frozen=True):
    """A thing with a name, and perhaps a type."""

    name: str = ""
    type: str = ""
    pattern: str = ""


class Policy(msgspec.Struct, frozen=True):
    """The reason, in words."""

    desc: str = ""


class Authorization(msgspec.Struct, frozen=True):
    """A decision and its reason."""

    decision: str = ""
    policy: Policy = Policy()


class Actor(msgspec.Struct, frozen=True):
    """The principal, and the decision."""

    user: Named = Named()
    authorizations: list[Authorization] = []


class Api(msgspec.Struct, frozen=True):
    """The request."""

    operation: str = ""
    service: Named = Named()


class Endpoint(msgspec.Struct, frozen=True):
    """Where it came from."""

    ip: str = ""


class Event(msgspec.Struct, frozen=True):
    """The fields of an event that the tables need."""

    class_uid: int
    time: int = 0
    count: int = 1
    start_time: int | None = None
    end_time: int | None = None
    actor: Actor = Actor()
    api: Api = Api()
    resources: list[Named] = []
    src_endpoint: Endpoint = Endpoint()
    unmapped: dict[str, Any] = {}


_DECODER = msgspec.json.Decoder(Event)


def line(text: bytes) -> Line:
    """Return the decision of an event.

    Raises:
        ValueError: it is none, or of an unknown request.

    """
    event = _DECODER.decode(text)
    if event.class_uid != API_ACTIVITY or event.api.service.name != SERVICE:
        return Line()
    if not event.actor.authorizations:
        raise ValueError("actor.authorizations: found none; expected: one")
    authorization = event.actor.authorizations[0]
    outcome = {"authorized": "ALLOWED", "denied": "DENIED"}.get(authorization.decision)
    if outcome is None:
        raise ValueError(
            f"decision: found {authorization.decision!r}; expected: authorized or denied"
        )
    rule, binding = _rule(authorization.policy.desc, event.unmapped, outcome)
    request = event.api.operation.lower()
    rows = []
    for resource in event.resources:
        if resource.type in _NO_RESOURCE:
            continue
        resource_type = request_words.resource_type(resource.type)
        operation = OPERATIONS.get(request, {}).get(resource_type)
        if operation is None:
            known = [name for name, kinds in OPERATIONS.items() if resource_type in kinds]
            raise ValueError(
                f"request {request!r}: unknown for resource type {resource_type}; expected:"
                f" {', '.join(known) or 'another resource type'}"
            )
        decided = Decided(
            principal=f"User:{event.actor.user.name}" if event.actor.user.name else "",
            host=event.src_endpoint.ip,
            operation=operation,
            resource_type=resource_type,
            resource_name=resource.name,
            outcome=outcome,
            api="".join(word.capitalize() for word in request.split("_")),
            rule=rule,
            rule_binding=binding,
            probe=False,
            count=event.count,
            first_us=(event.start_time or event.time) * US_IN_MS,
            last_us=(event.end_time or event.start_time or event.time) * US_IN_MS,
        )
        rows.append(json_lines.check_row(decided))
    return Line(rows)


def _rule(description: str, unmapped: dict[str, Any], outcome: str) -> tuple[str, str]:
    if description == "superuser":
        return "SuperUser", ""
    if not description.startswith("acl:"):
        return ("DefaultDeny", "") if outcome == "DENIED" else ("", "")
    metadata = unmapped.get("authorization_metadata")
    if not isinstance(metadata, dict):
        return "MatchingAcl", ""
    acl, resource = metadata.get("acl_authorization"), metadata.get("resource")
    if not isinstance(acl, dict) or not isinstance(resource, dict):
        return "MatchingAcl", ""
    principal = _PRINCIPAL.match(str(acl.get("principal", "")))
    try:
        text = TEXT.format(
            request_words.resource_type(str(resource["type"])),
            resource["name"],
            str(resource["pattern"]).upper(),
            f"User:{principal[1] if principal else ''}",
            "*" if "any_host" in str(acl["host"]) else acl["host"],
            str(acl["op"]).upper(),
            str(acl["permission_type"]).upper(),
        )
    except (KeyError, ValueError):
        return "MatchingAcl", ""
    return "MatchingAcl", text
