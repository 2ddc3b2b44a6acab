r"""Envelopes, which collectors put around each line of a log, or each record of a topic.

docker   {"log":"<line>\n","stream":"stdout","time":"2026-10-21T13:54:30.714123456Z"}
cri      2026-10-21T13:54:30.714123456Z stdout F <line>
record   {"topic":...,"partition":0,"offset":5,...,"payload":"<record>"}, as kcat -J writes it,
         or {"schema":...,"payload":<record>}, as the JsonConverter of Kafka Connect does
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

PLAIN, DOCKER, CRI, RECORD = "", "docker", "cri", "record"

_CRI = re.compile(
    rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) ([FP]) "
)
_MARKS = (
    (DOCKER, {"log", "stream", "time"}),
    (RECORD, {"topic", "partition", "offset", "payload"}),
    (RECORD, {"schema", "payload"}),
)


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
    if line.lstrip().startswith(b"{"):
        try:
            keys = set(_object(line))
        except ValueError:
            return PLAIN
        for kind, marks in _MARKS:
            if marks <= keys:
                return kind
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
    content = _object(line)
    if kind == DOCKER:
        text = content.get("log")
        if not isinstance(text, str):
            raise ValueError("log: expected is a text, as Docker writes it")
        return Unwrapped(text.removesuffix("\n").encode(), not text.endswith("\n"))
    return Unwrapped(_payload(content), identity=_place(content))


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
