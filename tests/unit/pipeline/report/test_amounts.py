"""Numbers, times and shares as people read them."""

from __future__ import annotations

import pytest

from doorkeeper_pipeline.report import amounts


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 10, "0%"),
        (1, 1_000_000, "<0.1%"),
        (1, 3, "33%"),
        (999_999, 1_000_000, ">99.9%"),
        (860, 863, "99.6%"),
        (10, 10, "100%"),
    ],
)
def test_shares_do_not_mislead(part: int, whole: int, text: str) -> None:
    """Something is never 0 %, and less than all is never 100 %."""
    assert amounts.percent(part, whole) == text
