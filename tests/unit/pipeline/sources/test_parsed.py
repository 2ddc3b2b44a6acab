"""What sources give."""

from __future__ import annotations

import pytest

from doorkeeper_pipeline.evaluation.unread import UnreadLines
from doorkeeper_pipeline.sources.json_lines import Decided, _frame
from doorkeeper_pipeline.sources.parsed import quarantine_frame, sum_decisions
from doorkeeper_pipeline.sources.possible_principals import TEXT_MAX, principals_of, unread_in

LONG = "n" * TEXT_MAX

ROW = Decided(
    "User:a", "h", "READ", "TOPIC", "t", "DENIED", "", "", "", False, 2, 60_000_000, 61_000_000
)


def test_equal_decisions_of_a_minute_are_summed() -> None:
    """Equal decisions are one row; another minute is another row."""
    rows = [ROW, ROW._replace(first_us=59_000_000), ROW._replace(last_us=70_000_000)]
    found = sum_decisions(_frame(rows, "trail")).sort("minute")

    assert found["count"].to_list() == [2, 4]
    assert found["lines"].to_list() == [1, 2]


@pytest.mark.parametrize("before", ["", LONG[:-9], LONG, 3 * LONG])
@pytest.mark.parametrize("behind", ["", 3 * LONG])
@pytest.mark.parametrize(
    ("text", "principal"),
    [
        ("Principal = User:svc is Permitted", "User:svc"),
        (f"Principal = User:{LONG} is Permitted", f"User:{LONG}"),
        ("Principal = User:a is b is Permitted", "User:a is b"),
        ('{"user":{"name":"svc"}}', "User:svc"),
        (f'{{"user":{{"id":"{LONG}","name":"svc"}}}}', "User:svc"),
        ('{"principal":"User:svc"}', "User:svc"),
        (" Auth request Read on Topic:t by User svc", "User:svc"),
    ],
)
def test_principal_is_found_anywhere_in_a_long_line(
    before: str, behind: str, text: str, principal: str
) -> None:
    frame = quarantine_frame([(0, 1, "why", f"{before}{text} {behind}")])

    found = unread_in(frame, [])

    assert principal in found.principals
    assert not found.nameless


def test_principal_of_a_torn_line_may_be_long() -> None:
    frame = quarantine_frame([(0, 1, "why", f"User:{LONG} is Allowed {LONG}")])

    assert unread_in(frame, []) == UnreadLines(frozenset({f"User:{LONG}"}))


def test_text_that_names_nobody_is_cut() -> None:
    text = quarantine_frame([(0, 1, "why", 3 * LONG)])["text"][0]

    assert len(text) == TEXT_MAX
    assert principals_of(text) == UnreadLines(frozenset(), 1)
