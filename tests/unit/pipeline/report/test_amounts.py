"""Numbers, times and shares as people read them."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from doorkeeper_pipeline.report import amounts


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (9_999, "9,999"),
        (10_000, "10.0k"),
        (99_949, "99.9k"),
        (123_456, "123k"),
        (4_560_000, "4.56M"),
        (45_600_000, "45.6M"),
        (2_000_000_000, "2.00B"),
        (999_999, "1.00M"),
        (99_999, "100k"),
        (9_999_999, "10.0M"),
        (999_999_999, "1.00B"),
    ],
)
def test_short_numbers_have_three_digits(count: int, text: str) -> None:
    """Below ten thousand all digits are there, above it three and a unit."""
    assert amounts.short(count) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 0, "0%"),
        (0, 10, "0%"),
        (1, 1_000_000, "<0.1%"),
        (1, 30, "3.3%"),
        (1, 3, "33%"),
        (999_999, 1_000_000, ">99.9%"),
        (860, 863, "99.6%"),
        (997, 1000, "99.7%"),
        (99, 100, "99%"),
        (10, 10, "100%"),
    ],
)
def test_shares_do_not_mislead(part: int, whole: int, text: str) -> None:
    """Something is never 0 %, and less than all is never 100 %."""
    assert amounts.percent(part, whole) == text


def test_times_are_read_as_written() -> None:
    """Day before month, UTC, and the date in one piece."""
    at = datetime(2026, 11, 3, 4, 5, 59, tzinfo=UTC)

    assert amounts.moment(at) == "3\u00a0Nov\u00a02026 04:05"
    assert amounts.day(at) == "3 Nov 2026"


def test_ranges_of_days_are_short() -> None:
    """What both ends share is written once."""
    first = date(2026, 11, 1)

    assert amounts.days(first, first) == "1 Nov 2026"
    assert amounts.days(first, date(2026, 11, 7)) == "1\u20137 Nov 2026"
    assert amounts.days(first, date(2026, 12, 7)) == "1 Nov \u2013 7 Dec 2026"
    assert amounts.days(first, date(2027, 1, 7)) == "1 Nov 2026 \u2013 7 Jan 2027"


def test_one_is_not_many() -> None:
    """Words have a plural."""
    assert amounts.amount(1, "grant") == "1 grant"
    assert amounts.amount(1_000, "grant") == "1,000 grants"
    assert amounts.amount(0, "is", "are") == "0 are"
