r"""Envelopes, which collectors put around each line of a log, or each record of a topic.

docker   {"log":"<line>\n","stream":"stdout","time":"2026-10-21T13:54:30.714123456Z"}
cri      2026-10-21T13:54:30.714123456Z stdout F <line>
record   {"topic":...,"partition":0,"offset":5,...,"payload":"<record>"}, as kcat -J writes it,
         or {"schema":...,"payload":<record>}, as the JsonConverter of Kafka Connect does
shipped  {"log":"<line>",...}, {"message":...}, {"MESSAGE":...} or {"line":...}, as Fluent Bit,
         Filebeat, Vector, journalctl -o json and Promtail write lines that they do not parse
syslog   Oct 21 13:54:30 host kafka[812]: <line>, as journalctl and syslog servers do
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

PLAIN, DOCKER, CRI, RECORD, SHIPPED, SYSLOG = "", "docker", "cri", "record", "shipped", "syslog"

_CRI = re.compile(
    rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) ([FP]) "
)
_MARKS = (
    (DOCKER, {"log", "stream", "time"}),
    (RECORD, {"topic", "partition", "offset", "payload"}),
    (RECORD, {"schema", "payload"}),
)
_FIELDS = ("log", "message", "MESSAGE", "line")
"""The fields in which collectors write a line."""

_SYSLOG = re.compile(
    rb"(?:<\d{1,3}>)?(?:"
    rb"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
    rb"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d))"
    rb" \S+ [^\s:\[]+(?:\[\d+\])?: "
    rb"|1 (?:\S+ ){5}(?:-|\[.*?\]) )"
)
_BEGIN = re.compile(r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:|\{)")
"""How a record begins: a text that does not may be a message, whose time is in another field."""


class Unwrapped(NamedTuple):
    """The content of a line.

    ``partial``: its rest is in the next line. ``identity`` names a record of a topic by its place.
    """

    content: bytes
    partial: bool = False
    identity: str = ""


def kind_of(line: bytes) -> str:
    """Return the kind of envelope around a line; PLAIN if it is the line of a log itself."""
    if _CRI.match(line):
        return CRI
    prefix = _SYSLOG.match(line)
    if prefix is not None and _BEGIN.match(line[prefix.end() :].decode("utf-8", "replace")):
        return SYSLOG
    if line.lstrip().startswith(b"{"):
        try:
            content = _object(line)
        except ValueError:
            return PLAIN
        for kind, marks in _MARKS:
            if marks <= content.keys():
                return kind
        text = _line_of(content)
        if text is not None and _BEGIN.match(text):
            return SHIPPED
    return PLAIN


def unwrap(kind: str, line: bytes) -> Unwrapped:
    """Return the content of a line.

    Raises:
        ValueError: the line is not of that kind.

    """
    if kind == PLAIN:
        return Unwrapped(line)
    if kind == CRI:
        found = _CRI.match(line)
        if found is None:
            raise ValueError("expected is 'time stdout F line', as container runtimes write it")
        return Unwrapped(line[found.end() :], found[1] == b"P")
    if kind == SYSLOG:
        prefix = _SYSLOG.match(line)
        if prefix is None:
            raise ValueError("expected is 'time host program[number]: line', as in syslog")
        return Unwrapped(line[prefix.end() :])
    content = _object(line)
    if kind == DOCKER:
        text = content.get("log")
        if not isinstance(text, str):
            raise ValueError("log: expected is a text, as Docker writes it")
        return Unwrapped(text.removesuffix("\n").encode(), not text.endswith("\n"))
    if kind == SHIPPED:
        text = _line_of(content)
        if text is None:
            raise ValueError(f"found none of the fields {', '.join(_FIELDS)}, as collectors write")
        # Fluent Bit says by P that a container runtime cut the line.
        return Unwrapped(text.removesuffix("\n").encode(), content.get("logtag") == "P")
    return Unwrapped(_payload(content), identity=_place(content))


def _line_of(content: dict[str, Any]) -> str | None:
    texts = (content.get(name) for name in _FIELDS)
    return next((each for each in texts if isinstance(each, str)), None)


def _object(line: bytes) -> dict[str, Any]:
    found = msgspec.json.decode(line)
    if not isinstance(found, dict):
        raise ValueError("expected is a JSON object")  # noqa: TRY004  a bad line, as others
    return found


def _payload(content: dict[str, Any]) -> bytes:
    payload = content.get("payload")
    if isinstance(payload, str):
        return payload.encode()
    if isinstance(payload, dict):
        return msgspec.json.encode(payload)
    raise ValueError("payload: expected is a text or an object")


def _place(content: dict[str, Any]) -> str:
    place = (content.get("topic"), content.get("partition"), content.get("offset"))
    return "" if None in place else "{}-{}@{}".format(*place)
