"""The report as HTML: one file that loads no other.

The page forbids itself everything but its own style and script, by their digests: even a name that
got past the escaping would load and run nothing. Templates escape all values, and names go
through ``visible`` first.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from doorkeeper_pipeline.report import amounts, charts
from doorkeeper_pipeline.report.visible import (
    WHOLE_LENGTH_MAX,
    pieces,
    plain,
    shorten,
    warning_of,
)

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
        "number": amounts.number,
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
