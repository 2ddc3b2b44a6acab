"""Principals that lines which are not certain may be about: their grants may be in use.

Such are the lines in quarantine, and decisions whose principal has another reading, see
``doorkeeper.acls.formats.logged_principals``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec
import polars as pl

from doorkeeper.acls.formats import logged_principals
from doorkeeper_pipeline.evaluation.unread import UnreadLines

TEXT_MAX = 500
"""Characters of a quarantined piece that are kept where none behind them names a principal."""

READINGS_MAX = 8
"""Ends of a principal that are tried in a line: a name may hold what follows it."""

_LEFT_OUT = " ... "
_BEGIN = "Principal = "
_END = " is "
_NEXT_RECORD = re.compile(r"\n\[?\d{4}-\d\d-\d\d")
_CUT_LINE = re.compile(rf"\s*({logged_principals.PLAIN}.*?) is (?:Allowed|Denied) ", re.DOTALL)
_OTHER_AUTHORIZER = re.compile(r"\bAuth request \w+ on (?:(?!\bAuth request ).)* by (\w+) (\S+)")
_FIELD = re.compile(r'"principal"\s*:\s*"((?:[^"\\]|\\.)*)"')
_USER = re.compile(r'"user"\s*:\s*\{[^{}]*?"name"\s*:\s*"((?:[^"\\]|\\.)*)"')
# No mention is searched beyond the next one: the time must not grow with the square of a length.
_MENTION = re.compile(rf"{_BEGIN}(?:(?:(?!{_BEGIN}).)*?{_END})?", re.DOTALL)
_NAMING = (_MENTION, _OTHER_AUTHORIZER, _FIELD, _USER)


def excerpt(text: str) -> str:
    """Return the beginning of a quarantined piece, and what behind it names a principal.

    The text of which principals are taken is this one: of a name that is not kept, nobody knows.
    """
    if len(text) <= TEXT_MAX:
        return text
    cut = _CUT_LINE.match(text)
    parts = [(0, max(TEXT_MAX, cut.end() if cut else 0))]
    named = sorted(match.span() for pattern in _NAMING for match in pattern.finditer(text))
    for start, end in named:
        # A name may hold what looks like its end.
        stop = max(end, min(start + TEXT_MAX, len(text)))
        before, ended = parts[-1]
        if start > ended:
            parts.append((start, stop))
        else:
            parts[-1] = (before, max(ended, stop))
    return _LEFT_OUT.join(text[start:end] for start, end in parts)


def unread_in(quarantine: pl.DataFrame, principals: Iterable[str]) -> UnreadLines:
    """Return those of the rows of a quarantine, and of the principals of decisions.

    A compressed file that breaks off has a row without a text, which is no line.
    """
    lines = quarantine.filter(pl.col("text") != "")
    # Without its time a line is the same as others.
    texts = lines.select(text=pl.col("text").str.replace(r"(?s)\A.*?(Principal = )", "${1}"))
    possible: set[str] = set()
    nameless = 0
    for text, count in texts.group_by("text").len().iter_rows():
        named = principals_of(text)
        possible |= named.principals
        nameless += named.nameless * count
    for principal in principals:
        possible |= logged_principals.read(principal).alternatives
    return UnreadLines(frozenset(possible), nameless)


def principals_of(text: str) -> UnreadLines:
    """Return the principals that a line which cannot be read may be about.

    It is nameless if it has none, or another line is torn in it whose principal is cut. A name may
    hold what looks like its end.
    """
    readings, is_nameless = _readings(text)
    possible: set[str] = set()
    for reading in readings:
        for text_of in {reading, _unescaped(reading)}:
            principal = logged_principals.read(text_of)
            possible |= principal.alternatives | {principal.principal}
    possible.discard("")
    return UnreadLines(frozenset(possible), int(is_nameless or not possible))


def _readings(text: str) -> tuple[set[str], bool]:
    """Return the texts that may be principals, and whether one is cut."""
    pieces = text.split(_BEGIN)[1:]
    readings: set[str] = set()
    is_cut = False
    for piece in pieces:
        parts = _NEXT_RECORD.split(piece)[0].split(_END)[:READINGS_MAX]
        readings.update(_END.join(parts[:count]) for count in range(1, len(parts)))
        is_cut = is_cut or len(parts) == 1
    if not pieces:
        cut = _CUT_LINE.match(text)
        readings.update([cut[1]] if cut else ())
        readings.update(f"{match[1]}:{match[2]}" for match in _OTHER_AUTHORIZER.finditer(text))
        readings.update(match[1] for match in _FIELD.finditer(text))
        readings.update(f"User:{match[1]}" for match in _USER.finditer(text))
    return readings, is_cut


def _unescaped(text: str) -> str:
    """Return the text of a JSON string, in case it is a part of one."""
    if "\\" not in text:
        return text
    try:
        return msgspec.json.decode(f'"{text}"', type=str)
    except msgspec.DecodeError:
        return text
