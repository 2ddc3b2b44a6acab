"""The parts of all ACLs that a file owns."""

from __future__ import annotations

import pytest

from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.formats.records import read_json, read_yaml
from doorkeeper.acls.model import ResourceType
from doorkeeper.acls.plan import Selector

TEAM = Selector(prefixes=("pay-",), resource_types=frozenset({ResourceType.TOPIC}))
APP = Selector(principals=frozenset({"User:pay"}))


def test_list_of_owned_parts_is_read() -> None:
    one = read_yaml("version: 1\nowns: {prefixes: pay-, resourceTypes: [topic]}\nacls: []\n")
    both = read_yaml(
        "version: 1\nacls: []\nowns:\n"
        "- {prefixes: [pay-], resourceTypes: [TOPIC]}\n- {principals: [User:pay]}\n"
    )
    as_json = read_json('{"version": 1, "acls": [],\n "owns": {"principals": "User:pay"}}')

    assert [each.selector for each in one.owned] == [TEAM]
    assert [each.selector for each in both.owned] == [TEAM, APP]
    assert [both.line_of(each.path) for each in both.owned] == [4, 5]
    assert [each.selector for each in as_json.owned] == [APP]
    assert as_json.line_of(as_json.owned[0].path) == 2


@pytest.mark.parametrize(
    ("owns", "error"),
    [
        ("{}", "line 2: owns: is empty; expected: one of principals, prefixes"),
        ("[]", "line 2: owns: found []; expected: a mapping with principals"),
        ("[x]", "line 2: owns: found 'x'; expected: a mapping with principals"),
        ("{prefixes: []}", "line 2: owns: prefixes: is empty; expected: at least one value. Omit"),
        ("{prefixes: [7]}", "line 2: owns: prefixes: found 7; expected: a string"),
        ("{principals: [pay]}", "line 2: owns: expected a string in format"),
        ("{resourceTypes: [TOPICS]}", "did you mean TOPIC?"),
        ("\n- {prefixes: a}\n- {prefixs: b}", "line 4: owns: unknown: prefixs; allowed"),
    ],
)
def test_invalid_owned_parts_are_rejected(owns: str, error: str) -> None:
    with pytest.raises(FormatError) as raised:
        read_yaml(f"version: 1\nowns: {owns}\nacls: []\n")

    assert error in str(raised.value)
