"""Pictures as SVG, drawn on the server; the table with the same numbers stands next to each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, Final

from markupsafe import Markup
from msgspec import Struct

from doorkeeper.cli.terminal import printable

WIDTH: Final = 720
HEIGHT: Final = 120
BASE: Final = HEIGHT - 20
DAYS_MAX: Final = 120


class Bars(Struct, frozen=True):
    """A bar chart over days: the drawing, and its numbers for a table."""

    svg: Markup
    rows: tuple[tuple[str, int], ...]


def bars(numbers: Counter[str], title: str) -> Bars | None:
    """Return the newest numbers by day as bars, the days without any too; None without numbers."""
    if not numbers:
        return None
    first, last = (date.fromisoformat(day) for day in (min(numbers), max(numbers)))
    first = max(first, last - timedelta(days=DAYS_MAX - 1))
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    most = max(numbers.values())
    step = min(WIDTH / len(days), 48.0)
    drawn = []
    for index, day in enumerate(days):
        number = numbers.get(day.isoformat(), 0)
        height = max(2.0, (BASE - 16) * number / most) if number else 0.0
        box = (index * step + 1, BASE - height, max(1.0, step - 2), height)
        bar = Markup('<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}">')
        drawn.append(bar.format(*box) + Markup("<title>{}: {}</title></rect>").format(day, number))
    width = step * len(days)
    label = f"{title}, {first} to {last}; at most {most}. The table has the numbers."
    ends = (first, max(width, 240), last if last != first else "")
    svg = Markup(
        '<svg class="chart" role="img" aria-label="{0}" viewBox="0 0 {1} {2}"><line class="axis"'
        ' x1="0" x2="{4:.0f}" y1="{3}" y2="{3}"/>{5}<g transform="translate(0 {2})"><text y="-4">'
        '{6}</text><text x="{7:.0f}" y="-4" text-anchor="end">{8}</text></g></svg>'
    ).format(label, WIDTH, HEIGHT, BASE, width, Markup("").join(drawn), *ends)
    shown = {day.isoformat() for day in days}
    return Bars(svg, tuple(sorted((day, n) for day, n in numbers.items() if day in shown)))


CELL: Final = 28
MATRIX: Final = 880
"""The width of a picture with few columns."""
NAME_MAX: Final = 30


def matrix(
    columns: Sequence[tuple[str, str]],
    rows: Sequence[tuple[str, Sequence[dict[str, Any] | None]]],
) -> Markup:
    """Return principals and patterns as a grid: allowed, by which kind of row, or denied."""
    # The names of columns lean by 50 degrees.
    head = 28 + max(7 * len(_short(_words(how, name))) for how, name in columns)
    margin = 20 + max(8 * len(_short(name)) for name, _ in rows)
    wide = max(CELL, min(3 * CELL, (MATRIX - margin - head) // len(columns)))
    width, height = margin + wide * len(columns) + head, head + CELL * len(rows) + 4
    parts = [
        Markup('<text class="column" transform="translate({} {}) rotate(-50)">{}</text>').format(
            margin + wide * index + wide // 2 + 3, head - 8, _short(_words(how, name))
        )
        for index, (how, name) in enumerate(columns)
    ]
    for number, (principal, cells) in enumerate(rows):
        top = head + CELL * number
        parts.append(
            Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(
                margin - 8, top + 19, _short(principal)
            )
        )
        for index, (column, cell) in enumerate(zip(columns, cells, strict=True)):
            parts.append(_cell((margin + wide * index, top, wide), principal, column, cell))
    label = (
        f"{len(rows)} principals and {len(columns)} patterns: which are allowed and which denied."
        " The table below has the same."
    )
    return Markup(
        '<svg class="chart matrix" role="img" aria-label="{}" viewBox="0 0 {} {}"'
        ' width="{}">{}</svg>'
    ).format(label, width, height, width, Markup("").join(parts))


def _cell(
    box: tuple[int, int, int],
    principal: str,
    column: tuple[str, str],
    cell: dict[str, Any] | None,
) -> Markup:
    (left, top, wide), (how, name) = box, column
    kind, does = "none", "no ACL"
    if cell is not None:
        kind = "all" if name == "*" else how.lower()
        does = ", ".join(cell["operations"]) or "nothing"
        if cell["sometimes"]:
            does += f"; from some hosts only {', '.join(cell['sometimes'])}"
        if cell["denied"]:
            kind, does = "deny", f"denied {', '.join(cell['denied'])}; allowed {does}"
    title = f"{_short(principal)}, {_short(_words(how, name))}: {does}"
    return Markup(
        '<rect class="cell {}" x="{}" y="{}" width="{}" height="{}" rx="4"><title>{}</title></rect>'
    ).format(kind, left + 1, top + 1, wide - 2, CELL - 2, title)


def _words(how: str, name: str) -> str:
    return f"{name}…" if how == "PREFIXED" else name


def _short(text: str) -> str:
    whole = printable(text)
    return whole if len(whole) <= NAME_MAX else f"{whole[: NAME_MAX - 1]}…"
