"""The source of a file, by its first lines, since names of logs differ from site to site."""

from __future__ import annotations

import json
import re

from doorkeeper_pipeline.sources.reading import BOM

SOURCES = ("trail", "authorizer-log", "ocsf", "cloudevents")
"""The sources, as named by ``--source`` and in the column source."""

HEAD_BYTES = 64 << 10
"""How much of the beginning is looked at."""

_LOG_LINE = re.compile(rb"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] [A-Z]+ ")
_MARKS = (("trail", {"kind", "seq"}), ("ocsf", {"class_uid"}), ("cloudevents", {"specversion"}))


def source_of(beginning: bytes) -> str | None:
    """Return the source of a file with this beginning; None if no line of it tells."""
    for line in beginning.removeprefix(BOM).splitlines():
        if _LOG_LINE.match(line):
            return "authorizer-log"
        if line.lstrip().startswith(b"{"):
            try:
                keys = set(json.loads(line))
            except (ValueError, RecursionError):
                continue
            for source, marks in _MARKS:
                if marks <= keys:
                    return source
    return None
