"""All formats: what is written is read back, whatever the names are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.acls.formats.choosing import WRITTEN, Format, format_of, read, read_set, write
from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from testkit.acl import PREFIXED, READ, allow, deny, group, topic

if TYPE_CHECKING:
    from collections.abc import Sequence

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
odd = st.sampled_from(
    ["*", "a, patternType=LITERAL)`:", "a,b", '"', "`", "yes", "~", "1", " a ", "ä\u2028", "\x85"]
)
names = st.one_of(texts, odd)
bindings = st.builds(
    AclBinding,
    st.builds(
        ResourcePattern,
        st.sampled_from([each for each in ResourceType if each > ResourceType.ANY]),
        names,
        st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    ),
    st.builds(
        AccessControlEntry,
        names.map(lambda name: f"User:{name}"),
        st.sampled_from(["*", "10.0.0.1", "0:0:0:0:0:0:0:1"]),
        st.sampled_from([each for each in AclOperation if each > AclOperation.ANY]),
        st.sampled_from([AclPermissionType.ALLOW, AclPermissionType.DENY]),
    ),
)
HEADER = "Principal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host"
WORLD = [
    allow("alice", READ, topic("orders")),
    allow("alice", AclOperation.DESCRIBE_CONFIGS, topic("orders"), "10.0.0.1"),
    deny("User:*", AclOperation.ALL, group("g-", PREFIXED)),
]


@pytest.mark.parametrize("how", WRITTEN)
@settings(max_examples=20)
@given(st.lists(bindings, max_size=5, unique=True))
def test_written_acls_are_read_back(how: Format, world: Sequence[AclBinding]) -> None:
    world = sorted(world)
    parts = [text for each in world for text in (each.pattern.name, each.entry.principal)]
    if how is Format.KAFKA and any("\n" in part or "\r" in part for part in parts):
        with pytest.raises(FormatError, match="line breaks"):
            write(world, how)
        return
    if how is Format.KAFKA and not world:
        with pytest.raises(FormatError, match="no ACL"):
            read(write(world, how), how)
        return

    assert read(write(world, how), how) == world


@pytest.mark.parametrize("how", WRITTEN)
def test_format_is_detected_from_content(how: Format) -> None:
    text = write(WORLD, how)

    found = format_of(text)

    assert found is (Format.CSV if how is Format.CSV_KAFKA_UI else how)
    assert read(text) == read("\ufeff" + text) == WORLD
    assert read(text, name="acls.unknown") == WORLD


RECORD = "version: 1\nacls: [{{resourceType: TOPIC, name: {}, principal: {}, operation: READ}}]"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "found None; expected: a mapping with version and acls"),
        ("version: 2\nacls: []", "line 1: version: found 2; allowed: 1"),
        ("version: 1\nacls: []\nmore: 1", "line 3: unknown: more; allowed: version, acls"),
        ("version: 1\nacls: {}", "line 2: acls: found {}; expected: a list of mappings"),
        (
            "version: 1\nacls: [x]",
            "line 2: acl 1: found 'x'; expected: a mapping with the keys resourceType, name",
        ),
        ("version: 1\nacls: [{name: a}]", "line 2: acl 1: missing: resourceType, principal"),
        ("version: 1\nacls: [{nome: a}]", "line 2: acl 1: unknown: nome; allowed: resourceType"),
        (RECORD.format(7, "'a:b'"), "line 2: acl 1: name: found 7; expected: a string"),
        ("a: [", "line 2: not YAML"),
        ('{"version": 1,\n', "line 2: not JSON"),
        ("Principal,ResourceType\n", "line 1: header: found Principal,ResourceType; expected:"),
        (f"{HEADER}\r\nUser:a,TOPIC,LITERAL,t\r\n", "line 2: found 4 fields; expected: 7"),
        (
            f"{HEADER}\r\nUser:a,TOPIC,LITERAL,t,FLY,ALLOW,*\r\n",
            "line 2: operation: found 'FLY'; allowed: ALL, READ",
        ),
        ("Current ACLs for resource `Topic:a`:\n\tnonsense", "line 2: found 'nonsense'"),
        (
            '{"/kafka-acl/Topic/a": {"version": 2}}',
            "'/kafka-acl/Topic/a': found {'version': 2}; expected: {\"ver",
        ),
    ],
)
def test_errors_name_the_position(text: str, error: str) -> None:
    with pytest.raises(FormatError) as raised:
        read(text)

    assert str(raised.value).startswith(error)


_JSON = '{"acls": [{"resourceType": "TOPIC", "name": "t", "principal": "a", "operation": "READ"}]'
_NODE = '{"principal": "a", "permissionType": "Allow", "operation": "Read", "host": "*"}'
BARE = {
    Format.YAML: """
version: 1
acls:
- {resourceType: TOPIC, name: t, principal: a, operation: READ}
""",
    Format.JSON: f'{_JSON}, "version": 1}}',
    Format.CSV: """
Principal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host
a,TOPIC,LITERAL,t,READ,ALLOW,*
""",
    Format.KAFKA: """Current ACLs for resource `Topic:LITERAL:t`:
\ta has Allow permission for operations: Read from hosts: *
""",
    Format.ZNODES: f'{{"/kafka-acl/Topic/t": {{"version": 1, "acls": [{_NODE}]}}}}',
}


LINES = {Format.YAML: 4, Format.JSON: 1, Format.CSV: 3, Format.KAFKA: 2, Format.ZNODES: 1}


@pytest.mark.parametrize("how", BARE)
def test_principals_without_type_are_read(how: Format) -> None:
    assert format_of(BARE[how]) is how

    found = read_set(BARE[how])

    [binding] = found.bindings
    assert binding.entry == allow("a", READ, topic("t")).entry._replace(principal="a")
    assert read(write([binding], Format.YAML)) == [binding]
    assert found.line_of_binding(0) == LINES[how]
