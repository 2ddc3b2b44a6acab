"""The log as a file: records, lines, zones, and pieces of any size."""

from __future__ import annotations

import datetime as dt
import gzip
import tracemalloc
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.acls.formats.authorizer_message import Message
from doorkeeper.acls.formats.authorizer_message import read as read_message
from doorkeeper_pipeline.sources import authorizer_log, reading
from doorkeeper_pipeline.sources.parsed import sum_parts
from doorkeeper_pipeline.sources.possible_principals import unread_in

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper_pipeline.sources.parsed import Parsed

TAIL = " for request = Fetch with resourceRefCount = 1 based on rule DefaultDeny"


def record(name: str = "orders", time: str = "2024-10-25 10:11:12,345", user: str = "alice") -> str:
    """Return a record without its line break."""
    return (
        f"[{time}] INFO Principal = User:{user} is Denied operation = READ from host = 10.0.0.7"
        f" on resource = Topic:LITERAL:{name}{TAIL} (kafka.authorizer.logger)"
    )


def parsed(folder: Path, text: str | bytes, zone: str = "UTC") -> Parsed:
    """Return what a file with this text says."""
    path = folder / "kafka-authorizer.log"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return sum_parts(authorizer_log.parse_parts(path, "", zone))


def names(found: Parsed) -> list[str]:
    """Return the names of resources, sorted."""
    return sorted(found.decisions["resource_name"].to_list())


def test_equal_records_of_a_minute_are_one_row(tmp_path: Path) -> None:
    """Records that say the same are counted, with the first and the last time."""
    times = ["2024-10-25 10:11:12,345", "2024-10-25 10:11:59,999", "2024-10-25 10:12:00,000"]
    found = parsed(tmp_path, "".join(record(time=time) + "\n" for time in times))

    rows = found.decisions.sort("minute").select("count", "first_ts", "last_ts").rows()
    assert [row[0] for row in rows] == [2, 1]
    assert rows[0][1:] == (
        dt.datetime(2024, 10, 25, 10, 11, 12, 345000, tzinfo=dt.UTC),
        dt.datetime(2024, 10, 25, 10, 11, 59, 999000, tzinfo=dt.UTC),
    )


def test_times_use_the_given_zone(tmp_path: Path) -> None:
    found = parsed(tmp_path, record(time="2024-07-01 00:30:00,000") + "\n", "Europe/Prague")

    assert found.decisions["first_ts"].to_list() == [
        dt.datetime(2024, 6, 30, 22, 30, tzinfo=dt.UTC)
    ]
    assert found.decisions["day"].to_list() == [dt.date(2024, 6, 30)]


def test_nonexistent_local_time_is_quarantined(tmp_path: Path) -> None:
    text = record(time="2024-03-31 02:30:00,000") + "\n" + record("b") + "\n"
    found = parsed(tmp_path, text, "Europe/Prague")

    assert names(found) == ["b"]
    assert "this time" in found.quarantine["reason"][0]


def test_name_with_line_breaks(tmp_path: Path) -> None:
    text = record("a") + "\n" + record("two\nlines\n\nof it") + "\n" + record("b") + "\n"
    found = parsed(tmp_path, text)

    assert names(found) == ["a", "b", "two\nlines\n\nof it"]
    assert found.quarantine.is_empty()


def test_each_line_is_counted(tmp_path: Path) -> None:
    other = "[2024-10-25 10:11:12,345] INFO started (kafka.server.KafkaServer)"
    bad = record("x").replace(TAIL, " for nothing")
    night = record("n", time="2024-03-31 02:30:00,000")
    lines = [record("a"), *["garbage"] * 9, "", other, bad, record("two\nlines"), night]
    text = "\n".join(lines) + "\n"

    found = parsed(tmp_path, text, "Europe/Prague")

    assert found.lines == text.count("\n") == 16
    assert (found.decisions["lines"].sum(), found.ignored, found.quarantined) == (3, 1, 12)
    assert found.quarantined > len(found.quarantine) == 3


def test_record_inside_another_is_quarantined(tmp_path: Path) -> None:
    torn = record("torn")[:-100]
    text = record("a") + "\n" + torn + "\n" + record("b") + "\n" + record("c") + "\n"
    found = parsed(tmp_path, text)

    assert names(found) == ["a", "c"]
    assert found.quarantine["byte_offset"].to_list() == [len(record("a")) + 1]
    assert "begins inside another" in found.quarantine["reason"][0]


