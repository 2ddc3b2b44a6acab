"""doorkeeper_schemas.events: the classes that the server encodes."""

from __future__ import annotations

import msgspec

from doorkeeper_schemas.events import events_source
from doorkeeper_schemas.records import Events, Field, ListOf, Record, StructOf

EVENTS = Events(
    title="An event",
    meaning="One line.",
    kinds=(
        Record(
            name="made_up",
            kind="made_up",
            meaning="Something was made.",
            fields=(
                Field(name="seq", type="int64", nullable=False, meaning="Number."),
                Field(name="all", type=ListOf(StructOf("grant")), nullable=False, meaning="All."),
                Field(name="one", type=StructOf("grant"), nullable=True, meaning="One."),
            ),
        ),
    ),
    parts=(
        Record(
            name="grant",
            kind=None,
            meaning="Who.",
            fields=(Field(name="name", type="string", nullable=False, meaning="The name."),),
        ),
    ),
)


def test_the_source_runs() -> None:
    """What is written is Python, and an event becomes a line that begins with its kind."""
    names: dict[str, type] = {}
    exec(events_source(EVENTS, "x"), names)
    made, grant = names["MadeUp"], names["Grant"]

    line = msgspec.json.encode(made(seq=1, all=(grant(name="a"),), one=None))

    assert line == b'{"kind":"made_up","seq":1,"all":[{"name":"a"}],"one":null}'
