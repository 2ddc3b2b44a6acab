"""Layouts of log4j and log4j2 as expressions."""

# ruff: noqa: E501  lines of logs are long, and are compared best one below the other

from __future__ import annotations

import json

import polars as pl
import pytest

from doorkeeper_pipeline.errors import PipelineError
from doorkeeper_pipeline.sources import layouts
from doorkeeper_pipeline.sources.layouts import compile_pattern, expression
from doorkeeper_pipeline.sources.times import utc_texts

MESSAGE = "Principal = User:a is Denied operation = READ"


@pytest.mark.parametrize(
    ("pattern", "line", "level"),
    [
        ("%d{ISO8601} %p %m (%c) [%t]%n", f"2026-10-21T13:54:30,714 INFO {MESSAGE} (kafka.authorizer.logger) [t-1]", "INFO"),
        ("[%d] %p %m (%c)%n", f"[2026-10-21 13:54:30,714] DEBUG {MESSAGE} (kafka.authorizer.logger)", "DEBUG"),
        ("%d %-5p [%t] %c{1}:%L - %m%n", f"2026-10-21 13:54:30,714 INFO  [t-1] logger:123 - {MESSAGE}", "INFO"),
        ("%date{UNIX_MILLIS} %5level %logger %msg%n", f"1792590870714  INFO kafka.authorizer.logger {MESSAGE}", "INFO"),
        ("%d{dd/MM/yyyy HH:mm:ss.SSS} | %p | %m%n", f"21/10/2026 13:54:30.714 | TRACE | {MESSAGE}", "TRACE"),
        ("%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} 100%% %p %m%n", f"2026-10-21T15:54:30.714+02:00 100% INFO {MESSAGE}", "INFO"),
        ("%d{DATE} %p %m%n", f"21 Oct 2026 13:54:30,714 INFO {MESSAGE}", "INFO"),
        ("%d{COMPACT} %p %X{user} %m%n", f"20261021135430714 INFO x {MESSAGE}", "INFO"),
    ],
)  # fmt: skip
def test_layout_patterns(pattern: str, line: str, level: str) -> None:
    layout = compile_pattern(pattern)

    found = expression(layout).match(line)

    assert found is not None
    assert (found["message"], found["level"]) == (MESSAGE, level)
    assert pl.Series([line]).str.contains(layout.begin).all()
    assert pl.Series([line]).str.contains(layout.record).all()
    times, _ = utc_texts(pl.Series([found["time"]]), layout)
    assert times.to_list() == ["2026-10-21 13:54:30,714"]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("%p %m%n", "expected %d, the time, and then %m, the message"),
        ("%m %d%n", "expected %d, the time, and then %m, the message"),
        ("%d %p%n", "expected %d, the time, and then %m, the message"),
        ("%d %m %m", "found '%m' twice"),
        ("%d %q %m", "found '%q %m'; allowed: %d, %p, %m"),
        ("%d{HH:mm:ss,SSS} %m", "has no date"),
        ("%d{yyyy-MM-dd hh} %m", "found 'h'; allowed: yyyy"),
        (
            "%d{ISO8601}{GMT+2} %m",
            "found the zone {GMT+2} of %d; leave it out, and give it as --zone",
        ),
    ],
)
def test_invalid_patterns_are_rejected(pattern: str, text: str) -> None:
    with pytest.raises(PipelineError) as raised:
        compile_pattern(pattern)

    assert text in str(raised.value)


@pytest.mark.parametrize(
    ("times", "expected", "is_utc"),
    [
        (["2026-10-21T13:54:30.714123Z"], ["2026-10-21 13:54:30,714"], True),
        (["2026-10-21T13:54:30,714-0130"], ["2026-10-21 15:24:30,714"], True),
        (["2026-10-21 13:54:30.7 +05:30"], ["2026-10-21 08:24:30,700"], True),
        (["2026-10-21T13:54:30.714-03"], ["2026-10-21 16:54:30,714"], True),
        (["2026-10-21 13:54:30 -0030"], ["2026-10-21 14:24:30,000"], True),
        (["2026-10-21 13:54:30.714 EST"], [None], False),
        (["2026-10-21 13:54:30"], ["2026-10-21 13:54:30,000"], False),
        (["2026-13-21 13:54:30"], [None], False),
    ],
)
def test_iso_time_formats(times: list[str], expected: list[str | None], *, is_utc: bool) -> None:
    found, utc = utc_texts(pl.Series(times), compile_pattern(layouts.KAFKA))

    assert (found.to_list(), utc) == (expected, is_utc)


@pytest.mark.parametrize(
    "record",
    [
        {"instant": {"epochSecond": 1792590870, "nanoOfSecond": 714000000}, "level": "INFO", "loggerName": "l", "message": "m"},
        {"timeMillis": 1792590870714, "level": "INFO", "loggerName": "l", "message": "m"},
        {"@timestamp": "2026-10-21T13:54:30.714Z", "log.level": "INFO", "log.logger": "l", "message": "m"},
        {"@timestamp": "2026-10-21T13:54:30.714Z", "log": {"level": "INFO", "logger": "l"}, "message": "m"},
        {"@timestamp": "2026-10-21T15:54:30.714+02:00", "level": "INFO", "logger_name": "l", "message": "m"},
    ],
)  # fmt: skip
def test_json_layouts(record: dict[str, object]) -> None:
    """JsonLayout, and the templates for ECS and Logstash."""
    found = layouts.json_record(json.dumps(record).encode())

    assert found is not None
    assert found[1:] == ("INFO", "m", "l")
    times, is_utc = utc_texts(pl.Series([found[0]]), layouts.JSON)
    assert (times.to_list(), is_utc) == (["2026-10-21 13:54:30,714"], True)


@pytest.mark.parametrize("line", [b"{", b"{}", b'{"message": "m", "level": "INFO", "logger": "l"}'])
def test_other_json_is_rejected(line: bytes) -> None:
    assert layouts.json_record(line) is None


@pytest.mark.parametrize(
    ("times", "found", "is_utc"),
    [
        (["2026-10-21T13:54:30+0200", "later"], ["2026-10-21 11:54:30,000", None], True),
        (
            ["2026-10-21T13:54:30+0200", "2026-10-21T13:54:30Z", "2026-10-21T13:54:30"],
            ["2026-10-21 11:54:30,000", "2026-10-21 13:54:30,000", None],
            True,
        ),
        (
            ["2026-10-21T13:54:30", "2026-10-21T13:54:31", "2026-10-21T13:54:30Z"],
            ["2026-10-21 13:54:30,000", "2026-10-21 13:54:31,000", None],
            False,
        ),
    ],
)
def test_one_time_without_a_zone_moves_no_other(
    times: list[str], found: list[str | None], *, is_utc: bool
) -> None:
    texts, utc = utc_texts(pl.Series(times), layouts.JSON)

    assert (texts.to_list(), utc) == (found, is_utc)
