r"""What collectors and commands put around each line of a log, or each record of a topic.

    object  {"log":"<line>\n","stream":...}  a text in an object of JSON, by the table ``PATHS``
    field   "message": "<line>",             JSON of several lines; its other lines are left out
    export  MESSAGE=<line>                   ``journalctl -o export``; its other lines are left out
    cri     2026-10-21T13:54:30.7Z stdout F <line>
    prefix  k-0 kafka <line>                 any text before a record: of kubectl, stern, compose,
                                             grep, syslog; also with colours, or in quotes

An envelope is recognised once for a file. A prefix may stand within another envelope.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from doorkeeper.acls.formats.names import mismatch
from doorkeeper_pipeline.sources.reading import INVALID_UTF8, readable

PREFIX_MAX = 400
"""Characters before a record, at most."""

OBJECT, FIELD, EXPORT, CRI = "object", "field", "export", "cri"

PATHS: tuple[tuple[str, str], ...] = (
    ("log", "Docker, Fluent Bit"),
    ("event.original", "Elastic"),
    ("message", "Filebeat, Vector"),
    ("MESSAGE", "journalctl -o json"),
    ("line", "Promtail, logcli"),
    ("payload", "kcat -J, the JsonConverter of Kafka Connect"),
    ("logEvents[].message", "a subscription of CloudWatch Logs, as Firehose writes it"),
    ("events[].message", "aws logs filter-log-events"),
    ("_source.event.original", "Elastic's search"),
    ("_source.message", "Elastic's search"),
    ("hits.hits[]._source.event.original", "Elastic's search"),
    ("hits.hits[]._source.message", "Elastic's search"),
    ("result._raw", "Splunk's export"),
    ("_raw", "Splunk"),
    ("textPayload", "Google Cloud Logging"),
    ("jsonPayload.message", "Google Cloud Logging"),
    ("short_message", "GELF"),
    ("full_message", "GELF"),
    ("attributes.message", "Datadog"),
    ("attributes.attributes.message", "Datadog"),
    ("content.message", "Datadog"),
    ("body.stringValue", "OTLP"),
    ("body", "OTLP"),
    ("resourceLogs[].scopeLogs[].logRecords[].body.stringValue", "OTLP"),
    ("properties.log", "Azure Monitor"),
    ("LogMessage", "Azure Monitor"),
)
"""Where the text of a record is in an object, in the order in which they are tried, and of whom."""

_TIMES = ("@timestamp", "timestamp", "time", "date", "_time", "__REALTIME_TIMESTAMP")
"""Fields beside the text that have the time of a collector."""

_CUT_MARKS = ("logtag", "_p")
"""Fields of Fluent Bit's parser and multi-line parser of CRI."""

ZONED_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
_FIELDS = frozenset(path.rpartition(".")[2].removesuffix("[]") for path, _ in PATHS)
_FIELD = re.compile(r'\s*"(\w+)"\s*:\s*("(?:[^"\\]|\\.)*")\s*[,}\]]*\s*\Z')
_EXPORT = "MESSAGE="
_CRI = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(?:Z|[+-]\d\d:\d\d)) (?:stdout|stderr) ([FP]) ", re.ASCII
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_QUOTED = re.compile(r'((?:[^"]|"")*)"(?:,.*|\s*)\Z', re.DOTALL)
_BLANK = re.compile(r"\s*")
_RECORD_BEGIN = re.compile(r'\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\{\s*"')
_DIGITS = re.compile(r"\d+")


class Envelope(NamedTuple):
    """The envelope of the lines of a file: its kind, and the place of the text in an object.

    ``begin`` is an expression of the beginning of a record; what stands before it is a prefix.
    Empty: there is none.
    """

    kind: str = ""
    path: str = ""
    begin: str = ""


PLAIN = Envelope()


class Unwrapped(NamedTuple):
    """The content of a line.

    ``partial``: its rest is in the next line. ``identity`` names a record of a topic by its place.
    ``time`` is when the collector had it, in ISO 8601 or as a number, empty where it does not say.
    """

    content: str
    partial: bool = False
    identity: str = ""
    time: str = ""


