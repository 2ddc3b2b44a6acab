"""Times of logs in any form as texts of Kafka's own layout; ``layouts`` does without Polars."""

from __future__ import annotations

import polars as pl

from doorkeeper_pipeline.sources.layouts import EPOCHS, ISO, Layout
from doorkeeper_pipeline.sources.parsed import TIME_MAX_US

_TEXT = "%Y-%m-%d %H:%M:%S,%3f"


def utc_texts(times: pl.Series, layout: Layout) -> tuple[pl.Series, bool]:
    """Return times as ``2026-10-21 13:54:30,714``, null for none, and whether they are UTC.

    Of times with and without a zone, the fewer are none: they would be hours away.
    """
    if layout.time in EPOCHS:
        ms = times.cast(pl.Int64, strict=False) * EPOCHS[layout.time]
        return ms.cast(pl.Datetime("ms")).dt.strftime(_TEXT), True
    if layout.time:
        zoned = "z" in layout.time
        local = times.str.to_datetime(layout.time, time_unit="us", strict=False)
        if zoned:
            local = local.dt.convert_time_zone("UTC")
        return local.dt.strftime(_TEXT), zoned
    # JSON has texts of any form: behind a time may be the name of a zone, which would be lost.
    known_form = pl.when(pl.col("time").str.contains(rf"\A{ISO}\z")).then("time").alias("time")
    frame = times.to_frame("time").select(known_form)
    frame = frame.select(
        pl.concat_str(
            pl.col("time").str.slice(0, 10),
            pl.lit(" "),
            pl.col("time").str.slice(11, 8),
            pl.lit("."),
            pl.col("time").str.extract(r"[.,](\d{1,6})").fill_null("000"),
        )
        .str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
        .alias("local"),
        zone=pl.col("time").str.extract(r":\S+ ?(Z|[+-]\d\d(?::?\d\d)?)$"),
    )
    hours = pl.col("zone").str.slice(0, 3).cast(pl.Int64, strict=False)
    minutes = pl.col("zone").str.extract(r"\d\d:?(\d\d)$").cast(pl.Int64, strict=False)
    sign = pl.when(pl.col("zone").str.starts_with("-")).then(-1).otherwise(1)
    offset = hours.fill_null(0) * 60 + sign * minutes.fill_null(0)
    known = frame.filter(pl.col("local").is_not_null())["zone"]
    zoned = 2 * known.null_count() < len(known)
    utc_frame = frame.select(
        pl.when(pl.col("zone").is_not_null() == zoned)
        .then(pl.col("local") - pl.duration(minutes=offset))
        .dt.strftime(_TEXT)
    )
    return utc_frame.to_series(), zoned


def utc_of_zone(text: pl.Expr, zone: str) -> pl.Expr:
    """Return times of a zone as UTC; null where the zone, or an age of computers, has no such."""
    local = text.str.to_datetime(_TEXT, time_unit="us", strict=False)
    # A day of room on both sides: some years are none to a library of time zones.
    day_us = 86_400_000_000
    known = local.dt.epoch("us").is_between(day_us, TIME_MAX_US - day_us)
    return (
        pl.when(known)
        .then(local)
        .dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
        .dt.convert_time_zone("UTC")
    )
