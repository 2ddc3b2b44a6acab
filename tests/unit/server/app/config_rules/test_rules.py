"""Each rule, by its own examples: those of the page."""

from __future__ import annotations

import pytest

from doorkeeper.base import properties
from doorkeeper.server.app.config_rules.checking import Finding, check, release_of
from doorkeeper.server.app.config_rules.rule import RULES, Product, Severity
from doorkeeper.server.app.rule_texts import rule_texts
from doorkeeper.server.config.loading import ConfigFile
from testkit.config_rule_examples import files_of, product_of


def findings(code: str, kind: str) -> list[Finding]:
    files = files_of(code, kind)
    return check(files, product=product_of(RULES[code]), release=release_of("4.3"))


@pytest.mark.parametrize("code", RULES)
def test_bad_example_triggers_the_rule(code: str) -> None:
    hits = [finding for finding in findings(code, "wrong") if finding.code == code]

    assert hits
    assert all(finding.severity is RULES[code].severity for finding in hits)


@pytest.mark.parametrize("code", RULES)
def test_good_example_does_not_trigger_the_rule(code: str) -> None:
    result = findings(code, "right")

    assert [str(finding) for finding in result if finding.code == code] == []
    assert [str(each) for each in result if each.severity is Severity.ERROR] == []


def test_rules_have_codes_and_texts() -> None:
    assert len(RULES) >= 40
    # The errors of Doorkeeper's own file are those of its settings.
    own = [rule for rule in RULES.values() if Product.DOORKEEPER in rule.products]
    assert {rule.severity for rule in own} == {Severity.WARNING}
    texts = rule_texts()
    assert texts.keys() == RULES.keys()
    assert all(text.why.endswith(".") and not text.title.endswith(".") for text in texts.values())


def test_names_that_may_be_parts_of_a_secret_are_not_shown() -> None:
    text = b"com.example.region=eu\nMIIEvwIBADAN==\nE7YThiiL=\nE7YThiiL=\n"
    file = ConfigFile("F", properties.parse(text, "F"), text)

    told = "\n".join(map(str, check([file], product=Product.DOORKEEPER)))

    assert "com.example.region" in told
    assert "that of F line 2" in told
    assert "F line 4: replaces the value in F line 3" in told
    assert "MII" not in told
    assert "E7Y" not in told