def envelopes_of(line: str) -> Iterator[Envelope]:
    """Yield the envelopes that may be around a line, but for prefixes; the innermost come first."""
    if line.lstrip().startswith(("{", "[")):
        try:
            objects = list(_objects(line))
        except ValueError:
            objects = []
        for path, _ in PATHS:
            if any(_values(value, path) for value in objects):
                yield Envelope(OBJECT, path)
    if _CRI.match(line):
        yield Envelope(CRI)
    if line.startswith(_EXPORT):
        yield Envelope(EXPORT)
    field = _FIELD.match(line)
    if field and field[1] in _FIELDS:
        yield Envelope(FIELD, field[1])
    yield PLAIN


def unwrap(envelope: Envelope, line: str) -> list[Unwrapped]:
    """Return the contents of a line, with their prefixes; none where it is a line of another field.

    Raises:
        ValueError: the line is not of that kind.

    """
    if envelope.kind == CRI:
        match = _CRI.match(line)
        if match is None:
            expected = "'time stdout F line', as container runtimes write it"
            raise ValueError(mismatch(line, expected))
        return [Unwrapped(line[match.end() :], match[2] == "P", time=match[1])]
    if envelope.kind == EXPORT:
        if line.strip() == _EXPORT[:-1]:
            raise ValueError("a message in binary form: write it with journalctl -o json")
        is_text = line.startswith(_EXPORT)
        return [Unwrapped(line.removeprefix(_EXPORT))] if is_text else []
    if envelope.kind == FIELD:
        field = _FIELD.match(line)
        if field is None or field[1] != envelope.path:
            return []
        return [Unwrapped(str(json.loads(field[2])).removesuffix("\n"))]
    if envelope.kind != OBJECT:
        return [Unwrapped(line)]
    contents = [unwrapped for one in _objects(line) for unwrapped in _contents(one, envelope.path)]
    if not contents:
        raise ValueError(f"found no text in the field {envelope.path} of a JSON object")
    return contents


def records_behind(text: str) -> Iterator[str]:
    """Yield what may be a record behind a prefix of a text."""
    plain = _COLOUR.sub("", text)
    for match in _RECORD_BEGIN.finditer(plain, 0, PREFIX_MAX):
        if match.start() or plain != text:
            yield _cut(plain, match.start())[1]


def without_prefix(begin: str, text: str) -> tuple[str, str] | None:
    """Return the prefix of a record, and the record; None where none begins in the text."""
    plain = _COLOUR.sub("", text)
    match = re.compile(begin).search(plain, 0, PREFIX_MAX)
    return None if match is None else _cut(plain, match.start())


def continuation(prefix: str, line: str) -> str | None:
    """Return a line without a prefix that differs in its numbers alone; None if it has another."""
    plain = _COLOUR.sub("", line)
    shape = r"\d+".join(map(re.escape, _DIGITS.split(prefix)))
    match = re.match(shape, plain)
    return None if match is None else plain[match.end() :]


def _cut(text: str, at: int) -> tuple[str, str]:
    """Return a prefix and the rest; without the quotes, where it is quoted."""
    prefix, rest = text[:at], text[at:]
    quoted = _QUOTED.match(rest) if prefix.endswith('"') else None
    return prefix, quoted[1].replace('""', '"') if quoted else rest


