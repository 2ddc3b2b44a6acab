"""Grants of roles, variables, and what they expand to."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.formats.records import read_yaml
from doorkeeper.cli.acls.options import additions
from testkit.acl import PREFIXED, READ, WRITE, allow, group, topic

GRANT = "version: 1\ngrants:\n- "
NOTHING: dict[str, Any] = {
    "allow_principal": ("User:a",), "deny_principal": (), "allow_host": (), "deny_host": (),
    "operation": (), "producer": False, "consumer": False, "idempotent": False, "topic": (),
    "group": (), "transactional_id": (), "delegation_token": (), "user_principal": (),
    "cluster": False, "resource_pattern_type": "literal",
}  # fmt: skip


@pytest.mark.parametrize(
    ("role", "options"),
    [
        ("{role: producer, topic: [t, u]", {"producer": True, "topic": ("t", "u")}),
        ("{role: idempotent-producer, topic: t",
         {"producer": True, "idempotent": True, "topic": ("t",)}),
        ("{role: transactional-producer, topic: t, transactionalId: x",
         {"producer": True, "topic": ("t",), "transactional_id": ("x",)}),
        ("{role: consumer, topic: t, group: [g, h]",
         {"consumer": True, "topic": ("t",), "group": ("g", "h")}),
        ("{role: consumer, topic: t, group: g, patternType: prefixed, host: [10.0.0.1, 10.0.0.2]",
         {"consumer": True, "topic": ("t",), "group": ("g",), "resource_pattern_type": "prefixed",
          "allow_host": ("10.0.0.1", "10.0.0.2")}),
    ],
)  # fmt: skip
def test_producer_and_consumer_roles_match_kafka_acls(role: str, options: dict[str, Any]) -> None:
    """They get exactly the ACLs of kafka-acls.sh --producer and --consumer."""
    found = read_yaml(f"{GRANT}{role}, principal: 'User:a'}}\n").bindings

    expected = [each for rows in additions(NOTHING | options).values() for each in rows]
    assert sorted(found) == sorted(expected)
    assert len(set(found)) == len(found)


def test_optional_role_parameters() -> None:
    grants = f"{GRANT}{{role: connect-connector, connector: c, sink: t, principal: 'User:a'}}\n"
    registry = f"{GRANT}{{role: schema-registry, principal: 'User:a'}}\n"

    found = {each.pattern.name for each in read_yaml(grants).bindings}
    assert found == {"t", "connect-c"}
    assert "_schemas" in {each.pattern.name for each in read_yaml(registry).bindings}


def test_roles_defined_in_a_file() -> None:
    text = """
version: 1
vars: {team: pay, app: "User:pay-app"}
x-where: &where {host: 10.0.0.1}
roles:
  reporter:
    parameters: [topic]
    optional: {group: "${team}"}
    acls:
      - {resourceType: TOPIC, name: "${team}-${topic}", operation: [READ]}
      - {resourceType: GROUP, name: "report-${group}-", operation: READ, patternType: PREFIXED}
grants:
  - {<<: *where, role: reporter, principal: "${app}", topic: [a, {name: b, patternType: PREFIXED}]}
acls:
  - {resourceType: TOPIC, name: "$${team}", principal: "${app}", operation: WRITE}
