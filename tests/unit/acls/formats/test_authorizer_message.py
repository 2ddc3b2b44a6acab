"""Messages of kafka-authorizer.log, and what names can do to them."""

from __future__ import annotations

import pytest

from doorkeeper.acls.formats.authorizer_message import Bad, Ignored, Message, read

D_HEAD = "Principal = User:alice is Denied operation = READ from host = 10.0.0.7 on resource = "
D_TAIL = " for request = Fetch with resourceRefCount = 1 based on rule DefaultDeny"
ACL = (
    "resourceType=TOPIC, resourceName={name}, patternType={pattern}, principal=User:alice,"
    " host=*, operation=READ, permissionType=DENY"
)


def said(text: str, level: str = "INFO") -> Message:
    """Return the message of a text that has to be one."""
    found = read(level, text)
    assert isinstance(found, Message), found
    return found


@pytest.mark.parametrize(
    ("resource", "tail", "api"),
    [
        ("Topic:orders", "", ""),
        ("Topic:LITERAL:orders", "", ""),
        ("Topic:LITERAL:orders", " for request = Fetch with resourceRefCount = 3", "Fetch"),
        ("Topic:LITERAL:orders", " for request = 91 with resourceRefCount = 1", "91"),
    ],
)
def test_read_messages_before_kafka_3(resource: str, tail: str, api: str) -> None:
    found = said(
        f"Principal = User:a is Allowed Operation = DescribeConfigs from host = ::1 on resource ="
        f" {resource}{tail}",
        "DEBUG",
    )

    assert found == Message(
        "User:a", "::1", "DESCRIBE_CONFIGS", "TOPIC", "orders", "ALLOWED", api, "", "", False
    )


@pytest.mark.parametrize("brackets", ["()", "[]"], ids="DE")
@pytest.mark.parametrize("host", ["*", "10.0.0.0/8"])
def test_read_messages_with_rule(brackets: str, host: str) -> None:
    """In round brackets (D) and in square ones (E), since 4.4 with networks that match."""
    acl = ACL.format(name="or", pattern="PREFIXED").replace("host=*", f"host={host}")
    rule = f"MatchingAcl(acl=StandardAcl{brackets[0]}{acl}{brackets[1]})"
    found = said(D_HEAD + "Topic:LITERAL:orders" + D_TAIL.replace("DefaultDeny", rule))

    assert found[4:9] == ("orders", "DENIED", "Fetch", "MatchingAcl", acl)


@pytest.mark.parametrize(
    "name",
    [
        "with blanks in it",
        "a=b, c=d",
        "two\nlines",
        "x for request = Produce with resourceRefCount = 9 based on rule DefaultAllow",
        "x is Allowed operation = WRITE from host = 1.2.3.4 on resource = Topic:LITERAL:y",
        "x with resourceRefCount = 0",
        ":",
        "LITERAL:",
    ],
)
def test_name_is_parsed_between_fixed_parts(name: str) -> None:
    found = said(D_HEAD + f"Group:LITERAL:{name}" + D_TAIL)

    assert found == Message(
        "User:alice", "10.0.0.7", "READ", "GROUP", name, "DENIED", "Fetch", "DefaultDeny", "", False
    )


def test_name_that_repeats_in_the_rule() -> None:
    name = (
        "x for request = A with resourceRefCount = 1 based on rule"
        f" MatchingAcl(acl=StandardAcl[{ACL.format(name='evil', pattern='LITERAL')}])"
    )
    acl = ACL.replace("TOPIC", "GROUP").format(name=name, pattern="LITERAL")
    tail = D_TAIL.replace("DefaultDeny", f"MatchingAcl(acl=StandardAcl[{acl}])")

    found = said(D_HEAD + f"Group:LITERAL:{name}" + tail)

    assert (found.resource_name, found.rule_binding, found.api) == (name, acl, "Fetch")