@pytest.mark.parametrize("size", [30, 45, 120])
def test_truncated_record_is_quarantined_alone(tmp_path: Path, size: int) -> None:
    torn = record("torn")[:size]
    assert "Topic:" not in torn
    found = parsed(tmp_path, record("a") + "\n" + torn + "\n" + record("b") + "\n")

    in_a_name = "Principal = " in torn and " is " not in torn
    assert names(found) == (["a"] if in_a_name else ["a", "b"])
    assert len(found.quarantine) == 1


@pytest.mark.parametrize("size", [48, 60, 75, 110, 130])
@pytest.mark.parametrize("rule", ["DefaultDeny", "SuperUser", ""])
def test_record_that_begins_in_the_line_of_a_torn_one_is_quarantined(
    tmp_path: Path, size: int, rule: str
) -> None:
    """As a broker leaves it that was killed while it wrote; both may be uses."""
    whole = record("b", user="svc").replace("DefaultDeny", rule)
    if rule == "SuperUser":
        whole = whole.replace("Denied", "Allowed")
    if not rule:
        whole = whole.replace("operation = READ", "Operation = Read").replace(" based on rule ", "")
    found = parsed(tmp_path, f"{record('a')}\n{record('torn')[:size]}{whole}\n")

    assert names(found) == ["a"]
    assert "begins inside another" in found.quarantine["reason"][0]
    assert "User:svc" in unread_in(found.quarantine, []).principals


def test_lines_without_an_end_are_quarantined_in_short_pieces(tmp_path: Path) -> None:
    """Otherwise a log whose layout has no logger's name would be looked at again for each line."""
    line = record("x").removesuffix(" (kafka.authorizer.logger)") + "\n"

    found = parsed(tmp_path, line * 2000)

    lengths = found.quarantine["byte_length"].to_list()
    assert max(lengths) < authorizer_log.OPEN_BYTES_MAX + len(line)
    assert sum(lengths) + len(lengths) == 2000 * len(line)
    assert found.quarantined == 2000


def test_truncated_end_is_quarantined(tmp_path: Path) -> None:
    found = parsed(tmp_path, record("a") + "\n" + record("b")[:100])

    assert names(found) == ["a"]
    assert found.quarantine.select("byte_offset", "byte_length").rows() == [
        (len(record("a")) + 1, 100)
    ]


def test_bad_message_is_quarantined_by_offset(tmp_path: Path) -> None:
    bad = record("x").replace("operation = READ", "operation = FROB")
    found = parsed(tmp_path, record("a") + "\n" + bad + "\n")

    assert found.quarantine.select("byte_offset", "byte_length").rows() == [
        (len(record("a")) + 1, len(bad))
    ]
    assert "FROB" in found.quarantine["reason"][0]


