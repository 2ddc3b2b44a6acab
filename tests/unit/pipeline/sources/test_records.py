"""Authorizer logs in other layouts, and in what collectors write: the same decisions."""

from __future__ import annotations

import datetime as dt
import itertools
import json
from typing import TYPE_CHECKING

import pytest

from doorkeeper_pipeline.errors import Unreadable
from doorkeeper_pipeline.sources import authorizer_log, cloudevents, json_lines, reading
from doorkeeper_pipeline.sources.files import identify
from doorkeeper_pipeline.sources.parsed import sum_parts
from doorkeeper_pipeline.sources.possible_principals import unread_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from doorkeeper_pipeline.sources.parsed import Parsed

LOGGER = "kafka.authorizer.logger"
TIME = dt.datetime(2026, 10, 21, 13, 54, 30, 714000, tzinfo=dt.UTC)
OFFSETS = itertools.count()
NAMES = ("orders", "two\nlines", "x (kafka.authorizer.logger)", 'a \\ \u00e9 " (b) [c]')


def message(name: str, outcome: str = "Denied", rule: str = "DefaultDeny") -> str:
    """Return what the authorizer logs."""
    return (
        f"Principal = User:a is {outcome} operation = READ from host = 10.0.0.7 on resource ="
        f" Topic:LITERAL:{name} for request = Fetch with resourceRefCount = 1 based on rule {rule}"
    )


def kafka(text: str, logger: str = LOGGER) -> str:
    return f"[2026-10-21 13:54:30,714] INFO {text} ({logger})"


def strimzi(text: str, logger: str = LOGGER) -> str:
    return f"2026-10-21 13:54:30,714 INFO {text} ({logger}) [data-plane-1]"


def iso(text: str, logger: str = LOGGER) -> str:
    return f"[2026-10-21T15:54:30.714+02:00] INFO {text} ({logger})"


def log4j(text: str, logger: str = LOGGER) -> str:
    return f"2026-10-21 13:54:30,714 INFO  [t-1] {logger.rpartition('.')[2]}:77 - {text}"


def as_json(text: str, logger: str = LOGGER) -> str:
    instant = {"epochSecond": int(TIME.timestamp()), "nanoOfSecond": 714_000_000}
    return json.dumps({"instant": instant, "level": "INFO", "loggerName": logger, "message": text})


def docker(text: str, logger: str = LOGGER) -> str:
    lines = [
        {"log": f"{each}\n", "stream": "stdout", "time": "x"}
        for each in kafka(text, logger).split("\n")
    ]
    return "\n".join(json.dumps(each) for each in lines)


def cri(text: str, logger: str = LOGGER) -> str:
    lines = strimzi(text, logger).split("\n")
    return "\n".join(f"2026-10-21T13:54:31.1Z stdout F {each}" for each in lines)


def kcat(text: str, logger: str = LOGGER) -> str:
    record = {"topic": "logs", "partition": 0, "offset": next(OFFSETS)}
    return json.dumps({**record, "payload": kafka(text, logger)})


def prefixed(prefix: str, layout: Callable[[str, str], str] = kafka) -> Callable[..., str]:
    """Return a layout whose lines have a prefix, in which # is another number each time."""

    def line(text: str, logger: str = LOGGER) -> str:
        lines = layout(text, logger).split("\n")
        return "\n".join(prefix.replace("#", str(next(OFFSETS))) + each for each in lines)

    return line


def enveloped(template: str, layout: Callable[[str, str], str] = kafka) -> Callable[..., str]:
    """Return a layout within JSON, whose text % stands for."""

    def line(text: str, logger: str = LOGGER) -> str:
        return template.replace("%", json.dumps(layout(text, logger)))

    return line


def gelf(text: str, logger: str = LOGGER) -> str:
    known = {"version": "1.1", "host": "b1", "timestamp": TIME.timestamp(), "level": 6}
    return json.dumps({**known, "_logger": logger, "short_message": text})


def quoted(text: str, logger: str = LOGGER) -> str:
    escaped = kafka(text, logger).replace('"', '""')
    return f'b1,"{escaped}",x'


def coloured(text: str, logger: str = LOGGER) -> str:
    lines = kafka(text, logger).split("\n")
    return "\n".join(f"\x1b[91mk-0\x1b[0m \x1b[92mkafka\x1b[0m {each}" for each in lines)


def shipped(text: str, logger: str = LOGGER) -> str:
    lines = prefixed("k-0 ")(text, logger).split("\n")
    return "\n".join(json.dumps({"message": each}) for each in lines)


