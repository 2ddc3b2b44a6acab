"""Names that can never be what they look like."""

from __future__ import annotations

import pytest

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.lint import lint
from doorkeeper.acls.misleading_names import misleading_in, misleading_name, misleading_principal
from doorkeeper.acls.model import AclBinding, PatternType, ResourcePattern, ResourceType
from testkit.acl import PREFIXED, READ, WRITE, allow, cluster, group, topic
from testkit.acl_worlds import loaded


def transactional_id(name: str) -> ResourcePattern:
    """Return the literal pattern of a transactional id."""
    return ResourcePattern(ResourceType.TRANSACTIONAL_ID, name, PatternType.LITERAL)


@pytest.mark.parametrize(
    ("pattern", "said", "meant"),
    [
        (topic("plum*"), "no topic can have this name", [topic("plum", PREFIXED)]),
        (topic("plum.*"), "no topic can have this name", [topic("plum.", PREFIXED)]),
        (topic("plum-**"), "no topic can have this name", [topic("plum-", PREFIXED)]),
        (topic("plum.*", PREFIXED), "no topic can begin with this", [topic("plum.", PREFIXED)]),
        (group("g*"), "ACL applies only to the group 'g*'", [group("g", PREFIXED)]),
        (group("g*", PREFIXED), "no ordinary group begins with it", [group("g", PREFIXED)]),
        (transactional_id("x*"), "only to the transactional id 'x*'", None),
        (topic("/p.*/"), "brokers do not support regular expressions", []),
        (topic("^plum$"), "brokers do not support regular expressions", []),
        (topic("*-plum"), "brokers do not support regular expressions", []),
        (topic("plum,fig"), "no topic can have this name", [topic("plum"), topic("fig")]),
        (topic("a b"), "no topic can have this name", []),
        (topic("a:b", PREFIXED), "no topic can begin with this", []),
        (topic("."), "no topic can have this name", []),
        (topic("x" * 250), "up to 249", []),
        (topic("t "), "U+0020 SPACE as character 2 of 2", [topic("t")]),
        (topic("t\u00a0u"), "U+00A0 NO-BREAK SPACE as character 2 of 3", [topic("tu")]),
        (group("\ufeffg"), "U+FEFF ZERO WIDTH NO-BREAK SPACE as character 1", [group("g")]),
        (group("g\n"), "U+000A a control character as character 2", [group("g")]),
    ],
)
def test_misleading_resource_names(
    pattern: ResourcePattern, said: str, meant: list[ResourcePattern] | None
) -> None:
    binding = allow("a", WRITE, pattern)

    found = misleading_name(binding)

    assert found is not None
    assert said in found.reason
    if meant is not None:
        assert [each.pattern for each in found.meant] == meant
    assert all(each.entry == binding.entry for each in found.meant)


@pytest.mark.parametrize(
    "pattern",
    [
        topic("*"),
        topic("*", PREFIXED),
        topic("a.b_c-D9"),
        topic(".", PREFIXED),
        topic("x" * 249),
        group("*"),
        group("a b/c:{d}"),
        group("?"),
        cluster("kafka-cluster"),
    ],
)
def test_ordinary_names_are_not_misleading(pattern: ResourcePattern) -> None:
    assert misleading_in([allow("User:CN=a, O=b c", WRITE, pattern)]) == []


@pytest.mark.parametrize(
    ("principal", "said", "meant"),
    [
        ("User:bob ", "U+0020 SPACE as character 4 of 4", ["User:bob"]),
        ("User: bob", "U+0020 SPACE as character 1 of 4", ["User:bob"]),
        ("User:b\u200bob", "U+200B ZERO WIDTH SPACE as character 2 of 4", ["User:bob"]),
        ("User:bob\t", "U+0009 a control character", ["User:bob"]),
        ("User:a,User:b", "a list is read as one principal", ["User:a", "User:b"]),
        ("User:a; Group:b", "a list is read as one principal", ["User:a", "Group:b"]),
    ],
)
def test_misleading_principals(principal: str, said: str, meant: list[str]) -> None:
    binding = allow("a", READ, topic("t"))
    binding = binding._replace(entry=binding.entry._replace(principal=principal))

    found = misleading_principal(binding)

    assert found is not None
    assert said in found.reason
    assert [each.entry.principal for each in found.meant] == meant


@pytest.mark.parametrize(
    ("binding", "code"),
    [(allow("a", WRITE, topic("t*")), "W011"), (allow("User:b ", WRITE, topic("t")), "W012")],
)
def test_misleading_names_are_lint_findings(binding: AclBinding, code: str) -> None:
    [finding] = lint(Policy(), loaded(binding))

    assert (finding.code, finding.fix.removed) == (code, (binding,))
    assert misleading_in(finding.fix.added) == []
