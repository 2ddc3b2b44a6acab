"""Grants whose used names are generated: literal grants on them would refuse the next name.

The names that a principal used through a pattern are generated where one of these holds:

    shape     some differ only in what programs write: a UUID, a hash, a time, a number, letters
              that nobody pronounces
    turnover  new ones keep coming, and old ones are not used any more
    number    they are too many to list
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Final

import polars as pl

from doorkeeper.acls.model import WILDCARD, AclBinding, PatternType

NAMES_MAX: Final = 1_000
"""A principal with more names of a pattern gets no list of them; so many are looked at."""

CERTAIN_MIN: Final = 3
"""Names with UUIDs, hashes or times that suffice; of numbers and letters people write some too."""

COUNTED_MIN: Final = 10
LETTERS_SHARE: Final = 0.3
"""Of names that people chose, far fewer have four consonants in a row."""

TURNOVER_SHARE: Final = 0.25
"""The share of names that came in the second half of a history, and of those last used before."""

_CERTAIN = ("<uuid>", "<time>", "<hash>", "<index>", "<pod>")
_FOUND = ("uuid", "time", "index", "pod")
_LETTERS = "<letters>"

_TOKEN = re.compile(
    r"(?P<uuid>[0-9a-fA-F]{8}(?P<dash>-?)[0-9a-fA-F]{4}(?:(?P=dash)[0-9a-fA-F]{4}){2}(?P=dash)"
    r"[0-9a-fA-F]{12})"
    r"|(?<!\d)(?P<time>20\d\d(?P<sign>[-_.]?)[01]\d(?P=sign)[0-3]\d"
    r"(?:[-_.T]?[0-2]\d[-_.:]?[0-5]\d(?:[-_.:]?[0-5]\d)?)?|1[4-9]\d{8}(?:\d{3}){0,3})(?!\d)"
    # The numbers of nodes in a topology of Kafka Streams.
    r"|(?<!\d)(?P<index>0\d{9})(?!\d)"
    # The ends of the names of pods.
    r"|(?<=-)(?P<pod>[bcdfghjklmnpqrstvwxz2456789]{8,10}-[bcdfghjklmnpqrstvwxz2456789]{5})(?!\w)"
    r"|(?P<word>[0-9A-Za-z]+)"
)
_HASH = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{8,}|(?=.*\d)(?=.*[A-F])[0-9A-F]{8,}")
_DIGITS = re.compile(r"\d+")
_SWITCHES = re.compile(r"(?<=\d)(?=[A-Za-z])|(?<=[A-Za-z])(?=\d)")
_UNSPOKEN = re.compile(r"(?=[a-z]{6})[a-z]*[^\Waeiou\d_]{4}", re.IGNORECASE)
_SERIES = re.compile(r"<\w+>(?:[-_]<\w+>)+")
_SWITCHES_MIN = 2


def generated(
    bindings: Sequence[AclBinding],
    touches: pl.DataFrame,
    begin: dt.datetime | None,
    end: dt.datetime | None,
) -> dict[int, str]:
    """Return for each binding, by number, why its names cannot be listed; none where they can.

    ``touches`` are as of ``overbroad``. The history lasts from ``begin`` to ``end``.
    """
    if begin is None or end is None:
        return {}
    middle = begin + (end - begin) / 2
    patterns = [number for number, binding in enumerate(bindings) if _is_pattern(binding)]
    names_of = (
        touches.filter(pl.col("binding").is_in(patterns))
        .group_by("binding", "principal", "resource_name")
        .agg(pl.col("first_ts").min(), pl.col("last_ts").max())
        .sort("binding", "principal", "resource_name")
        .group_by("binding", "principal", maintain_order=True)
        .agg(
            pl.len().alias("number"),
            (pl.col("first_ts") > middle).sum().alias("late"),
            (pl.col("last_ts") < middle).sum().alias("gone"),
            # Names that follow each other alphabetically are alike, those of the whole are not.
            pl.col("resource_name").filter(
                pl.int_range(pl.len()) % (pl.len() // NAMES_MAX + 1) == 0
            ),
        )
        .filter(pl.col("number") >= CERTAIN_MIN)
    )
    # Many principals use the same names.
    shape = cache(shape_of)
    reasons: dict[int, str] = {}
    for number, _, count, late, gone, some in names_of.iter_rows():
        reason = _reason(count, late, gone, [shape(name) for name in some])
        if reason:
            reasons.setdefault(number, reason)
    return reasons


def shape_of(name: str) -> str:
    """Return a name with what programs write into names replaced: ``job-<uuid>``."""
    return _SERIES.sub(_joined, _TOKEN.sub(_kind, name))


def _is_pattern(binding: AclBinding) -> bool:
    _, name, pattern_type = binding.pattern
    return pattern_type is PatternType.PREFIXED or name == WILDCARD


def _reason(count: int, late: int, gone: int, shapes: Sequence[str]) -> str:
    for shape, alike in Counter(shape for shape in shapes if "<" in shape).most_common():
        if _is_generated(shape, alike, len(shapes)):
            return f"its names are generated, such as {shape} ({count:,} names)"
    if count > NAMES_MAX:
        return f"it was used for {count:,} names"
    if count >= COUNTED_MIN and min(late, gone) >= TURNOVER_SHARE * count:
        return (
            f"its names change: of {count:,} names, {late:,} came in the second half of the"
            f" history, and {gone:,} were last used before"
        )
    return ""


def _is_generated(shape: str, alike: int, names: int) -> bool:
    if any(placeholder in shape for placeholder in _CERTAIN):
        return alike >= CERTAIN_MIN
    if _LETTERS in shape:
        return alike >= max(COUNTED_MIN, LETTERS_SHARE * names)
    return "<" in shape and alike >= COUNTED_MIN


def _joined(series: re.Match[str]) -> str:
    return next((placeholder for placeholder in _CERTAIN if placeholder in series[0]), "<random>")


def _kind(token: re.Match[str]) -> str:
    word = token["word"]
    if word is None:
        return next(f"<{kind}>" for kind in _FOUND if token[kind] is not None)
    if _HASH.fullmatch(word):
        return "<hash>"
    if len(_SWITCHES.findall(word)) >= _SWITCHES_MIN:
        return "<random>"
    if _UNSPOKEN.match(word) and not word.isupper():
        return _LETTERS
    return _DIGITS.sub("<number>", word)
