"""Answers and authorizer log lines that Kafka's own StandardAuthorizer gave, recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testkit.oracle_authorizer import FORMS, compared, our_answer

RECORDED = Path(__file__).resolve().parents[3] / "vectors" / "authorizer.json"


@pytest.mark.parametrize("release", FORMS)
def test_answers_match_kafkas_authorizer(release: str) -> None:
    rows = json.loads(RECORDED.read_text())

    for row in rows:
        found = compared(row["world"], row["answers"][release], our_answer(row["world"], release))
        assert not found.different, found.different[0]
    assert sum(len(row["world"]["questions"]) for row in rows) >= 400
