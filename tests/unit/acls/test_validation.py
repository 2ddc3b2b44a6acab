"""What is refused, with the controller's texts."""

from __future__ import annotations

import pytest

from doorkeeper.acls.model import (
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.validation import TEXT_BYTES_MAX, check_binding, check_filter, unencodable
from doorkeeper.base.errors import ErrorCode
from doorkeeper_wire import reading
from testkit.acl import PREFIXED, READ, allow, group, topic, wanted

NO_COLON = "(no colon is present separating the principal type from the principal name)"
ALLOW = AclPermissionType.ALLOW


def binding(
    resource_type: ResourceType = ResourceType.TOPIC,
    pattern_type: PatternType = PatternType.LITERAL,
    operation: AclOperation = READ,
    permission_type: AclPermissionType = ALLOW,
    *,
    name: str = "t",
    principal: str = "User:a",
) -> AclBinding:
    return AclBinding(
        ResourcePattern(resource_type, name, pattern_type),
        AccessControlEntry(principal, "*", operation, permission_type),
    )


@pytest.mark.parametrize(
    ("refused", "text"),
    [
        (binding(ResourceType.UNKNOWN), "Invalid resourceType UNKNOWN"),
        (binding(ResourceType.ANY), "Invalid resourceType ANY"),
        (binding(pattern_type=PatternType.UNKNOWN), "Invalid patternType UNKNOWN"),
        (binding(pattern_type=PatternType.MATCH), "Invalid patternType MATCH"),
        (binding(operation=AclOperation.UNKNOWN), "Invalid operation UNKNOWN"),
        (binding(operation=AclOperation.ANY), "Invalid operation ANY"),
        (binding(permission_type=AclPermissionType.UNKNOWN), "Invalid permissionType UNKNOWN"),
        (binding(permission_type=AclPermissionType.ANY), "Invalid permissionType ANY"),
        (binding(principal="alice"), f"Could not parse principal from `alice` {NO_COLON}"),
        (binding(principal=""), f"Could not parse principal from `` {NO_COLON}"),
        (binding(ResourceType.ANY, PatternType.UNKNOWN, name=""), "Invalid resourceType ANY"),
        (binding(operation=AclOperation.ANY, name="", principal=""), "Invalid operation ANY"),
        (binding(name="", principal=""), "Resource name should not be empty"),
    ],
)
def test_invalid_bindings_are_rejected_with_kafkas_text(refused: AclBinding, text: str) -> None:
    """Always INVALID_REQUEST, with the text of Kafka 4.3.1."""
    error = check_binding(refused)

    assert error is not None
    assert (error.code, error.message) == (ErrorCode.INVALID_REQUEST, text)


@pytest.mark.parametrize(
    "accepted",
    [
        allow("a", AclOperation.CREATE_TOKENS, topic("t")),
        allow("a", READ, ResourcePattern(ResourceType.CLUSTER, "kafka-cluster", PREFIXED)),
        allow("a", READ, topic("*", PREFIXED)),
        allow("X:", READ, topic("t")),
        allow(":y", READ, topic("t")),
        allow("a", READ, topic("t"), host=""),
        allow("a", READ, topic("t"), host="10.0.0.0/8"),
        allow("a", READ, group("a/b c")),
        binding(name="x" * TEXT_BYTES_MAX, principal="User:" + "x" * (TEXT_BYTES_MAX - 5)),
        binding(name="é" * 16383, principal="User:\U0001f600"),
    ],
    ids=lambda each: each.pattern.name[:9],
)
def test_bindings_without_effect_are_accepted(accepted: AclBinding) -> None:
    assert check_binding(accepted) is None
    assert unencodable(accepted) is None
    assert TEXT_BYTES_MAX == reading.TEXT_BYTES_MAX


@pytest.mark.parametrize(
    ("refused", "text"),
    [
        (wanted(ResourceType.UNKNOWN), "Unknown patternFilter."),
        (wanted(pattern_type=PatternType.UNKNOWN), "Unknown patternFilter."),
        (wanted(operation=AclOperation.UNKNOWN), "Unknown entryFilter."),
        (wanted(permission_type=AclPermissionType.UNKNOWN), "Unknown entryFilter."),
    ],
)
def test_filters_with_unknown_elements_are_rejected(refused: AclBindingFilter, text: str) -> None:
    error = check_filter(refused)

    assert error is not None
    assert (error.code, error.message) == (ErrorCode.INVALID_REQUEST, text)
    assert check_filter(wanted(ResourceType.TOPIC, "a", PatternType.MATCH)) is None


LONGEST = "x" * TEXT_BYTES_MAX
HALF = "contains an unpaired surrogate, which is not a character"


@pytest.mark.parametrize(
    ("refused", "text"),
    [
        (binding(name=LONGEST + "x"), "Resource name takes 32768 bytes; at most 32767"),
        (binding(principal="User:" + LONGEST), "Principal takes 32772 bytes; at most 32767"),
        (allow("a", READ, topic("t"), LONGEST + "x"), "Host takes 32768 bytes; at most 32767"),
        (binding(name="a\udcff"), f"Resource name {HALF}"),
        (binding(principal="User:\ud800"), f"Principal {HALF}"),
        (wanted(name="é" * 16384), "Resource name takes 32768 bytes; at most 32767"),
    ],
)
def test_unencodable_texts_are_rejected(refused: AclBinding | AclBindingFilter, text: str) -> None:
    """A text counts in bytes of UTF-8, and half of a surrogate pair has none."""
    error = unencodable(refused)

    assert error is not None
    assert (error.code, error.message) == (ErrorCode.INVALID_REQUEST, text)


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("", "Host pattern cannot be null or empty"),
        ("host/24", "Invalid CIDR notation 'host/24': Could not parse [host/24]"),
        ("10.0.0.0/33", "Invalid CIDR notation '10.0.0.0/33': Value [33] not in range [0,32]"),
    ],
)
def test_hosts_are_validated_from_kafka_4_4(host: str, text: str) -> None:
    """From Kafka 4.4 on, after everything else."""
    refused = allow("a", READ, topic("t"), host=host)

    error = check_binding(refused, networks=True)

    assert error is not None
    assert (error.code, error.message) == (ErrorCode.INVALID_REQUEST, text)
    assert check_binding(refused) is None
    nameless = check_binding(allow("a", READ, topic(""), host=host), networks=True)
    assert nameless is not None
    assert nameless.message == "Resource name should not be empty"


@pytest.mark.parametrize("host", ["*", "10.1.2.3/8", "::/0", "10.0.0", "2001:db8::1", "localhost"])
def test_networks_and_plain_hosts_are_accepted(host: str) -> None:
    assert check_binding(allow("a", READ, topic("t"), host=host), networks=True) is None
