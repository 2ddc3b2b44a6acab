"""Heights, widths and labels of bars. Pure numbers: the template draws them.

Bars are drawn in a box that is stretched to its place, so everything here is a share of it. What
is there is seen: the shortest bar of something that happened has a height.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper_pipeline.amounts import day, moment, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper_pipeline.report.model import Part, Ranking, Slot, Timeline

HEIGHT = 100.0
_LABELS_MAX = 7
_LABEL_X_MAX = 92.0
SEEN = 1.5
"""The least height, of 100, of a bar that stands for something."""


class Rect(NamedTuple):
    """A part of a bar: left edge, width, foot, height, and whether it stands for refusals."""

    x: float
    width: float
    foot: float
    height: float
    refused: bool


class SlotBar(NamedTuple):
    """The bar of a slot: its parts from the ground up, and the text that a pointer shows."""

    rects: tuple[Rect, ...]
    text: str


class Label(NamedTuple):
    """A text below the axis, and where it begins, of 100."""

    x: float
    text: str


class TimeChart(NamedTuple):
    """Bars on one scale, its unit and labels from top to ground; a summary for screen readers."""

    unit: str
    columns: tuple[SlotBar, ...]
    labels: tuple[str, ...]
    dates: tuple[Label, ...]
    summary: str


class Line(NamedTuple):
    """A bar of a ranking: the lengths of the allowed and denied parts, of 100."""

    allowed: float
    refused: float


class Stretch(NamedTuple):
    """A part of a whole: where it begins and how wide it is, of 100."""

    x: float
    width: float


def ceiling_of(highest: int) -> int:
    """Return the round number that a scale ends with, not below; from 2 on it has a half."""
    size = 1
    while True:
        for step in (1, 2, 4, 6, 8):
            if step * size >= highest:
                return step * size
        size *= 10


def time_chart(timeline: Timeline) -> TimeChart:
    """Return a timeline as bars; refusals stand at the ground of each, on the same scale."""
    slots = timeline.slots
    top = ceiling_of(max((slot.allowed + slot.refused for slot in slots), default=0))
    step = 1000 / max(1, len(slots))
    columns = tuple(
        SlotBar(_rects(slot, number * step + step * 0.08, step * 0.84, top), _text(timeline, slot))
        for number, slot in enumerate(slots)
        if slot.allowed or slot.refused
    )
    labels = (short(top), short(top // 2), "0") if top > 1 else ("1", "0")
    unit = f"Decisions per {timeline.slot_word}"
    return TimeChart(unit, columns, labels, _dates(slots), _summary(timeline))


def ranking_lines(ranking: Ranking) -> tuple[Line, ...]:
    """Return the bars of a ranking; the longest fills the box."""
    longest = max((bar.decisions for bar in ranking.bars), default=0)
    return tuple(_line(bar.decisions, bar.refused, longest) for bar in ranking.bars)


def stretches(parts: Sequence[Part]) -> tuple[Stretch, ...]:
    """Return the parts of a whole, one after the other; none that is there gets lost."""
    total = sum(part.size for part in parts)
    if not total:
        return tuple(Stretch(0.0, 0.0) for _ in parts)
    widths = [max(100 * part.size / total, 0.6) if part.size else 0.0 for part in parts]
    scale = 100 / sum(widths)
    begins = accumulate(widths, initial=0.0)
    return tuple(
        Stretch(round(begin * scale, 3), round(width * scale, 3))
        for begin, width in zip(begins, widths, strict=False)
    )


def _rects(slot: Slot, x: float, width: float, top: int) -> tuple[Rect, ...]:
    rects = []
    foot = 0.0
    for count, refused in ((slot.refused, True), (slot.allowed, False)):
        if count:
            height = round(max(HEIGHT * count / top, SEEN), 2)
            rects.append(Rect(round(x, 3), round(width, 3), foot, height, refused))
            foot = round(foot + height, 2)
    return tuple(rects)


def _text(timeline: Timeline, slot: Slot) -> str:
    when = day(slot.begin) if timeline.slot_word == "day" else moment(slot.begin)
    return f"{when} UTC: {slot.allowed:,} allowed, {slot.refused:,} refused"


def _dates(slots: Sequence[Slot]) -> tuple[Label, ...]:
    """Return the labels below the axis, where a day begins; within two days where hours do.

    At most seven, none so far to the right that its text would leave the page.
    """
    if not slots:
        return ()
    within_days = (slots[-1].begin - slots[0].begin).days < 2
    step = 6 if within_days else 24
    places = [
        index
        for index, slot in enumerate(slots)
        if slot.begin.hour % step == slot.begin.minute == 0
    ] or [0]
    stride = -(-len(places) // _LABELS_MAX)
    labels = []
    for index in places[::stride]:
        begin, x = slots[index].begin, 100 * index / len(slots)
        if x <= _LABEL_X_MAX:
            text = f"{begin:%H:%M}" if within_days else f"{begin.day} {begin:%b}"
            labels.append(Label(round(x, 3), text))
    return tuple(labels)


def _summary(timeline: Timeline) -> str:
    slots = timeline.slots
    if not slots:
        return f"{timeline.title}: nothing."
    busiest = max(slots, key=lambda slot: slot.allowed + slot.refused)
    worst = max(slots, key=lambda slot: slot.refused)
    text = (
        f"{timeline.title}, {len(slots)} bars of one {timeline.slot_word} each. The busiest begins"
        f" {moment(busiest.begin)} with {busiest.allowed + busiest.refused:,} decisions."
    )
    if worst.refused:
        text += f" Most refusals: {worst.refused:,} from {moment(worst.begin)}."
    return text


def _line(count: int, refused: int, longest: int) -> Line:
    if not longest:
        return Line(0.0, 0.0)
    whole = max(100 * count / longest, 0.5) if count else 0.0
    red = min(whole, max(100 * refused / longest, 0.5)) if refused else 0.0
    return Line(round(whole - red, 3), round(red, 3))
