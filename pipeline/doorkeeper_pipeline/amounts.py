"""Numbers, times and shares as people read them. English, UTC, and never a number that misleads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

_UNITS = ((1_000_000_000, "B"), (1_000_000, "M"), (1_000, "k"))
_EXACT_BELOW = 10_000


def short(count: int) -> str:
    """Return a number of three digits and a unit: 9,876, 12.3k, 4.56M."""
    if abs(count) < _EXACT_BELOW:
        return f"{count:,}"
    # A number that rounds up to a thousand of a unit is one of the next.
    size, unit = next(unit for unit in _UNITS if abs(count) >= 0.9995 * unit[0])
    scaled = count / size
    digits = 2 if abs(scaled) < 9.995 else 1 if abs(scaled) < 99.95 else 0
    return f"{scaled:.{digits}f}{unit}"


def percent(part: int, whole: int) -> str:
    """Return a share in percent. Never 0 % of something that is there, nor 100 % of less."""
    if not whole:
        return "0%"
    if part and part * 1000 < whole:
        return "<0.1%"
    if part != whole and part * 1000 > 999 * whole:
        return ">99.9%"
    if 99 * whole < 100 * part < 100 * whole:
        return f"{1000 * part // whole / 10}%"
    share = 100 * part / whole
    return f"{share:.1f}%" if share < 10 and part else f"{share:.0f}%"


def moment(at: datetime) -> str:
    """Return a moment to the minute, in UTC: 3 Nov 2026 14:05. The date does not break."""
    return f"{at.day}\u00a0{at:%b}\u00a0{at:%Y %H:%M}"


def day(at: date) -> str:
    """Return a day: 3 Nov 2026."""
    return f"{at.day} {at:%b %Y}"


def days(first: date, last: date) -> str:
    """Return a range of days, as short as it goes: 1-7 Nov 2026."""
    if first == last:
        return day(first)
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day}\u2013{day(last)}"
    if first.year == last.year:
        return f"{first.day} {first:%b} \u2013 {day(last)}"
    return f"{day(first)} \u2013 {day(last)}"


def times(count: int) -> str:
    """Return a number of times: once, 2 times."""
    return "once" if count == 1 else f"{count:,} times"


def first(values: Sequence[object]) -> str:
    """Return the first five values, with ``...`` where there are more."""
    return ", ".join([*map(str, values[:5]), *(["..."] if len(values) > 5 else [])])


def amount(count: int, one: str, many: str = "") -> str:
    """Return a number with its noun: 1 grant, 2 grants."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
