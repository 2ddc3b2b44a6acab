r"""The report as HTML: one file that loads no other.

The page forbids itself everything but its own style and script, by their digests: even a name that
got past the escaping would load and run nothing. Templates escape all values.

A principal may be called anything. What cannot be seen, or changes how other text is seen, is
written as an escape first: controls, marks that turn the direction of writing, zero widths, odd
spaces, spaces at the ends, marks that pile up on one letter. ``User:\u202etxt.exe`` stays one that
a reader can tell from ``User:exe.txt``.
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from doorkeeper_pipeline import amounts
from doorkeeper_pipeline.report import charts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper_pipeline.report.model import Report


_KINDS = {"TRANSACTIONAL_ID": "transaction", "DELEGATION_TOKEN": "token"}


def html_parts(report: Report) -> Iterator[str]:
    """Return the page of a report in pieces, so that a large one need not be in memory twice."""
    style, script = _page("report.css") + _labels(report), _page("report.js")
    policy = (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none';"
        f" style-src '{digest_of(style)}'; script-src '{digest_of(script)}'"
    )
    template = _environment().get_template("report.html")
    yield from template.generate(
        report=report,
        policy=policy,
        style=Markup(style),  # noqa: S704 - ours, and without "</"
        script=Markup(script),  # noqa: S704 - as the style
    )


def digest_of(text: str) -> str:
    """Return the hash by which a Content-Security-Policy allows an inline text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def show_name(text: str) -> Markup:
    """Return a name as HTML: invisible characters as escapes, the middle of a long one left out."""
    begin, end, left_out = shorten(text)
    inside = _pieces(begin)
    if left_out:
        what = f"\u2026 {left_out:,} characters \u2026"
        whole = plain(text[:WHOLE_LENGTH_MAX])
        inside += Markup('<span class="esc" title="{}">{}</span>').format(whole, what)
        inside += _pieces(end)
    warning = warning_of(text)
    mark = Markup('<span class="tag strong mixed">{}</span>').format(warning) if warning else ""
    return Markup("<bdi>{}</bdi>{}").format(inside, mark)


def shown_whole(text: str) -> Markup:
    """Return a text as HTML, nothing of it left out: half a command is worse than none."""
    return Markup("<bdi>{}</bdi>").format(_pieces(text))


def kind_of(resource_type: str) -> str:
    """Return a resource type in the words of a sentence."""
    return _KINDS.get(resource_type) or plain(resource_type.replace("_", " ").lower())


def _pieces(text: str) -> Markup:
    return Markup("").join(
        Markup('<span class="esc">{}</span>').format(piece.text)
        if piece.escaped
        else escape(piece.text)
        for piece in pieces(text)
    )


def _labels(report: Report) -> str:
    """Return the rules that write a column's title before its cell where tables are cards."""
    rules = [
        f'#{table.id} td:nth-child({number})::before {{ content: "{column.title}"; }}'
        for section in report.sections
        for table in section.tables
        for number, column in enumerate(table.columns, 1)
    ]
    return "@media (max-width: 40rem) {\n" + "\n".join(rules) + "\n}\n"


def _environment() -> Environment:
    environment = Environment(
        autoescape=True,
        loader=FunctionLoader(_page),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "day": amounts.day,
        "days": amounts.days,
        "kind": kind_of,
        "moment": amounts.moment,
        "number": "{:,}".format,
        "plain": plain,
        "short": amounts.short,
        "shown": show_name,
        "shown_whole": shown_whole,
    }
    environment.globals |= {
        "ranking_lines": charts.ranking_lines,
        "stretches": charts.stretches,
        "time_chart": charts.time_chart,
    }
    return environment


def _page(name: str) -> str:
    return files("doorkeeper_pipeline.report").joinpath("page", name).read_text(encoding="utf-8")


_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_MARKS = frozenset({"Mn", "Me"})
_MARKS_MAX = 2
"""So many accents a letter has in the languages that pile them; more is there to cover text."""

NAME_LENGTH_MAX = 120
"""Characters of a name that are shown at once; longer ones lose their middle."""

WHOLE_LENGTH_MAX = 2_000
"""Characters of a name that a pointer shows. Topics have 249, groups and principals no limit."""

_HEAD, _TAIL = 80, 24
_LETTERS = ("LATIN", "CYRILLIC", "GREEK")
_MIXED = "mixed scripts"


class Piece(NamedTuple):
    """A piece of a name: its text, and whether the text is an escape."""

    text: str
    escaped: bool


def pieces(text: str) -> list[Piece]:
    """Return a name in pieces; escapes stand for invisible characters."""
    if text.isascii() and text.isprintable() and text == text.strip(" ") and text:
        return [Piece(text, escaped=False)]
    if not text:
        return [Piece("(empty)", escaped=True)]
    parts: list[Piece] = []
    begin, end = len(text) - len(text.lstrip(" ")), len(text.rstrip(" "))
    marks = 0
    for position, character in enumerate(text):
        category = unicodedata.category(character)
        marks = marks + 1 if category in _MARKS else 0
        plain = (
            category not in _HIDDEN
            and marks <= _MARKS_MAX
            and (category != "Zs" or (character == " " and begin <= position < end))
        )
        shown = character if plain else escape_of(character)
        if parts and parts[-1].escaped is not plain:
            parts[-1] = Piece(parts[-1].text + shown, escaped=not plain)
        else:
            parts.append(Piece(shown, escaped=not plain))
    return parts


def escape_of(character: str) -> str:
    r"""Return a character as Python and Java write it: ``\n``, ``\x20``, ``\u202e``."""
    return "\\x20" if character == " " else character.encode("unicode_escape").decode()


def shorten(text: str) -> tuple[str, str, int]:
    """Return begin and end of a name, and how many characters between them are left out."""
    if len(text) <= NAME_LENGTH_MAX:
        return text, "", 0
    return text[:_HEAD], text[-_TAIL:], len(text) - _HEAD - _TAIL


def warning_of(text: str) -> str:
    """Return a warning about a name's letters; empty if there is none.

    Latin, Greek and Cyrillic share letters that look the same: a name that mixes them may
    pass for another one.
    """
    if text.isascii():
        return ""
    scripts = {
        unicodedata.name(character, "").partition(" ")[0]
        for character in set(text)
        if character.isalpha()
    }
    return _MIXED if len(scripts & set(_LETTERS)) > 1 else ""


def plain(text: str) -> str:
    """Return a name as one text, escapes included; for places that cannot show pieces."""
    return "".join(piece.text for piece in pieces(text))
