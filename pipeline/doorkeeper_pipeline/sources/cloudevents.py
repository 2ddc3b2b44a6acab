"""Confluent's audit log: CloudEvents 1.0, type io.confluent.kafka.server/authorization.

One event a line, as a consumer of the topic confluent-audit-log-events writes them. Events of
other types, and methods that are none of Kafka's, are no decisions of ACLs.

Source: docs.confluent.io, "Audit Log Event Records".
"""

from __future__ import annotations

import datetime as dt
import re

import msgspec

from doorkeeper.acls.formats import request_words
from doorkeeper.acls.formats.names import mismatch
from doorkeeper_pipeline.sources import json_lines
from doorkeeper_pipeline.sources.json_lines import EPOCH, Decided, Line

SOURCE = "cloudevents"
TYPE = "io.confluent.kafka.server/authorization"
METHODS = "kafka."
_CLUSTER = re.compile(r"/kafka=([^/]+)")


class Address(msgspec.Struct, frozen=True):
    """An address of a client."""

    ip: str = ""


class RequestMetadata(msgspec.Struct, frozen=True):
    """The request in an event of Confluent Platform."""

    client_address: str = ""


class Authentication(msgspec.Struct, frozen=True):
    """The principal."""

    principal: str = ""


class Role(msgspec.Struct, frozen=True):
    """The role that decided."""

    role: str = ""


class Authorization(msgspec.Struct, frozen=True, rename="camel"):
    """The decision and its resource."""

    granted: bool
    operation: str
    resource_type: str
    resource_name: str
    super_user_authorization: bool = False
    acl_authorization: dict[str, object] | None = None
    rbac_authorization: Role | None = None


class Data(msgspec.Struct, frozen=True, rename="camel"):
    """The content of an event."""

    service_name: str = ""
    method_name: str = ""
    authentication_info: Authentication = Authentication()
    authorization_info: Authorization | None = None
    request_metadata: RequestMetadata = RequestMetadata()
    client_address: list[Address] = []


class Event(msgspec.Struct, frozen=True):
    """The fields of an event that the tables need."""

    specversion: str
    id: str = ""
    source: str = ""
    type: str = ""
    time: dt.datetime | None = None
    data: Data = Data()


_DECODER = msgspec.json.Decoder(Event)


def line(text: bytes) -> Line:
    """Return the decision of an event.

    Raises:
        ValueError: it is none.

    """
    event = _DECODER.decode(text)
    data = event.data
    if event.type != TYPE or not data.method_name.startswith(METHODS):
        return Line()
    if event.time is None or event.time.tzinfo is None:
        raise ValueError(mismatch(event.time and str(event.time), "a time with a zone", "time"))
    asked = data.authorization_info
    if asked is None:
        raise ValueError("data.authorizationInfo: found nothing; expected: a decision")
    time = (event.time - EPOCH) // dt.timedelta(microseconds=1)
    decided = Decided(
        principal=data.authentication_info.principal,
        host=_host(data),
        operation=request_words.operation(asked.operation),
        resource_type=request_words.resource_type(asked.resource_type),
        resource_name=asked.resource_name,
        outcome="ALLOWED" if asked.granted else "DENIED",
        api=data.method_name.removeprefix(METHODS),
        rule=_rule(asked),
        rule_binding="",
        probe=False,
        count=1,
        first_us=time,
        last_us=time,
        cluster=_cluster(event),
    )
    # Source and id name an event: one that is delivered again is the same.
    identity = f"{event.source}#{event.id}" if event.id else ""
    return Line([json_lines.check_row(decided)], identity)


def _cluster(event: Event) -> str:
    """Return the id in the event's resource name, such as crn://confluent.cloud/kafka=lkc-a1b2c."""
    match = _CLUSTER.search(event.data.service_name) or _CLUSTER.search(event.source)
    return match[1] if match else ""


def _host(data: Data) -> str:
    if data.client_address:
        return data.client_address[0].ip
    return data.request_metadata.client_address.removeprefix("/")


def _rule(asked: Authorization) -> str:
    if asked.super_user_authorization:
        return "SuperUser"
    if asked.rbac_authorization is not None:
        return f"Role {asked.rbac_authorization.role}"
    if asked.acl_authorization is not None:
        return "MatchingAcl"
    return "" if asked.granted else "DefaultDeny"
