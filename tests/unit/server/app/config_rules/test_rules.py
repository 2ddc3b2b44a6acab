"""Each rule, by its own examples: those of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.server.app.config_rules.checking import check, release_of
from doorkeeper.server.app.config_rules.examples import files_of, product_of
from doorkeeper.server.app.config_rules.findings import Product, Severity
from doorkeeper.server.app.config_rules.rule import RULES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.server.app.config_rules.findings import Finding
    from doorkeeper.server.app.config_rules.rule import Rule


def findings(rule: Rule, example: Mapping[str, str]) -> list[Finding]:
    return check(files_of(rule, example), product=product_of(rule), release=release_of("4.3"))


@pytest.mark.parametrize("code", RULES)
def test_bad_example_triggers_the_rule(code: str) -> None:
    rule = RULES[code]

    hits = [finding for finding in findings(rule, rule.wrong) if finding.code == code]

    assert hits
    assert all(finding.severity is rule.severity for finding in hits)


@pytest.mark.parametrize("code", RULES)
def test_good_example_does_not_trigger_the_rule(code: str) -> None:
    rule = RULES[code]

    result = findings(rule, rule.right)

    assert [str(finding) for finding in result if finding.code == code] == []
    assert [str(each) for each in result if each.severity is Severity.ERROR] == []


def test_rules_have_codes_and_texts() -> None:
    assert len(RULES) >= 40
    # The errors of Doorkeeper's own file are those of its settings.
    own = [rule for rule in RULES.values() if Product.DOORKEEPER in rule.products]
    assert {rule.severity for rule in own} == {Severity.WARNING}
    assert all(rule.why.endswith(".") and not rule.title.endswith(".") for rule in RULES.values())
