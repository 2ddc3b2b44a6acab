"""Pages as HTML: templates, names of strangers as text, long lists page by page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode
from zlib import crc32

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from doorkeeper.cli.terminal import printable
from doorkeeper.server.state.history.moments import time_text

ROWS: Final = 50
"""Rows of a page of a long list."""

SHORT: Final = 80
"""The length of a name that is shown whole."""

FAR: Final = 28
"""The length of a name that may be broken in a column."""

LINKED: Final = 300
"""The length of a name that stands in links, and unfolds."""

SENTENCE: Final = 1_000

FOLDER: Final = Path(__file__).parent


class Rows:
    """One page of a long list."""

    def __init__(self, items: Sequence[Any], number: int, size: int = ROWS) -> None:
        """Take all items and the number of the page, from 1."""
        self.total = len(items)
        self.pages = max(1, -(-self.total // size))
        self.number = min(number, self.pages)
        self.first = (self.number - 1) * size
        self.items = items[self.first : self.first + size]
        self.last = self.first + len(self.items)


def environment() -> Environment:
    """Return the templates; everything is escaped."""
    templates = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(shown=shown, count=count, sentence=sentence)
    templates.globals.update(link=link, Rows=Rows, is_long=is_long, moment=moment, without=without)
    # Links to static files have it: no browser shows the style of another version.
    version = crc32(b"".join(file.read_bytes() for file in sorted((FOLDER / "static").iterdir())))
    templates.globals.update(row_of=row_of_record, version=f"{version:x}")
    return templates


def is_long(text: str) -> bool:
    """Say whether a name is too long for links."""
    return len(text) > LINKED


def moment(time_s: float) -> str:
    """Return a time in words."""
    return f"{time_text(round(time_s) * 1000)[:16].replace('T', ' ')} UTC"


def shown(text: object) -> Markup:
    """Return a name as text: control and direction marks are visible, a long one is shortened."""
    whole = printable(str(text))
    if len(whole) <= FAR:
        return Markup("<bdi>{}</bdi>").format(whole)
    if len(whole) <= SHORT:
        return Markup('<bdi class="far">{}</bdi>').format(whole)
    short = Markup('<bdi class="far">{}…</bdi>').format(whole[: SHORT - 1])
    if len(whole) > LINKED:
        note = f"{len(whole):,} characters; JSON has all"
        return Markup('{} <small class="note">({})</small>').format(short, note)
    return Markup(
        '<details class="long"><summary>{}</summary><bdi class="far">{}</bdi></details>'
    ).format(short, whole)


def sentence(text: object) -> Markup:
    """Return a sentence, in which names may stand, as text; a very long one is cut."""
    whole = printable(str(text))
    cut = f"{whole[:SENTENCE]}…" if len(whole) > SENTENCE else whole
    return Markup('<span class="sentence">{}</span>').format(cut)


def count(number: int, noun: str, plural: str = "") -> Markup:
    """Return a number with its noun: ``1 topic``, ``2,000 topics``."""
    return escape(f"{number:,} {noun if number == 1 else plural or f'{noun}s'}")


def row_of_record(record: Mapping[str, str]) -> str:
    """Return the record of an ACL as a row."""
    words = ("principal", "resourceType", "patternType", "name", "operation", "permissionType")
    cells = [*(record[word] for word in words), record["host"]]
    return ",".join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in cells)


def signed(plan: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the ACLs of a plan or a comparison, with what is done with them."""
    signs = (("add", "added"), ("remove", "removed"))
    return [(sign, row) for sign, key in signs for row in plan.get(key, ())]


def without(changes: Mapping[str, Sequence[str]], field: str, row: str) -> str:
    """Return the fields of a change as a query, without one of its rows."""
    pairs = [(name, text) for name, rows in changes.items() for text in rows]
    return urlencode([pair for pair in pairs if pair != (field, row)])


def link(path: str, fields: Mapping[str, Sequence[str]] | None = None, **changes: object) -> str:
    """Return a link with fields, some of them changed; None leaves one out."""
    pairs = [
        (name, value)
        for name, values in (fields or {}).items()
        if name not in changes
        for value in values
        if value
    ]
    pairs += [(name, str(value)) for name, value in changes.items() if value not in (None, "")]
    query = urlencode(pairs)
    return f"{path}?{query}" if query else path