PREFIXED = {
    "stern": prefixed("k-0 kafka "),
    "kubectl --prefix": prefixed("[pod/k-0/kafka] "),
    "kubectl --timestamps": prefixed("2026-10-21T13:54:31.#Z "),
    "with another layout": prefixed("2026-10-21T13:54:31.#Z ", strimzi),
    "docker compose": prefixed("kafka-1  | "),
    "grep -H -n": prefixed("/var/log/a.log:#:"),
    "of ISO times": prefixed("x ", iso),
    "of JSON": prefixed("k-0 kafka ", as_json),
    "syslog": prefixed("Oct  1 13:54:30 b1 kafka[812]: "),
    "syslog 1": prefixed("<14>1 2026-10-21T13:54:30Z b1 kafka 812 - - ", strimzi),
    "coloured": coloured,
}
ENVELOPED = {
    "Filebeat": enveloped('{"@timestamp":"2026-10-21T13:54:31.1Z","message":%,"log":{"offset":7}}'),
    "with a prefix": shipped,
    "JSON in JSON": enveloped('{"log":%}', as_json),
    "Fluent Bit": enveloped('{"log":%,"stream":"stdout","logtag":"F","time":"x"}'),
    "Elastic": enveloped('{"event":{"original":%},"message":"Principal"}'),
    "Elastic's search": enveloped('{"_index":"i","_source":{"message":%}}'),
    "journalctl": enveloped('{"MESSAGE":%,"_PID":"1"}'),
    "Promtail": enveloped('{"line":%,"labels":{}}'),
    "Splunk": enveloped('{"preview":false,"result":{"_raw":%}}'),
    "Google": enveloped('{"textPayload":%,"severity":"INFO","timestamp":"x"}'),
    "GELF, of a line": enveloped('{"version":"1.1","short_message":%,"timestamp":1.5}'),
    "GELF, of log4j2": gelf,
    "Datadog": enveloped('{"id":"x","attributes":{"message":%,"service":"kafka"}}'),
    "OTLP": enveloped('{"timeUnixNano":"1","body":{"stringValue":%}}'),
    "CloudWatch": enveloped('{"messageType":"DATA_MESSAGE","logEvents":[{"id":"1","message":%}]}'),
    "aws logs": enveloped('{\n "events": [\n  {\n   "timestamp": 1,\n   "message": %\n  }\n ]\n}'),
    "gcloud": enveloped('[\n {\n  "severity": "INFO",\n  "textPayload": %,\n  "x": 1\n }\n]'),
}
LAYOUTS = (kafka, strimzi, iso, log4j, as_json, docker, cri, kcat)


def parsed(folder: Path, lines: list[str], pattern: str = "") -> Parsed:
    """Return what a file with these lines says; its source is recognised."""
    path = folder / "any.log"
    path.write_text("\n".join(lines) + "\n")
    file = identify(path, pattern=pattern)
    assert file is not None
    assert file.source == authorizer_log.SOURCE
    return sum_parts(authorizer_log.parse_parts(path, "", "UTC", pattern=pattern))


@pytest.mark.parametrize("line", LAYOUTS)
def test_every_layout_is_read(tmp_path: Path, line: Callable[[str], str]) -> None:
    found = parsed(tmp_path, [line(message(name)) for name in NAMES * 3])

    assert sorted(found.decisions["resource_name"].to_list()) == sorted(NAMES)
    assert found.decisions["count"].to_list() == [3] * len(NAMES)
    assert found.decisions["first_ts"].to_list() == [TIME] * len(NAMES)
    assert found.quarantine.is_empty()


@pytest.mark.parametrize("logger", ["k.a.logger", "com.acme.AuditedAuthorizer"])
@pytest.mark.parametrize(
    ("line", "pattern"),
    [(strimzi, ""), (log4j, ""), (as_json, ""), (docker, ""), (kafka, "[%d] %p %m (%c)%n")],
)
def test_decisions_of_any_logger_are_read(
    tmp_path: Path, line: Callable[..., str], pattern: str, logger: str
) -> None:
    lines = [line(message("orders"), logger), line("Principal = x is here", logger)]

    found = parsed(tmp_path, lines, pattern)

    assert found.decisions["resource_name"].to_list() == ["orders"]


@pytest.mark.parametrize("line", [strimzi, as_json, docker])
def test_decision_behind_other_words_is_not_skipped(
    tmp_path: Path, line: Callable[..., str]
) -> None:
    """As of a layout that puts a thread before it; its logger's name may be shortened."""
    lines = [line(message("a")), line(f"[t-1] {message('b')}", "k.a.logger")]

    found = parsed(tmp_path, lines)

    assert found.decisions["resource_name"].to_list() == ["a"]
    assert unread_in(found.quarantine, []).principals == {"User:a"}


