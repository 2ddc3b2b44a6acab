"""Rows as stores keep them: round trips, secrets, and rows of other versions."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from doorkeeper.acls.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.server.schema.acls import StoredBinding, bindings_from
from doorkeeper.server.schema.declared import (
    ACL,
    CREDENTIAL,
    KINDS,
    TOPIC,
    StoredCredential,
    StoredTopic,
)
from doorkeeper.server.schema.kind import Item, Kind, Row, key_text
from testkit.acl import READ, allow, topic

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)
"""Texts with NUL, lone surrogates and characters beyond the first plane."""

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "str": st.one_of(ANY_TEXT, st.integers(1, 32_767).map(lambda size: "\u00e9" * size)),
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=False),
    "bytes": st.binary(max_size=64),
    "tuple[str, ...]": st.lists(ANY_TEXT, max_size=4).map(tuple),
    "Mapping[str, str]": st.dictionaries(ANY_TEXT, ANY_TEXT, max_size=4),
}
BINDINGS = st.builds(
    AclBinding,
    st.builds(
        ResourcePattern,
        st.sampled_from(ResourceType),
        VALUES["str"],
        st.sampled_from(PatternType),
    ),
    st.builds(
        AccessControlEntry,
        VALUES["str"],
        VALUES["str"],
        st.sampled_from(AclOperation),
        st.sampled_from(AclPermissionType),
    ),
)


def rows_of(kind: Kind) -> st.SearchStrategy[Any]:
    if kind is ACL:
        return st.builds(StoredBinding, ANY_TEXT, BINDINGS)
    types = kind.row.__annotations__
    return st.builds(kind.row, *[VALUES[types[name]] for name in kind.row.__struct_fields__])


class Painted(Row, frozen=True):
    name: str
    weight: float
    color: str = "red"
    pin: bytes = b""

    SECRETS: ClassVar[frozenset[str]] = frozenset({"pin"})


class Older(Row, frozen=True):
    name: str
    weight: float


class Pinned(Row, frozen=True):
    name: str
    pin: bytes

    SECRETS: ClassVar[frozenset[str]] = frozenset({"pin"})


def kind_of(row: type[Any]) -> Kind:
    return Kind(
        "odd",
        field="odds",
        subject="odds",
        row=row,
        key_columns=1,
        audit_name="name",
    )


ODD = kind_of(Painted)
OLDER = kind_of(Older)


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
@given(data=st.data())
@settings(max_examples=30)
def test_every_kind_round_trips(kind: Kind, data: st.DataObject) -> None:
    """Whatever the texts are, the item gives the row back, of the same class."""
    row = data.draw(rows_of(kind))
    item = kind.encode(row)

    back = kind.decode(item)

    assert back == row
    assert type(back) is type(row)
    assert kind.has_secrets is (item.secret is not None)
    if kind is ACL:
        assert list(bindings_from([(item.key, item.value)])) == [row]


@given(row=st.builds(Painted, ANY_TEXT, VALUES["float"], ANY_TEXT, VALUES["bytes"]))
def test_floats_and_secrets_round_trip(row: Painted) -> None:
    """Of types, too, that no kind of this version has; a whole number stays a float."""
    assert ODD.decode(ODD.encode(row)) == row
    assert type(ODD.decode(ODD.encode(replace(row, weight=5))).weight) is float


def test_secrets_are_only_in_the_secret_array() -> None:
    secrets = [bytes(range(start, start + 12)) for start in (1, 65, 129)]
    row = StoredCredential("alice", "SCRAM-SHA-256", secrets[0], secrets[1], secrets[2], 4096)

    item = CREDENTIAL.encode(row)

    assert (item.key, item.value) == ('["alice","SCRAM-SHA-256"]', "[null,null,null,4096]")
    assert item.secret is not None
    shown = f"{item!r}{row!r}{item}{row}"
    for cell, secret in zip(json.loads(item.secret), secrets, strict=True):
        assert cell not in shown
        assert repr(secret) not in shown
    without = StoredCredential("alice", "SCRAM-SHA-256", b"", b"", b"", 4096)
    assert CREDENTIAL.decode(item._replace(secret=None)) == without


def test_rows_of_other_versions_are_read() -> None:
    """Columns that an older row lacks have their defaults; those of a newer one are skipped."""
    item = OLDER.encode(Older("a", 1.0))
    newer = Item("a", "[null,null,7]", '["MTIzNA==","bmV3"]')

    assert ODD.decode(item) == Painted("a", 1.0, "red", b"")
    assert ODD.decode(item._replace(secret="[]")) == Painted("a", 1.0, "red", b"")
    assert OLDER.decode(ODD.encode(Painted("a", 1.0, "blue", b"1234"))) == Older("a", 1.0)
    assert kind_of(Pinned).decode(newer) == Pinned("a", b"1234")


def test_binding_of_a_newer_version_is_read() -> None:
    row = StoredBinding("id", allow("alice", READ, topic("t")))
    item = ACL.encode(row)
    newer = item._replace(value=item.value[:-1] + ',"2030-01-01"]')

    assert ACL.decode(newer) == row
    assert list(bindings_from([(newer.key, newer.value), (item.key, item.value)])) == [row, row]


@pytest.mark.parametrize(
    ("kind", "item"),
    [
        (TOPIC, Item("t", "")),
        (TOPIC, Item("t", "[]")),
        (TOPIC, Item("t", '["AAAA",1,1]')),
        (TOPIC, Item("t", '["AAAA",true,1,{}]')),
        (TOPIC, Item("t", '["A*AA",1,1,{}]')),
        (TOPIC, Item("t", "[null,1,1,{}]")),
        (TOPIC, Item("t", '["AAAA",1,1,[]]')),
        (CREDENTIAL, Item('["u"]', "[null,null,null,4096]")),
        (CREDENTIAL, Item('["u",1]', "[null,null,null,4096]")),
        (CREDENTIAL, Item('["u","m"]', "[null,null,null,4096]", "[]")),
        (CREDENTIAL, Item('["u","m"]', "[null,null,null,4096]", '["AAAA","AAAA"]')),
        (ACL, Item("i", "[2]")),
        (ACL, Item("i", '[99,"t",3,"User:a","*",3,3]')),
    ],
)
def test_invalid_item_is_rejected(kind: Kind, item: Item) -> None:
    with pytest.raises(ValueError, match=rf"cannot read the {kind.name} .*: .+") as caught:
        kind.decode(item)

    assert repr(item.key) in str(caught.value)
    assert "AAAA" not in str(caught.value)


def test_control_characters_are_escaped() -> None:
    """Values have no NUL, which PostgreSQL cannot hold; keys of several columns are unambiguous."""
    binding = StoredBinding("i" * 22, allow("alice", READ, topic("a\0b")))
    row = StoredTopic("t", bytes(16), 1, 1, {"k\0": "\0"})

    assert "\0" not in ACL.encode(binding).value + TOPIC.encode(row).value + key_text(["a\0", "b"])
    assert (key_text(["only"]), key_text(["a", "b"])) == ("only", '["a","b"]')
    assert len({key_text(cells) for cells in (['a","b', "c"], ["a", 'b","c'], ["a,b", "c"])}) == 3
