"""The content of a page. Texts are unescaped; the template escapes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from typing import Any, NamedTuple

from doorkeeper_pipeline.jobs.causes import NOTHING, LeftOut

UNKNOWN = "\u2013"
"""The text in place of a number that was not computed."""

ROWS_MAX = 2_000
"""Rows of a table that are on the page: with more of them a phone gives up."""


class Kind(Enum):
    """How the values of a column are shown and sorted."""

    NAME = "name"
    HOST = "host"
    RESOURCE = "resource"
    STATEMENT = "statement"
    NUMBER = "number"
    SHARE = "share"
    TIME = "time"
    DAY = "day"
    TAG = "tag"
    TAGS = "tags"
    NAMES = "names"
    COMMANDS = "commands"
    TEXT = "text"


class Resource(NamedTuple):
    """A resource or a pattern; without a pattern type it is one resource."""

    resource_type: str
    name: str
    pattern_type: str = ""


class Statement(NamedTuple):
    """A sentence, and what more there is to say of it."""

    text: str
    more: tuple[str, ...] = ()


class Share(NamedTuple):
    """So many of so many."""

    part: int
    whole: int


class Names(NamedTuple):
    """Some names, the first of so many."""

    names: tuple[str, ...]
    total: int


class Tag(NamedTuple):
    """A word, its meaning in a sentence, and whether the reader looks for it.

    Words with a rank are sorted by it, the others by the alphabet.
    """

    word: str
    meaning: str = ""
    strong: bool = False
    rank: int | None = None


class Commands(NamedTuple):
    """Lines to be copied, under a word that opens them, and a note."""

    word: str
    lines: tuple[str, ...]
    note: str = ""


Value = (
    str
    | int
    | datetime
    | Resource
    | Statement
    | Share
    | Names
    | Tag
    | tuple[Tag, ...]
    | Commands
    | None
)
"""The value of a cell; None is unknown, or did not happen."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, how its values are shown, and whether one may choose among them.

    ``of`` is what makes a value of a row: the name of a column of the row, or a function.
    """

    title: str
    kind: Kind
    of: str | Callable[[Any], Value]
    choice: bool = False

    def value(self, row: Any) -> Value:  # noqa: ANN401  of the table's own kind
        value: Value = row[self.of] if isinstance(self.of, str) else self.of(row)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table. ``items`` are the first of ``total`` rows; ``whole`` says where all of them are.

    ``page`` is how many stand on the page at a time.
    """

    id: str
    title: str
    note: str = ""
    page: int = 25
    columns: tuple[Column, ...]
    items: Sequence[Any]
    total: int
    whole: str = ""
    empty: str = "Nothing."

    @property
    def rows(self) -> tuple[tuple[Value, ...], ...]:
        """Return the values of the rows, in the order of the columns."""
        return tuple(tuple(column.value(row) for column in self.columns) for row in self.items)

    @property
    def words(self) -> tuple[Tag, ...]:
        """Return the tags of the rows that have a meaning, each once, as they come."""
        tags: list[Tag] = []
        for row in self.rows:
            for value, column in zip(row, self.columns, strict=True):
                if column.kind is Kind.TAG and isinstance(value, Tag):
                    tags.append(value)
                elif column.kind is Kind.TAGS and isinstance(value, tuple):
                    tags += [tag for tag in value if isinstance(tag, Tag)]
        return tuple(dict.fromkeys(tag for tag in tags if tag.meaning))


class Bar(NamedTuple):
    """A bar of a list: its label, the number of decisions, and that of denials."""

    name: str
    decisions: int
    refused: int
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The longest bars of a list; ``total`` says of how many."""

    title: str
    bars: tuple[Bar, ...]
    total: int


class Slot(NamedTuple):
    """A period: its begin, and the decisions in it."""

    begin: datetime
    allowed: int
    refused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Decisions over time, in slots of equal length without gaps."""

    title: str
    slots: tuple[Slot, ...]
    slot_word: str


class Part(NamedTuple):
    """A part of a whole: its name, how many, and how strongly it is drawn, 0 to 3."""

    name: str
    size: int
    weight: int
    meaning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A whole in parts, drawn as one bar."""

    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the page. ``word`` is its short title, ``lead`` its findings in sentences.

    ``missing`` says why there is nothing.
    """

    id: str
    word: str
    title: str
    lead: tuple[str, ...] = ()
    timeline: Timeline | None = None
    whole: Whole | None = None
    rankings: tuple[Ranking, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    missing: str = ""


class Fact(NamedTuple):
    """A fact about the basis: its name, the fact, and whether it makes the rest doubtful."""

    name: str
    text: str
    doubtful: bool = False


class Figure(NamedTuple):
    """A number at the top: its text, label, explanation, and the link to details."""

    number: str
    exact: str
    what: str
    remark: str
    section: str


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The subject of the report, and the basis of its numbers."""

    title: str = "Access report"
    cluster: str = ""
    made: datetime
    version: str = ""
    rows_max: int = ROWS_MAX
    left_out: LeftOut = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The whole page."""

    about: About
    first_day: date | None
    last_day: date | None
    basis: tuple[Fact, ...]
    figures: tuple[Figure, ...]
    sections: tuple[Section, ...]