@pytest.mark.parametrize(
    "principal", ["User:CN=a, OU=is b, O=c", "User:a = b", "User:x\ny", "User:"]
)
def test_principals_are_not_escaped(principal: str) -> None:
    """Names of certificates hold commas, equals signs and blanks."""
    found = said(D_HEAD.replace("User:alice", principal) + "Topic:LITERAL:t" + D_TAIL)

    assert (found.principal, found.resource_name) == (principal, "t")


@pytest.mark.parametrize("rule", ["SuperUser", "DefaultAllow", "DefaultDeny"])
def test_read_rules_without_acl(rule: str) -> None:
    """A rule without an ACL is a word; what Kafka logs at TRACE is a probe."""
    text = D_HEAD + "Group:LITERAL:g" + D_TAIL.replace("DefaultDeny", rule)
    if rule != "DefaultDeny":
        text = text.replace("Denied", "Allowed")

    assert said(text, "DEBUG")[7:] == (rule, "", False)
    assert said(text, "TRACE").probe


@pytest.mark.parametrize(
    "text",
    [
        D_HEAD + "Topic:LITERAL:hardcode" + D_TAIL.replace("= 1", "= 0"),
        (
            "Principal = User:a is Denied Operation = Write from host = h on resource ="
            " Topic:UNKNOWN:NONE for request = InitProducerId with resourceRefCount = 0"
        ),
        "No acl found for resource Topic:LITERAL:t, authorized = false",
        "principal = User:a is a super user, allowing operation without checking acls.",
        "operation = Read on resource = Topic:LITERAL:t from host = h is Allow based on acl = x",
    ],
)
def test_messages_about_resource_types_are_ignored(text: str) -> None:
    """Notes, and questions for any resource of a type, are known and left out."""
    assert isinstance(read("DEBUG", text), Ignored)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nothing of the kind", "not an authorizer message"),
        (D_HEAD + "Topic:LITERAL:orders for request = Fetch", "the line is truncated; expected"),
        (D_HEAD + "Topic:LITERAL:" + D_TAIL, "empty"),
        (
            D_HEAD + "Topic:LITERAL:t" + D_TAIL.replace("DefaultDeny", "Maybe"),
            "the line is truncated; expected",
        ),
        (
            D_HEAD.replace("READ", "ALL") + "Topic:LITERAL:t" + D_TAIL,
            "expected: an operation that a request can have",
        ),
        (D_HEAD.replace("READ", "FROB") + "Topic:LITERAL:t" + D_TAIL, "operation"),
        (D_HEAD + "Gadget:LITERAL:t" + D_TAIL, "resource type"),
    ],
)
def test_malformed_messages_are_rejected(text: str, reason: str) -> None:
    """A message that is torn, or speaks of what Kafka does not have, is bad and says why."""
    found = read("INFO", text)

    assert isinstance(found, Bad)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("old", "new"),
    [("User:alice", "User:evil"), ("TOPIC", "GROUP"), ("host=*", "host=1.1.1.1")],
)
def test_rule_for_another_request_is_rejected(old: str, new: str) -> None:
    acl = ACL.format(name="t", pattern="LITERAL").replace(old, new)
    tail = D_TAIL.replace("DefaultDeny", f"MatchingAcl(acl=StandardAcl[{acl}])")

    found = read("DEBUG", D_HEAD + "Topic:LITERAL:t" + tail)

    assert isinstance(found, Bad)
    assert "may have been forged" in found.reason


def test_rule_with_principal_in_other_case_is_rejected() -> None:
    acl = ACL.format(name="t", pattern="LITERAL").replace("User:alice", "User:Alice")
    tail = D_TAIL.replace("DefaultDeny", f"MatchingAcl(acl=StandardAcl[{acl}])")

    found = read("DEBUG", D_HEAD + "Topic:LITERAL:t" + tail)

    assert isinstance(found, Bad)
    assert "the principal is User:alice, but the ACL in the rule is for User:Alice" in found.reason
