"""Block YAML: what is written, and that its fast reader agrees with YAML's."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.acls.formats.block_yaml import read_items, write_items
from doorkeeper.acls.formats.choosing import Format, write
from doorkeeper.acls.formats.documents import document_of_yaml
from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.formats.records import read_yaml, write_yaml
from doorkeeper.acls.model import AclOperation
from testkit.acl import PREFIXED, READ, allow, deny, group, topic

WRITTEN = """\
version: 1
acls:
  - resourceType: TOPIC
    name: "*"
    principal: User:CN=alice, OU=b
    host: 10.0.0.0/8
    operation: READ
  - resourceType: TOPIC
    name: orders
    principal: User:alice
    operation: [READ, DESCRIBE]
  - resourceType: GROUP
    name: g-
    patternType: PREFIXED
    principal: User:*
    operation: ALL
    permissionType: DENY
"""
ODD = [
    *(
        "",
        " ",
        "*",
        "-",
        "~",
        "a ",
        " a",
        "a #b",
        "a: b",
        "a:",
        "a:b",
        "-a",
        "a-",
        "#",
        "?",
        "[a]",
        "{a}",
    ),
    *(
        "yes",
        "No",
        "on",
        "y",
        "N",
        "null",
        "TRUE",
        "1",
        "0x1",
        "1e3",
        "1:30",
        "10.0.0.7",
        "10.0.0.0/8",
    ),
    *(
        "2026-11-26",
        "<<",
        "=",
        "a\nb",
        "\t",
        '"',
        "'",
        "\\",
        "%a",
        "@a",
        "`a",
        "!a",
        "&a",
        "*a",
        "é",
        "\x85",
    ),
    *(
        "\u2028",
        "\ufeff",
        "\x00",
        "😀",
        "_schemas",
        "__consumer_offsets",
        "a,b",
        "a, b",
        "CN=a, OU=b",
    ),
]
texts = st.one_of(
    st.sampled_from(ODD), st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
)
values = st.one_of(
    texts,
    st.lists(texts, min_size=1, max_size=3),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
)
records = st.dictionaries(
    texts, st.one_of(values, st.dictionaries(texts, values, max_size=3)), min_size=1, max_size=4
)


def test_a_set_of_acls_is_written_without_defaults() -> None:
    """A record for each principal and host; its operations are a list."""
    bindings = [
        deny("User:*", AclOperation.ALL, group("g-", PREFIXED)),
        allow("alice", AclOperation.DESCRIBE, topic("orders")),
        allow("CN=alice, OU=b", READ, topic("*"), "10.0.0.0/8"),
        allow("alice", READ, topic("orders")),
    ]

    assert write(sorted(bindings), Format.YAML) == WRITTEN
    assert read_yaml(WRITTEN).bindings == sorted(bindings)


def test_no_acls_are_an_empty_list() -> None:
    """Other sections may follow."""
    assert write_yaml([]) == "version: 1\nacls: []\n"
    assert write_yaml([], {"topics": [{"name": "a", "configs": {"x": "1"}}]}) == (
        'version: 1\nacls: []\ntopics:\n  - name: a\n    configs:\n      x: "1"\n'
    )


@settings(max_examples=300)
@given(st.lists(records, min_size=1, max_size=3))
def test_yaml_reads_what_is_written(items: list[dict[str, Any]]) -> None:
    """Texts that look like numbers, truth values or marks are texts."""
    text = "acls:\n" + "".join(write_items(items))

    assert document_of_yaml(text) == {"acls": items}


@settings(max_examples=300)
@given(
    st.lists(
        st.dictionaries(st.sampled_from(["name", "host", "a"]), texts, min_size=1), min_size=1
    ),
    st.randoms(use_true_random=False),
)
def test_the_fast_reader_agrees_with_yaml(
    items: list[dict[str, str]], chance: random.Random
) -> None:
    """Also on texts that somebody has edited: it reads the same or leaves them to YAML."""
    written = "".join(write_items(items))
    assert read_items(written, 0) in (items, None)
    at = chance.randrange(len(written))
    edited = (
        written[:at] + chance.choice("-:# \n\"\\[]{}, *&'ay") + written[at + chance.randrange(2) :]
    )
    fast = read_items(edited, 0)
    if fast is None:
        return

    try:
        document = document_of_yaml(f"acls:\n{edited}")
    except FormatError as error:
        pytest.fail(f"{edited!r}: {error}")
    assert document == {"acls": fast}


def test_the_fast_reader_reads_what_is_written() -> None:
    """Quoted names and lists of operations as well."""
    assert read_items(WRITTEN, WRITTEN.index("  -")) == document_of_yaml(WRITTEN)["acls"]  # type: ignore[index]


@pytest.mark.parametrize("number", [1e17, 1e-07, -2e22, 1.5e300, 0.1, 3.0, 10**20, True])
def test_numbers_stay_numbers(number: float) -> None:
    (text,) = write_items([{"value": number}])

    assert document_of_yaml(text) == [{"value": number}]
