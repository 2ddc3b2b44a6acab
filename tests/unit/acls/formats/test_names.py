"""The words of all formats."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acls.formats import names, request_words
from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.model import AclOperation, PatternType, ResourceType
from doorkeeper.acls.validation import unstorable

FIELDS: dict[str, Any] = {
    "resource": "TOPIC", "name": "t", "pattern": "LITERAL", "principal": "User:a", "host": "*",
    "does": "READ", "permission": "ALLOW",
}  # fmt: skip


def test_all_spellings_of_names_are_read() -> None:
    """As Kafka's tools, its Java classes and people write them."""
    for text in ("TRANSACTIONAL_ID", "TransactionalId", "transactional-id"):
        assert names.resource_type(text) is ResourceType.TRANSACTIONAL_ID
    for text in ("DescribeConfigs", "DESCRIBE_CONFIGS", "describe_configs"):
        assert request_words.operation(text) == "DESCRIBE_CONFIGS"


def test_filter_only_values_are_rejected() -> None:
    assert names.operation("all") is AclOperation.ALL
    assert names.pattern_type("prefixed") is PatternType.PREFIXED
    for kind in (names.operation, names.resource_type, names.pattern_type, names.permission_type):
        for text in ("ANY", "UNKNOWN", "", "MATCH"):
            with pytest.raises(FormatError, match="allowed: "):
                kind(text)
    for text in ("All", "Any", "Unknown", "Frobnicate", ""):
        with pytest.raises(ValueError, match="operation"):
            request_words.operation(text)
    with pytest.raises(ValueError, match="resource type"):
        request_words.resource_type("Any")


@pytest.mark.parametrize("word", ["MATCH", "regex", "wildcard"])
def test_regular_expression_pattern_type_is_rejected(word: str) -> None:
    with pytest.raises(FormatError) as refused:
        names.pattern_type(word)

    assert ("; allowed: LITERAL, PREFIXED; brokers do not support regular expressions") in str(
        refused.value
    )
    assert "kafka-topics.sh --list | grep -E EXPRESSION > names.txt" in str(refused.value)


def test_acls_of_old_clusters_are_read() -> None:
    old = names.binding_of(**FIELDS | {"principal": "alice", "host": ""})

    assert (old.entry.principal, old.entry.host) == ("alice", "")
    assert "Could not parse principal from `alice`" in str(unstorable(old))
    assert "the host is empty" in str(unstorable(names.binding_of(**FIELDS | {"host": ""})))
    assert unstorable(names.binding_of(**FIELDS)) is None
    with pytest.raises(FormatError, match="should not be empty"):
        names.binding_of(**FIELDS | {"name": ""})
    with pytest.raises(FormatError, match="Resource name contains an unpaired surrogate"):
        names.binding_of(**FIELDS | {"name": "a\ud800"})


@pytest.mark.parametrize(
    ("value", "place", "text"),
    [
        ([1], "acls", "acls: found [1]; expected: a string"),
        (None, "", "found None; expected: a string"),
        ("x" * 99, "name", "name: found 'xxxxxxxxxxxx...xxxxxxxxxxxxx'; expected: a string"),
        (["hunter2"], "password", "password: found list; expected: a string"),
        ("hunter2", "configs: sasl.jaas.config", "configs: sasl.jaas.config: found str; expected"),
        (
            {"a": 1, "password": "hunter2"},
            "",
            "found {'a': 1, 'password': <class 'str'>}; expected",
        ),
        ([{"token": ["hunter2"]}], "users", "users: found [{'token': <class 'list'>}]; expected"),
        ('x = "a"; password="hunter2";', "vars", "vars: found str; expected: a string"),
    ],
)
def test_error_has_the_place_the_value_and_the_expectation(
    value: object, place: str, text: str
) -> None:
    """The value in short, and of a secret only the type: by any of the three."""
    assert names.mismatch(value, "a string", place).startswith(text)
    assert "hunter2" not in names.mismatch(value, "a string", place)
    assert "found str" in names.mismatch("hunter2", "a mapping with the keys name, password")


def test_path_of_an_error_is_its_place() -> None:
    assert names.wrong(1, "a list", "acls").path == ("acls",)
    assert names.wrong(1, "a list", "acls", ("roles", "r")).path == ("roles", "r")
    assert names.wrong(1, "a list").path == ()
