"""Two times in one record: the broker's, and that of the collector around it.

The broker's counts. Without a zone in it, it is of the zone that was given, and a difference of the
same quarter hours in each record tells that this is another one; a collector that lags does not
make such.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import polars as pl

from doorkeeper_pipeline.sources import envelopes, layouts
from doorkeeper_pipeline.sources.reading import BOM
from doorkeeper_pipeline.sources.recognising import Form
from doorkeeper_pipeline.sources.times import utc_of_zone, utc_texts

QUARTER_S = 900
LAG_S = 60
"""How much later than the record a collector's time may be, beside the quarter hours."""

OFFSET_MAX_S = 14 * 3600
SAMPLES_MIN, SAMPLES_MAX = 2, 100


def zone_in_doubt(beginning: bytes, form: Form, zone: str) -> str:
    """Return a warning if the times of collectors contradict the zone; empty if they do not."""
    differences = list(_differences(beginning, form, zone))
    offsets = {
        round((difference + LAG_S / 2) / QUARTER_S) * QUARTER_S for difference in differences
    }
    if len(differences) < SAMPLES_MIN or len(offsets) != 1:
        return ""
    (offset,) = offsets
    is_constant = all(-LAG_S <= difference - offset <= LAG_S for difference in differences)
    if not is_constant or not offset or abs(offset) > OFFSET_MAX_S:
        return ""
    minutes = abs(offset) // 60
    way = "ahead of" if offset > 0 else "behind"
    return (
        f"files in which each record is {minutes // 60}:{minutes % 60:02} h {way} the time of its"
        f" collector: the record's counts, as one of {zone}; --zone may be missing or wrong"
    )


def _differences(beginning: bytes, form: Form, zone: str) -> Iterator[float]:
    """Yield the seconds by which records are ahead of their collectors."""
    layout = form.layout or layouts.compile_pattern(layouts.KAFKA)
    if form.envelope == envelopes.PLAIN or layout.is_json:
        return
    expression = layouts.expression(layout)
    for line in beginning.removeprefix(BOM).splitlines()[:SAMPLES_MAX]:
        for text, collected in _texts(line.decode("utf-8", "replace"), form.envelope):
            match = expression.match(text)
            at = _moment(collected)
            if match is None or at is None:
                continue
            times, is_utc = utc_texts(pl.Series([match["time"]], dtype=pl.String), layout)
            moment = pl.select(utc_of_zone(pl.lit(times), zone)).item()
            if is_utc or moment is None:
                return
            yield (moment - at).total_seconds()


def _texts(line: str, envelope: envelopes.Envelope) -> Iterator[tuple[str, str]]:
    try:
        contents = envelopes.unwrap(envelope, line)
    except ValueError:
        return
    for unwrapped in contents:
        if not envelope.begin:
            yield unwrapped.content, unwrapped.time
        elif parts := envelopes.without_prefix(envelope.begin, unwrapped.content):
            time = envelopes.ZONED_TIME.search(parts[0])
            yield parts[1], unwrapped.time or (time[0] if time else "")


def _moment(text: str) -> dt.datetime | None:
    try:
        number = layouts.number_time(float(text))
    except ValueError:
        number = text
    try:
        time = dt.datetime.fromisoformat(number or "")
    except ValueError:
        return None
    return None if time.tzinfo is None else time