@pytest.mark.parametrize("name", [*PREFIXED, *ENVELOPED])
def test_every_envelope_is_read(tmp_path: Path, name: str) -> None:
    line = {**PREFIXED, **ENVELOPED}[name]
    other = line("KafkaServer id=1 started", "kafka.server.KafkaServer")

    found = parsed(tmp_path, [other, *(line(message(each)) for each in NAMES * 2)])

    assert sorted(found.decisions["resource_name"].to_list()) == sorted(NAMES)
    assert found.decisions["count"].to_list() == [2] * len(NAMES)
    assert found.decisions["first_ts"].to_list() == [TIME] * len(NAMES)
    assert found.quarantine.is_empty()
    assert found.lines == int(found.decisions["lines"].sum()) + found.ignored


PARTS: dict[str, Callable[[str, bool], str]] = {
    "cri": lambda text, is_last: f"2026-10-21T13:54:31.1Z stdout {'F' if is_last else 'P'} {text}",
    "docker": lambda text, is_last: json.dumps(
        {"log": text + is_last * "\n", "stream": "stdout", "time": "x"}
    ),
    "fluent bit": lambda text, is_last: json.dumps(
        {"log": text, "stream": "stdout", "time": "x", "_p": "F" if is_last else "P"}
    ),
}


@pytest.mark.parametrize("how", PARTS)
@pytest.mark.parametrize("behind", ["", "garbage"])
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_lines_in_parts(
    tmp_path: Path, how: str, behind: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parts may be in two blocks; one without the next may be a use, and is not dropped."""
    monkeypatch.setattr(reading.blocks, "__defaults__", (0, None, size))
    part, text = PARTS[how], kafka(message("a"))
    whole = [part(text[:50], False), part(text[50:], True), part(text, True)]

    found = parsed(tmp_path, [*whole, part(kafka(message("b"))[:60], False), behind])

    assert found.decisions["resource_name"].to_list() == ["a"]
    assert found.decisions["count"].to_list() == [2]
    assert found.quarantine["reason"][0] == "the rest of the line is missing"
    assert unread_in(found.quarantine, []).principals == {"User:a"}


def test_half_of_a_letter_is_quarantined(tmp_path: Path) -> None:
    """As a collector leaves it that cuts texts in the middle of a surrogate pair."""
    lines = [json.dumps({"message": kafka(message(name))}) for name in ("a", "b\ud83d")]

    found = parsed(tmp_path, lines)

    assert found.decisions["resource_name"].to_list() == ["a"]
    assert found.quarantine["reason"].to_list() == ["invalid UTF-8"]


@pytest.mark.parametrize("level", ["trace", "TRACE", "T"])
def test_probes_are_told_by_levels_of_any_form(tmp_path: Path, level: str) -> None:
    line = json.loads(as_json(message("a"))) | {"level": level}

    found = parsed(tmp_path, [json.dumps(line)])

    assert found.decisions["probe"].to_list() == [True]


def test_nested_objects_do_not_end_the_run(tmp_path: Path) -> None:
    deep = '{"a":' + "[" * 50_000

    found = parsed(tmp_path, [deep, as_json(message("a")), deep])

    assert found.decisions["resource_name"].to_list() == ["a"]
    assert len(found.quarantine) == 2


def test_quoted_records(tmp_path: Path) -> None:
    """A column of CSV: quotes within it are doubled."""
    names = [each for each in NAMES if "\n" not in each]

    found = parsed(tmp_path, [quoted(message(each)) for each in names])

    assert sorted(found.decisions["resource_name"].to_list()) == sorted(names)


def test_several_records_in_a_line(tmp_path: Path) -> None:
    """Each has its own place, also in quarantine; objects need no break between them."""
    events = ",".join(json.dumps({"message": kafka(message(each))}) for each in ("a", "b"))
    torn = json.dumps({"message": kafka("Principal = User:a is")})
    line = '{"messageType":"DATA_MESSAGE","logEvents":[' + f"{events},{torn},{torn}" + "]}"

    found = parsed(tmp_path, [line * 2])

    assert found.decisions["count"].to_list() == [2, 2]
    assert len(found.quarantine) == found.quarantined == 4


def test_journal_export(tmp_path: Path) -> None:
    fields = ["__CURSOR=s=1", f"MESSAGE={kafka(message('x'))}", "_PID=7", ""]

    found = parsed(tmp_path, [*fields, *fields, "MESSAGE", "..."])

    assert found.decisions["count"].to_list() == [2]
    assert "journalctl -o json" in found.quarantine["reason"][0]


def test_line_with_another_prefix_ends_the_record(tmp_path: Path) -> None:
    lines = [f"k-0 {kafka(message('x'))}", "j-1 rest", f"k-0 {kafka(message('y'))}"]

    found = parsed(tmp_path, lines)

    assert sorted(found.decisions["resource_name"].to_list()) == ["x", "y"]
    assert found.quarantine["text"].to_list() == ["j-1 rest"]


@pytest.mark.parametrize(
    ("line", "trace"),
    [
        (strimzi, "\tat kafka.X"),
        (iso, "\tat kafka.X"),
        (docker, json.dumps({"log": "\tat kafka.X\n", "stream": "stdout", "time": "x"})),
        (cri, "2026-10-21T13:54:31.1Z stdout F \tat kafka.X"),
        (prefixed("k-0 kafka "), "k-0 kafka \tat kafka.X"),
    ],
)
def test_stack_trace_does_not_affect_earlier_records(
    tmp_path: Path, line: Callable[[str], str], trace: str
) -> None:
    records = [line(message("a")), trace, trace, line(message("two\nlines")), trace]

    found = parsed(tmp_path, [*records, line(message("b"))])

    assert sorted(found.decisions["resource_name"].to_list()) == ["a", "b", "two\nlines"]
    assert len(found.quarantine) == 2
    assert {"\tat kafka.X"} >= {each.split("\n")[0] for each in found.quarantine["text"]}


@pytest.mark.parametrize("prefix", ["", "k-0 kafka ", "MESSAGE="])
def test_other_authorizers_are_rejected(tmp_path: Path, prefix: str) -> None:
    path = tmp_path / "a.log"
    text = "[DENY] Auth request Write on Topic:orders by User svc-a"
    path.write_text(f"{prefix}{kafka(text, 'io.aiven.kafka.auth.AivenAclAuthorizer')}\n")

    with pytest.raises(Unreadable, match="Aiven's authorizer"):
        identify(path)


@pytest.mark.parametrize("line", LAYOUTS[1:])
def test_other_lines_are_counted(tmp_path: Path, line: Callable[..., str]) -> None:
    texts = [line("KafkaServer id=1 started", "kafka.server.KafkaServer"), line(message("a"))]
    texts += [line(message("b"))[: -len(" [data-plane-1]") - 60]]

    found = parsed(tmp_path, ["garbage", *texts])

    assert found.decisions["resource_name"].to_list() == ["a"]
    assert found.lines == int(found.decisions["lines"].sum()) + found.ignored + found.quarantined
    assert found.quarantined == len(found.quarantine) >= 1


def test_custom_pattern(tmp_path: Path) -> None:
    lines = [f"21/10/2026 13:54:30.714;INFO;{message('orders')}"]

    found = parsed(tmp_path, lines, "%d{dd/MM/yyyy HH:mm:ss.SSS};%p;%m%n")

    assert found.decisions["first_ts"].to_list() == [TIME]


@pytest.mark.parametrize("line", [kafka, as_json])
@pytest.mark.parametrize(
    ("outcome", "rule"),
    [("Allowed", "DefaultDeny"), ("Denied", "SuperUser"), ("Denied", "DefaultAllow")],
)
def test_contradicting_rules_are_quarantined(
    tmp_path: Path, line: Callable[[str], str], outcome: str, rule: str
) -> None:
    found = parsed(tmp_path, [line(message("a")), line(message("b", outcome, rule))])

    assert found.decisions["resource_name"].to_list() == ["a"]
    assert "does not produce" in found.quarantine["reason"][0]


def test_redelivered_events_count_once(tmp_path: Path) -> None:
    """Source and id name an event, in whatever record it comes; without an id each counts."""

    def event(number: int | None, offset: int) -> str:
        asked = {"granted": True, "operation": "Read", "resourceType": "Topic", "resourceName": "t"}
        content = {
            "specversion": "1.0",
            "type": "io.confluent.kafka.server/authorization",
            "source": "crn:///kafka=lkc-1",
            **({} if number is None else {"id": f"e{number}"}),
            "time": "2026-10-21T13:54:30.714Z",
            "data": {
                "methodName": "kafka.Fetch",
                "authenticationInfo": {"principal": "User:a"},
                "authorizationInfo": asked,
                "clientAddress": [{"ip": "10.0.0.7"}],
            },
        }
        place = {"topic": "audit", "partition": 0, "offset": offset}
        return json.dumps({**place, "payload": json.dumps(content)})

    path = tmp_path / "audit.jsonl"
    again = [event(1, 0), event(1, 1), event(2, 2), event(None, 3), event(None, 3), event(None, 4)]
    path.write_text("\n".join(again) + "\n")
    file = identify(path)
    assert file is not None
    assert file.source == cloudevents.SOURCE

    found = sum_parts(json_lines.parse_parts(path, "", cloudevents.SOURCE, cloudevents.line))

    assert (found.decisions["count"].to_list(), found.lines, found.ignored) == ([4], 6, 2)


def test_refetched_records_count_once(tmp_path: Path) -> None:
    lines = [
        json.dumps({"topic": "logs", "partition": 0, "offset": n, "payload": kafka(message("x"))})
        for n in (1, 2, 1)
    ]

    found = parsed(tmp_path, lines)

    assert found.decisions["count"].sum() == 2
    assert (found.lines, found.ignored, found.quarantined) == (3, 1, 0)
