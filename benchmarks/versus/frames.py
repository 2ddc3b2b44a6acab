"""Requests as they go over the wire, encoded by our codec, and readers of the answers to them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from doorkeeper.acls.model import (
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.client import bindings
from doorkeeper_wire.framing import RequestHeader, encode_request, response_header_version
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest
from doorkeeper_wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from doorkeeper_wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest
from doorkeeper_wire.messages.describe_groups import DescribeGroupsRequest
from doorkeeper_wire.messages.find_coordinator import FindCoordinatorRequest
from doorkeeper_wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateRequest
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

VERSIONS = {3: 12, 10: 4, 15: 5, 17: 1, 18: 3, 19: 7, 29: 3, 30: 3, 31: 3, 36: 2, 51: 0}
"""Of each API the version that a current client uses with a broker of today."""

TOPICS = 1_000
GROUPS = 100
PER_REQUEST = 1_000
CLIENT = "bench"


def frame(message: Any) -> bytes:
    """Return a request; the load generator puts its own correlation ids in."""
    version = VERSIONS[message.API_KEY]
    header = RequestHeader(
        api_key=message.API_KEY, api_version=version, correlation_id=1, client_id=CLIENT
    )
    return encode_request(header, message.encode(version))


def decoded(response: Any, body: bytes) -> Any:
    """Return an answer, given from behind its correlation id on."""
    version = VERSIONS[response.API_KEY]
    at = response_header_version(response.API_KEY, version)
    message, end = response.decode(body, at, version)
    assert end == len(body), f"{len(body) - end} bytes behind an answer"
    return message


# --- questions

API_VERSIONS = ApiVersionsRequest(client_software_name="bench", client_software_version="1.0")


def topic_names() -> list[str]:
    """Return the topics that both sides have."""
    return [f"bench-topic-{number}" for number in range(TOPICS)]


def metadata(names: Iterable[str], *, operations: bool = False) -> bytes:
    """Return a request for Metadata of these topics."""
    return frame(
        MetadataRequest(
            topics=tuple(MetadataRequestTopic(name=name) for name in names),
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=operations,
        )
    )


def groups() -> bytes:
    """Return a request for groups that nobody is in, with what the caller may do."""
    names = tuple(f"bench-group-{number}" for number in range(GROUPS))
    return frame(DescribeGroupsRequest(groups=names, include_authorized_operations=True))


def coordinator() -> bytes:
    """Return the question for a group's coordinator, after which a broker has one."""
    return frame(FindCoordinatorRequest(coordinator_keys=("bench-group-0",)))


def describe(
    *,
    name: str | None = None,
    pattern_type: PatternType = PatternType.ANY,
    resource_type: ResourceType = ResourceType.ANY,
    principal: str | None = None,
) -> bytes:
    """Return a question for ACLs; without arguments for all of them."""
    return frame(
        DescribeAclsRequest(
            resource_type_filter=int(resource_type),
            resource_name_filter=name,
            pattern_type_filter=int(pattern_type),
            principal_filter=principal,
            host_filter=None,
            operation=int(AclOperation.ANY),
            permission_type=int(AclPermissionType.ANY),
        )
    )


def bindings_of(answer: Any) -> set[AclBinding]:
    """Return the ACLs of an answer to DescribeAcls."""
    assert answer.error_code == 0, answer.error_message
    return set(bindings.bindings_of(answer))


# --- changes


def create(world: Iterable[AclBinding], per_request: int = PER_REQUEST) -> list[bytes]:
    """Return requests that create these ACLs."""
    left = iter(world)
    made = []
    while some := tuple(islice(left, per_request)):
        made.append(frame(bindings.creation_request(some)))
    return made


def extra(principals: int, each: int, mark: str) -> Iterator[AclBinding]:
    """Return ACLs beside the world: so many for each of some principals of their own."""
    for who in range(principals):
        entry = AccessControlEntry(
            f"User:{mark}-{who}", WILDCARD, AclOperation.READ, AclPermissionType.ALLOW
        )
        for number in range(each):
            name = f"{mark}-{who}.events-{number}"
            pattern = ResourcePattern(ResourceType.TOPIC, name, PatternType.LITERAL)
            yield AclBinding(pattern, entry)


def delete(*, name: str | None = None, principal: str | None = None) -> bytes:
    """Return a request that deletes the ACLs of a literal topic, or of a principal."""
    kind, pattern_type = ResourceType.ANY, PatternType.ANY
    if name is not None:
        kind, pattern_type = ResourceType.TOPIC, PatternType.LITERAL
    wanted = DeleteAclsFilter(
        resource_type_filter=int(kind),
        resource_name_filter=name,
        pattern_type_filter=int(pattern_type),
        principal_filter=principal,
        host_filter=None,
        operation=int(AclOperation.ANY),
        permission_type=int(AclPermissionType.ANY),
    )
    return frame(DeleteAclsRequest(filters=(wanted,)))


def create_topics() -> list[bytes]:
    """Return requests that make the topics."""
    names = topic_names()
    return [
        frame(
            CreateTopicsRequest(
                topics=tuple(
                    CreatableTopic(name=name, num_partitions=1, replication_factor=1)
                    for name in names[start : start + 100]
                ),
                timeout_ms=60_000,
            )
        )
        for start in range(0, TOPICS, 100)
    ]


# --- logins


def plain_login(name: str, password: str) -> list[bytes]:
    """Return what a client says to log in by PLAIN."""
    token = f"\0{name}\0{password}".encode()
    return [handshake("PLAIN"), authenticate(token)]


def handshake(mechanism: str) -> bytes:
    """Return the request that chooses a mechanism."""
    return frame(SaslHandshakeRequest(mechanism=mechanism))


def authenticate(token: bytes) -> bytes:
    """Return a token's request."""
    return frame(SaslAuthenticateRequest(auth_bytes=token))
