"""The source of a file, by its first lines, since names of logs differ from site to site."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from doorkeeper_pipeline.sources import envelopes, layouts
from doorkeeper_pipeline.sources.reading import BOM, head

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper_pipeline.sources.layouts import Layout

SOURCES = {
    "trail": "Doorkeeper's audit log",
    "authorizer-log": "kafka-authorizer.log in any layout",
    "ocsf": "Redpanda's audit log",
    "cloudevents": "Confluent's audit log",
}
"""The sources, as named by ``--source`` and in the column source, and what they are."""

HEAD_BYTES = 64 << 10
"""How much of the beginning is looked at."""

_LOG_LINE = re.compile(
    rb"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] [A-Z]+ (?!\[[^\]]*\] Principal = )"
)
"""Kafka's layout; with the name of a thread before the message it is another one."""

_MARKS = (("trail", {"kind", "seq"}), ("ocsf", {"class_uid"}), ("cloudevents", {"specversion"}))


class Form(NamedTuple):
    """The source of a file, the envelope of its lines, and the layout of a log.

    The layout is None for Kafka's own.
    """

    source: str
    envelope: str = envelopes.PLAIN
    layout: Layout | None = None


def form_of(beginning: bytes, pattern: str = "") -> Form | None:
    """Return the form of a file with this beginning; None if no line of it tells.

    Raises:
        PipelineError: the pattern is none.

    """
    texts = []
    envelope = envelopes.PLAIN
    begun = b""
    for line in beginning.removeprefix(BOM).splitlines():
        if not pattern and _LOG_LINE.match(line):
            return Form("authorizer-log")
        kind = envelopes.kind_of(line)
        try:
            found = envelopes.unwrap(kind, line)
        except ValueError:
            continue
        content = begun + found.content
        begun = content if found.partial else b""
        if found.partial:
            continue
        envelope = envelope or kind
        if content.lstrip().startswith(b"{"):
            source = _source_of_object(content)
            if source is not None:
                return Form(source, kind)
            if layouts.json_record(content) is not None:
                return Form("authorizer-log", kind, layouts.JSON)
        texts.append(content.decode("utf-8", "replace"))
    layout = layouts.detect(texts, pattern)
    return None if layout is None else Form("authorizer-log", envelope, layout)


def form_of_file(path: Path, how: str, source: str, pattern: str = "") -> Form:
    """Return the form of a file whose source is known."""
    found = form_of(head(path, how, HEAD_BYTES), pattern)
    return found if found is not None and found.source == source else Form(source)


def _source_of_object(text: bytes) -> str | None:
    try:
        keys = set(msgspec.json.decode(text, type=dict))
    except (ValueError, RecursionError):
        return None
    return next((source for source, marks in _MARKS if marks <= keys), None)