def test_invalid_utf_8_is_quarantined(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 cost the record that has them, and no other."""
    bad = record("x").encode().replace(b":x ", b":\xff\xfe ")
    found = parsed(tmp_path, record("a").encode() + b"\n" + bad + b"\n" + record("b").encode())

    assert names(found) == ["a", "b"]
    assert found.quarantine["reason"].to_list() == ["invalid UTF-8"]


def test_principal_in_another_encoding_is_the_one_of_acls(tmp_path: Path) -> None:
    found = parsed(tmp_path, record(user="CN=M\u00fcller").encode("latin-1") + b"\n")

    assert found.decisions.is_empty()
    assert unread_in(found.quarantine, []).principals == {"User:CN=M\u00fcller"}


@pytest.mark.parametrize("logger", ["k.a.logger", "logger", "com.acme.AuditedAuthorizer"])
@pytest.mark.parametrize("before", ["", "[request-handler-3] "])
def test_decision_of_another_logger_is_not_skipped(
    tmp_path: Path, logger: str, before: str
) -> None:
    """It may be one of a broker whose layout shortens names; a use must not vanish."""
    line = record("a").replace("kafka.authorizer.logger", logger)
    found = parsed(tmp_path, f"{record('b')}\n{line.replace('Principal', f'{before}Principal')}\n")
    assert (names(found), found.ignored, found.quarantined) == (["b"], 0, 1)
    assert f"of the logger {logger}" in found.quarantine["reason"][0]


def test_other_loggers_are_skipped(tmp_path: Path) -> None:
    other = "[2024-10-25 10:11:12,345] INFO Started (kafka.server.KafkaServer)"
    found = parsed(tmp_path, f"{other}\n{record('a')}\n{other}\n{other}\n{record('b')}\n")

    assert names(found) == ["a", "b"]
    assert (found.ignored, found.lines, len(found.quarantine)) == (3, 5, 0)


def test_windows_line_endings(tmp_path: Path) -> None:
    found = parsed(tmp_path, record("a") + "\r\n" + record("b") + "\r\n")

    assert names(found) == ["a", "b"]
    assert found.quarantine.is_empty()


@settings(max_examples=50)
@given(
    st.lists(
        st.builds(
            lambda user, name, matched: (
                record(name, user=user)
                if not matched
                else record(name, user=user).replace(
                    "DefaultDeny",
                    "MatchingAcl(acl=StandardAcl[resourceType=TOPIC, resourceName="
                    f"{name}, patternType=LITERAL, principal=User:{user}, host=*, operation=READ,"
                    " permissionType=DENY])",
                )
            ),
            st.text("ab =,:is\n", max_size=8),
            st.text("ab =,:\n", min_size=1, max_size=8),
            st.booleans(),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_vectorized_reader_matches_message_reader(
    tmp_path_factory: pytest.TempPathFactory, records: list[str]
) -> None:
    text = "".join(each + "\n" for each in records)
    found = parsed(tmp_path_factory.mktemp("log"), text)

    messages = [
        read_message("INFO", each[31:].removesuffix(" (kafka.authorizer.logger)"))
        for each in records
    ]
    expected = sorted(
        (each.principal, each.resource_name, each.rule_binding)
        for each in messages
        if isinstance(each, Message)
    )
    rows = found.decisions.select(
        pl.col("principal", "resource_name", "rule_binding").repeat_by("count").explode()
    ).rows()
    assert sorted(rows) == expected


def test_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    found = parsed(tmp_path, b"\xef\xbb\xbf" + record("a").encode() + b"\r\nbad\r\n")

    assert names(found) == ["a"]
    offset = 3 + len(record("a")) + 2
    assert found.quarantine.select("byte_offset", "text").rows() == [(offset, "bad")]


@pytest.mark.parametrize(("year", "name"), [("0000", "x"), ("1969", "two\nlines"), ("9999", "x")])
def test_implausible_times_are_quarantined(tmp_path: Path, year: str, name: str) -> None:
    text = record(name, time=f"{year}-12-31 23:59:59,999") + "\n" + record("b") + "\n"
    found = parsed(tmp_path, text, "America/New_York")

    assert names(found) == ["b"]
    assert "this time" in found.quarantine["reason"][0]
    assert unread_in(found.quarantine, []).principals == {"User:alice"}


def test_memory_is_bounded_for_compressed_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading.blocks, "__defaults__", (0, None, 1 << 18))
    monkeypatch.setattr(reading, "RECORD_BYTES_MAX", 1 << 18)
    path = tmp_path / "bomb.log.gz"
    path.write_bytes(gzip.compress(record("a").encode() + b"\n" + bytes(10 << 20), 1))
    parsed(tmp_path, record("a"))  # Modules that the first parse imports are not its memory.

    tracemalloc.start()
    try:
        found = sum_parts(authorizer_log.parse_parts(path, "gz", "UTC"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert names(found) == ["a"]
    assert found.quarantine["byte_length"].sum() == 10 << 20
    assert peak < 8 << 20


@pytest.mark.parametrize("size", [1, 50, 300])
def test_block_size_does_not_matter(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [record("a"), record("b\nx"), record("a"), "not a record", record("a"), record("c")]
    text = "".join(f"{each}\n" for each in records * 3)
    whole = parsed(tmp_path, text)

    monkeypatch.setattr(reading.blocks, "__defaults__", (0, None, size))
    monkeypatch.setattr(reading, "PART_BYTES", 1)
    cut = parsed(tmp_path, text)

    assert cut.decisions.sort("resource_name").equals(whole.decisions.sort("resource_name"))
    assert cut.quarantine.equals(whole.quarantine)
    assert (cut.lines, cut.ignored, cut.quarantined) == (21, whole.ignored, whole.quarantined)
