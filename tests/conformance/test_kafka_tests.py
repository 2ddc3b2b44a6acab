"""Kafka's own test classes of release 4.3.1, class files unchanged, against Doorkeeper processes.

``cases/kafka_tests.yaml`` lists the classes, and each test that does not pass with the reason.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest
import yaml

from testkit.checkout import ROOT
from testkit.kafka_jars import Unavailable, cannot
from testkit.kafka_test_classes import Result, run

if TYPE_CHECKING:
    from pathlib import Path

    from testkit.oracle_totals import Totals

CASES = ROOT / "tests" / "conformance" / "cases" / "kafka_tests.yaml"
CLASSES: dict[str, dict[str, str] | None] = yaml.safe_load(CASES.read_text(encoding="utf-8"))

SOMETIMES = "sometimes, "
"""A reason begins with it where a test may pass too."""

NAME = re.compile(r" > (\w+)\(")


def method(result: Result) -> str:
    """Return the name of a test's method; the class's own for a failure outside of its tests."""
    found = NAME.search(result.test)
    return found[1] if found is not None else result.test


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
def test_kafkas_tests_pass(name: str, totals: Totals, tmp_path: Path) -> None:
    """All tests of a class pass, but those that the list names with a reason, which fail."""
    log = tmp_path / "stderr.txt"
    try:
        results = run([name], log)
    except Unavailable as missing:
        cannot(str(missing))
    failed = {method(each): each.text for each in results if each.outcome == "failed"}
    named = CLASSES[name] or {}

    for outcome, count in Counter(each.outcome for each in results).items():
        totals.compared[f"tests of Kafka's own, {outcome}"] += count
    totals.accepted.update(f"{name}.{test}: {named[test]}" for test in failed if test in named)
    unexpected = {test: text for test, text in failed.items() if test not in named}
    assert any(each.outcome == "passed" for each in results) or named, "no test ran"
    assert unexpected == {}
    always = {test for test, reason in named.items() if not reason.startswith(SOMETIMES)}
    assert sorted(always - set(failed)) == [], "these pass now: remove them from the list"
