"""The source of a file, by its first lines, since names of logs differ from site to site."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from doorkeeper.acls.formats import authorizer_message
from doorkeeper_pipeline.sources import envelopes, layouts
from doorkeeper_pipeline.sources.envelopes import PLAIN, Envelope
from doorkeeper_pipeline.sources.layouts import Layout
from doorkeeper_pipeline.sources.reading import BOM, head

AUTHORIZER_LOG = "authorizer-log"
SOURCES = {
    "trail": "Doorkeeper's audit log",
    AUTHORIZER_LOG: "kafka-authorizer.log in any layout",
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

KEYS_SHOWN, SHOWN = 8, 80
"""Keys and characters of an unknown file that an error shows."""

_FOREIGN = re.compile(authorizer_message.FOREIGN.encode())
_NOT_READ = (
    (re.compile(rb"\APK\x03\x04"), "it is a zip archive: unpack it with unzip"),
    (re.compile(rb"\APAR1"), "it is a Parquet file: write its lines as text"),
    (re.compile(rb"\A\x04\"M\x18"), "it is compressed with lz4: unpack it with lz4 -d"),
    (re.compile(rb"\A.{257}ustar", re.DOTALL), "it is a tar archive: unpack it with tar -xf"),
    (
        re.compile(rb'"(?:repoType|repo_type)"\s*:.*"(?:reqUser|request_user|reqData)"\s*:'),
        "found an audit log of Apache Ranger, which uses policies instead of ACLs; not supported",
    ),
    (re.compile(rb"\x00"), "not a text file"),
)
"""What is known and not read, with the reason or the remedy."""


class Form(NamedTuple):
    """The source of a file, the envelope of its lines, and the layout of a log.

    The layout is None for Kafka's own.
    """

    source: str
    envelope: Envelope = PLAIN
    layout: Layout | None = None


def form_of(beginning: bytes, pattern: str = "") -> Form | None:
    """Return the form of a file with this beginning; None if no line of it tells.

    The first line counts that says a decision, else the first one that may be of a log.

    Raises:
        PipelineError: the pattern is none.

    """
    known = layouts.known(pattern)
    possible: Form | None = None
    begun: dict[Envelope, str] = {}
    for line in beginning.removeprefix(BOM).splitlines():
        if not pattern and _LOG_LINE.match(line):
            return Form(AUTHORIZER_LOG)
        for envelope, text in _contents(line.decode("utf-8", "replace"), begun):
            for form, is_certain in _forms_of(text, envelope, known):
                if is_certain:
                    return form
                possible = possible or form
    return possible


def form_of_file(path: Path, how: str, source: str, pattern: str = "") -> Form:
    """Return the form of a file whose source is known."""
    form = form_of(head(path, how, HEAD_BYTES), pattern)
    return form if form is not None and form.source == source else Form(source)


def _contents(line: str, begun: dict[Envelope, str]) -> Iterator[tuple[Envelope, str]]:
    """Yield the texts that a line may hold; ``begun`` has those whose rest is in the next line."""
    for envelope in envelopes.envelopes_of(line):
        try:
            contents = envelopes.unwrap(envelope, line)
        except ValueError:
            continue
        for unwrapped in contents:
            text = begun.pop(envelope, "") + unwrapped.content
            if unwrapped.partial:
                begun[envelope] = text
            else:
                yield envelope, text


def _forms_of(
    text: str, envelope: Envelope, known: Sequence[Layout]
) -> Iterator[tuple[Form, bool]]:
    """Yield what a text may be, and whether it is that for certain: as it is, or with a prefix."""
    recognised = _form_of_record(text, envelope, known)
    if recognised is not None:
        yield recognised
        return
    for record in envelopes.records_behind(text):
        recognised = _form_of_record(record, envelope, known)
        if recognised is not None:
            form, is_certain = recognised
            begin = form.layout.begin if form.layout else layouts.JSON.begin
            within = envelope._replace(begin=begin.removeprefix(r"\A"))
            yield form._replace(envelope=within), is_certain
            return


def _form_of_record(
    text: str, envelope: Envelope, known: Sequence[Layout]
) -> tuple[Form, bool] | None:
    if text.lstrip().startswith("{"):
        content = text.encode("utf-8", "replace")
        source = _source_of_object(content)
        if source is not None:
            return Form(source, envelope), True
        record = layouts.json_record(content)
        if record is None:
            return None
        is_certain = record[2].startswith(layouts.MESSAGE_BEGIN)
        return Form(AUTHORIZER_LOG, envelope, layouts.JSON), is_certain
    fit = layouts.fitting(text, known)
    return None if fit is None else (Form(AUTHORIZER_LOG, envelope, fit[0]), fit[1])


def _source_of_object(text: bytes) -> str | None:
    try:
        keys = set(msgspec.json.decode(text, type=dict))
    except (ValueError, RecursionError):
        return None
    return next((source for source, marks in _MARKS if marks <= keys), None)


def foreign_decisions(beginning: bytes) -> str:
    """Return whose decisions a log has that has none of Kafka's authorizer; empty otherwise."""
    if not _FOREIGN.search(beginning) or layouts.MESSAGE_BEGIN.encode() in beginning:
        return ""
    return (
        "found decisions of Aiven's authorizer or a derivative, which uses its own rules instead"
        " of ACLs; not supported"
    )


def describe_unknown(beginning: bytes) -> str:
    """Return what a file is that is not recognised, as far as its beginning tells."""
    for mark, what in _NOT_READ:
        if mark.search(beginning):
            return what
    text = beginning.removeprefix(BOM).decode("utf-8", "replace").strip()
    if text.startswith("{"):
        try:
            keys = sorted(msgspec.json.decode(text.partition("\n")[0], type=dict))
        except (ValueError, RecursionError):
            return "found JSON that is not one object per line"
        more = ", ..." if len(keys) > KEYS_SHOWN else ""
        return f"found JSON with the keys {', '.join(map(ascii, keys[:KEYS_SHOWN]))}{more}"
    first = text.partition("\n")[0]
    return f"its first line is {first[:SHOWN]!a}{'...' if len(first) > SHOWN else ''}"