def _objects(line: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a line: one, those of an array, or several without a break."""
    try:
        values = list(_values_of(line))
    except RecursionError as error:
        raise ValueError("JSON that is nested too deep") from error
    for value in values:
        for one in value if isinstance(value, list) else [value]:
            if not isinstance(one, dict):
                raise ValueError(mismatch(one, "a JSON object"))
            yield one


def _values_of(line: str) -> Iterator[Any]:
    try:
        yield msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeEncodeError):
        yield from _following(line)


def _following(line: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    at = _after_blanks(line, 0)
    while at < len(line):
        value, at = decoder.raw_decode(line, at)
        yield value
        at = _after_blanks(line, at)


def _after_blanks(line: str, at: int) -> int:
    match = _BLANK.match(line, at)
    return at if match is None else match.end()


def _contents(container: dict[str, Any], path: str) -> list[Unwrapped]:
    identity = _place(container) if path == "payload" else ""
    contents = []
    for parent, value in _values(container, path):
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        # Fluent Bit says by P that a container runtime cut the line, Docker by no line break.
        cuts = [parent[name] for name in _CUT_MARKS if name in parent]
        is_docker = path == "log" and {"stream", "time"} <= parent.keys() and not cuts
        partial = "P" in cuts or (is_docker and not text.endswith("\n"))
        time = next((str(parent[name]) for name in _TIMES if parent.get(name)), "")
        contents.append(Unwrapped(text.removesuffix("\n"), partial, identity, time))
    return contents


def _values(container: object, path: str) -> list[tuple[dict[str, Any], str | dict[str, Any]]]:
    """Return the texts and objects at a path, each with the object that it is in."""
    name, _, rest = path.partition(".")
    if not isinstance(container, dict):
        return []
    value = container.get(name.removesuffix("[]"))
    if name.endswith("[]"):
        items = value if isinstance(value, list) else []
        return [pair for one in items for pair in _values(one, rest)]
    if rest and path not in container:
        return _values(value, rest)
    value = container.get(path)
    return [(container, value)] if isinstance(value, (str, dict)) else []


def _place(content: dict[str, Any]) -> str:
    record_id = (content.get("topic"), content.get("partition"), content.get("offset"))
    return "" if None in record_id else "{}-{}@{}".format(*record_id)


Text = tuple[int, str]
Rejected = tuple[int, int, str, str]
"""The offset of a text, its bytes, why it is none, and the text."""


class Unwrapping:
    """The texts of the lines of a range, lines that are none, and how many are left out.

    Those that came again are left out, by the places of records in a topic. Of several texts in a
    line each has an offset of its own. A line may be cut into parts, which may be in two blocks.
    """

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope
        self._seen: set[str] = set()
        self._begin, self._part, self._prefix = 0, "", ""
        self._texts: list[Text] = []
        self._bad: list[Rejected] = []
        self._ignored = 0

    def take(self) -> tuple[list[Text], list[Rejected], int]:
        """Return what was added since the last call."""
        taken = self._texts, self._bad, self._ignored
        self._texts, self._bad, self._ignored = [], [], 0
        return taken

    def end_line(self) -> None:
        """Reject a part of a line whose rest did not come."""
        if self._part:
            self._reject(self._begin, self._part, "the rest of the line is missing")
        self._part = ""

    def add_line(self, offset: int, line: bytes) -> None:
        text = line.decode("utf-8", "surrogateescape").removesuffix("\r")
        try:
            contents = unwrap(self._envelope, text)
        except ValueError as error:
            self.end_line()
            self._reject(offset, text, str(error))
            return
        self._ignored += not contents
        for number, unwrapped in enumerate(contents):
            self._begin = self._begin if self._part else offset + number
            self._part += unwrapped.content
            if not unwrapped.partial:
                if unwrapped.identity in self._seen:
                    self._ignored += 1
                else:
                    self._add_content(self._begin, self._part)
                self._seen.update([unwrapped.identity] if unwrapped.identity else ())
                self._part = ""

    def _add_content(self, offset: int, content: str) -> None:
        try:
            text = content.encode("utf-8", "surrogateescape").decode().removesuffix("\r")
        except UnicodeError:
            self._reject(offset, content, INVALID_UTF8)
            return
        begin = self._envelope.begin
        parts = without_prefix(begin, text) if begin else ("", text)
        if parts is None:
            rest = continuation(self._prefix, text)
            if rest is None:
                self._reject(
                    offset, text, "not a record, and its prefix differs from the previous one"
                )
                return
            parts = self._prefix, rest
        self._prefix, text = parts
        self._texts.append((offset, text))

    def _reject(self, offset: int, text: str, reason: str) -> None:
        # A collector that cuts texts may leave half of a surrogate pair.
        raw = _HALF_PAIR.sub("\ufffd", text).encode("utf-8", "surrogateescape")
        if raw.strip():
            self._bad.append((offset, len(raw), reason, readable(raw)))
        else:
            self._ignored += 1


_HALF_PAIR = re.compile("[\ud800-\udc7f\udd00-\udfff]")
