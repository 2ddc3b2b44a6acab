"""Files of rules about ACLs."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from doorkeeper.acls.assertions import AssertionKind
from doorkeeper.acls.formats.assertions import WORDS, read_assertions
from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.model import AclOperation
from doorkeeper.acls.operations import SUPPORTED_OPERATIONS
from testkit.checkout import ROOT

SCHEMA = json.loads((ROOT / "schemas" / "records" / "acl_rules.json").read_text("utf-8"))
RULE = {"rule": "only", "principal": "User:a", "operation": "READ", "resourceType": "TOPIC"}


def text_of(rule: object) -> str:
    return json.dumps({"version": 1, "rules": [rule]})


def test_schema_and_reader_accept_the_same_keys() -> None:
    properties = SCHEMA["$defs"]["rule"]["properties"]

    def choices(word: str) -> list[str]:
        return list(properties[word]["oneOf"][0]["enum"])

    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert tuple(properties) == WORDS
    assert properties["rule"]["enum"] == [kind.value for kind in AssertionKind]
    assert choices("resourceType") == [kind.name for kind in SUPPORTED_OPERATIONS]
    assert choices("operation") == [operation.name for operation in AclOperation if operation > 1]


@pytest.mark.parametrize(
    "rule",
    [
        RULE,
        {**RULE, "rule": "never", "principal": ["User:a", "User:*"], "operation": ["READ", "ALL"]},
        {**RULE, "name": "pii-", "patternType": "PREFIXED", "host": "10.0.0.0/8", "reason": "r"},
        {**RULE, "rule": "always", "resourceType": "CLUSTER", "operation": "ALTER"},
        {"rule": "no more than before"},
    ],
)
def test_valid_rules_are_read(rule: dict[str, Any]) -> None:
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(json.loads(text_of(rule)))
    [(line, _)] = read_assertions(text_of(rule))
    assert line == 1


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({**RULE, "rule": "nver"}, "allowed: never, always, only, no more than before; did you"),
        ({**RULE, "princpal": "User:b"}, "did you mean principal?"),
        ({**RULE, "operation": "Raed"}, "operation: found 'Raed'"),
        ({**RULE, "operation": "CLUSTER_ACTION"}, "found CLUSTER_ACTION; allowed for TOPIC"),
        ({**RULE, "principal": "a"}, "principalType:principalName"),
        ({**RULE, "host": "nohost"}, "host: found 'nohost'; allowed: an address, a network"),
        ({**RULE, "patternType": "PREFIXED"}, "missing: name"),
        ({"rule": "never"}, "missing: principal, operation, resourceType; 'never' requires it"),
        ([], "found []; expected: a mapping"),
        ({"rule": "no more than before", "name": "a"}, "missing: resourceType; a name"),
        ({**RULE, "resourceType": ["TOPIC", "GROUP"], "name": "a"}, "found several types"),
        ({**RULE, "principal": []}, "principal: found []; expected: a string"),
        ({**RULE, "name": "a", "patternType": 7}, "patternType: found 7; allowed: LITERAL"),
        ({**RULE, "reason": 7}, "reason: found 7; expected: a string"),
        # Only the first name was checked, and the rule "held".
        ({**RULE, "name": ["a", "b"]}, "name: found ['a', 'b']; expected: a string"),
    ],
)  # fmt: skip
def test_invalid_rules_are_rejected(rule: object, said: str) -> None:
    with pytest.raises(FormatError) as refused:
        read_assertions(text_of(rule))

    assert "rule 1: " in str(refused.value)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "found []; expected: a mapping with version and rules"),
        ("version: 2\nrules: []", "version: found 2; allowed: 1"),
        ("version: 1\nrules: []", "rules: found []; expected: a list of rules"),
        ("version: 1\nruls: []", "did you mean rules?"),
        ("a: [", "not YAML"),
        (json.dumps({"version": 1, "rules": [RULE | {"operation": "Raed"}]}, indent=1),
         "line 7: rule 1: operation: found 'Raed'"),
    ],
)  # fmt: skip
def test_other_texts_are_rejected(text: str, said: str) -> None:
    with pytest.raises(FormatError) as refused:
        read_assertions(text)

    assert said in str(refused.value)