owns: {prefixes: ["${team}-", report-, "$${"]}
"""

    found = read_yaml(text)

    assert found.bindings == [
        allow("pay-app", WRITE, topic("${team}")),
        allow("pay-app", READ, topic("pay-a"), "10.0.0.1"),
        allow("pay-app", READ, topic("pay-b", PREFIXED), "10.0.0.1"),
        allow("pay-app", READ, group("report-pay-", PREFIXED), "10.0.0.1"),
    ]
    assert found.line_of_binding(1) == 13
    assert found.owned[0].selector.prefixes == ("pay-", "report-", "${")


def test_text_without_variables_is_unchanged() -> None:
    text = (
        "version: 1\nacls:\n"
        "- {resourceType: TOPIC, name: '${a}', principal: 'User:a', operation: READ}\n"
    )

    assert read_yaml(text).bindings == [allow("a", READ, topic("${a}"))]


ROLE = "version: 1\nroles:\n  r:\n    "
TYPO = (
    "version: 1\nvars: {team: b}\nacls:\n"
    "- {resourceType: TOPIC, name: '${taem}', principal: 'User:a', operation: READ}"
)
LONGER = (
    ROLE + "parameters: [a]\n"
    "    acls: [{resourceType: TOPIC, name: '${a}-x', operation: READ}]\n"
    "grants: [{role: r, principal: 'User:a', a: {name: b, patternType: PREFIXED}}]"
)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (GRANT + "{role: producr}", "line 3: grant 1: role: found 'producr'; allowed: producer"),
        (GRANT + "{role: producer, topics: t}", "unknown: topics; allowed: role, principal, host"),
        (GRANT + "{role: consumer, topic: t}",
         "line 3: grant 1: missing: principal, group; consumer requires it"),
        (GRANT + "{role: producer, topic: 7, principal: 'User:a'}", "topic: found 7; expected:"),
        (GRANT + "{role: consumer, topic: t, group: , principal: 'User:a'}",
         "line 3: grant 1: missing: group; consumer requires it"),
        (GRANT + "{role: producer, topic: [], principal: 'User:a'}", "topic: found []; expected:"),
        (GRANT + "{role: producer, topic: t, principal: []}", "principal: found []; expected:"),
        (GRANT + "{role: producer, topic: t, principal: 'User:a', host: []}",
         "host: found []; expected:"),
        (ROLE + "acls: [{resourceType: TOPIC, name: t, operation: []}]\ngrants:\n"
         "  - {role: r, principal: 'User:a'}", "grant 1: operation: found []; expected:"),
        (GRANT + "{role: producer, topic: '${x}', principal: 'User:a'}",
         "line 3: grant 1: topic: ${x}: unknown variable; allowed: none"),
        (GRANT + "x", "line 3: grant 1: found 'x'; expected: a mapping with the keys role"),
        ("version: 1\ngrants: {}", "line 2: grants: found {}; expected: a list"),
        ("version: 1\nvars: []\nacls: []", "line 2: vars: found []; expected: a mapping"),
        (TYPO, "line 4: acl 1: ${taem}: unknown variable; allowed: team; did you mean team?"),
        ("version: 1\nroles: {producer: {acls: []}}\nacls: []", "used by a built-in role"),
        (ROLE + "acls: x\nacls: []", "line 4: role r: acls: found 'x'; expected: a list"),
        (ROLE + "acls: [{resourceType: TOPIC}]\nacls: []",
         "line 4: role r: missing: name, operation"),
        (ROLE + "params: []\nacls: []", "line 4: role r: unknown: params"),
        (ROLE + "parameters: [host]\n    acls: []\nacls: []", "parameter name host is reserved"),
        ("version: 1\nroles: []\nacls: []", "line 2: roles: found []; expected: a mapping"),
        ("version: 1\nroles: {r: x}\nacls: []", "role r: found 'x'; expected: a mapping"),
        (ROLE + "parameters: a\n    acls: []\nacls: []", "parameters: found 'a'; expected: a list"),
        (ROLE + "optional: {a: 1}\n    acls: []\nacls: []", "optional: found {'a': 1}; expected"),
        (ROLE + "acls: [x]\nacls: []", "role r: found 'x'; expected: a mapping with the keys"),
        (ROLE + "acls: [{resourceType: TOPIC, name: 7, operation: READ}]\nacls: []",
         "line 4: role r: name: found 7; expected: a string"),
        ("version: 1\naccept: {}\nacls: []", "line 2: accept: found {}; expected: a list"),
        (LONGER, ("line 6: grant 1: a: found 'b' with pattern type PREFIXED, followed"
            " by more text in the name ${a}-x;"
            " expected: LITERAL")),
    ],
)  # fmt: skip
def test_invalid_roles_are_rejected(text: str, error: str) -> None:
    with pytest.raises(FormatError) as raised:
        read_yaml(f"{text}\n")

    assert error in str(raised.value)


def test_long_alias_values_are_shortened_in_errors() -> None:
    lines = ["version: 1", "x-0: &a0 [z, z, z, z, z, z, z, z, z, z]"]
    lines += [f"x-{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    row = "{resourceType: TOPIC, name: *a11, principal: 'User:a', operation: READ}"

    with pytest.raises(FormatError, match=r"name: found \[\[.*expected: a string") as raised:
        read_yaml("\n".join([*lines, "acls:", f"- {row}", ""]))

    assert len(str(raised.value)) < 2000
