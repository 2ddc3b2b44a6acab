"""Detects the format of a text; reads and writes by format.

``_TEXTS`` and ``_DOCUMENTS`` are the only places that tell formats apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import Enum
from functools import partial

from doorkeeper.acls.formats import csv, listing, records, znodes
from doorkeeper.acls.formats.acl_set import AclSet
from doorkeeper.acls.formats.documents import Source, json_source, yaml_source
from doorkeeper.acls.formats.foreign import (
    jikkou,
    json_rows,
    manifests,
    refused,
    rpk_table,
    strimzi,
    terraform,
)
from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.model import AclBinding


class Format(Enum):
    """The formats; the values are their names in options."""

    YAML = "yaml"
    JSON = "json"
    CSV = "csv"
    CSV_KAFKA_UI = "csv-kafka-ui"
    KAFKA = "kafka"
    ZNODES = "znodes"
    STRIMZI = "strimzi"
    JIKKOU = "jikkou"
    TERRAFORM = "terraform"
    RPK = "rpk"
    CONFLUENT = "confluent"
    JULIE = "julie"


_TEXTS: tuple[tuple[Format, Callable[[str], object], Callable[[str], AclSet]], ...] = (
    (Format.KAFKA, listing.is_listing, listing.read),
    (Format.CSV, csv.is_table, csv.read),
    (Format.RPK, rpk_table.is_table, rpk_table.read),
    *(
        (Format(how), re.compile(beginning).match, refused.refusing(why))
        for how, beginning, why in refused.TEXTS
    ),
    # What we write is read without a parser of YAML.
    (Format.YAML, lambda text: text.startswith(records.HEAD), records.read_yaml),
)
"""Formats that are known by how a text begins; the first one counts."""

_DOCUMENTS: tuple[tuple[Format, Callable[[Source], bool], Callable[[Source], AclSet]], ...] = (
    (Format.ZNODES, znodes.is_dump, znodes.read),
    (Format.JIKKOU, jikkou.is_jikkou, jikkou.read),
    (Format.STRIMZI, manifests.has_manifests, strimzi.read),
    (Format.TERRAFORM, terraform.is_state, terraform.read),
    (Format.RPK, json_rows.is_rpk, json_rows.read_rpk),
    (Format.CONFLUENT, json_rows.is_confluent, json_rows.read_confluent),
    (Format.JULIE, json_rows.is_julie_state, json_rows.read_julie_state),
    (Format.JULIE, refused.is_julie_topology, refused.refuse_julie_topology),
)
"""Formats that are known by the members of a document of YAML or JSON; all others are ours."""

_READERS: dict[Format, Callable[[str], AclSet]] = {
    Format.YAML: records.read_yaml,
    Format.JSON: records.read_json,
    Format.CSV: csv.read,
    Format.CSV_KAFKA_UI: csv.read,
    Format.KAFKA: listing.read,
    Format.ZNODES: lambda text: znodes.read(json_source(text)),
}
_WRITERS: dict[Format, Callable[[Iterable[AclBinding]], str]] = {
    Format.YAML: records.write_yaml,
    Format.JSON: records.write_json,
    Format.CSV: csv.write,
    Format.CSV_KAFKA_UI: lambda bindings: csv.write(bindings, csv.KAFKA_UI),
    Format.KAFKA: listing.write,
}
WRITTEN = tuple(_WRITERS)
"""The formats that can be written."""

# For texts that do not begin like their format, whose errors say what is missing.
_BY_SUFFIX = {".csv": Format.CSV, ".txt": Format.KAFKA}
_YAML_SUFFIXES = (".yaml", ".yml")
_MARKS = "\ufeff"
"""Windows editors write a byte order mark."""


def read(text: str, how: Format | None = None, *, name: str = "") -> list[AclBinding]:
    """Return the bindings of a text; without ``how`` the format is detected."""
    return read_set(text, how, name=name).bindings


def read_set(text: str, how: Format | None = None, *, name: str = "") -> AclSet:
    """Return the set of a text, as ``read``, with the parts that it owns."""
    text = text.removeprefix(_MARKS)
    if how is not None:
        return _READERS[how](text)
    _, reader = _recognise(text, name)
    return reader()


def write(bindings: Iterable[AclBinding], how: Format) -> str:
    """Return bindings as text; sort them first if texts will be compared."""
    writer = _WRITERS.get(how)
    if writer is None:
        allowed = ", ".join(member.value for member in WRITTEN)
        raise FormatError(f"cannot write the format {how.value}; allowed: {allowed}")
    return writer(bindings)


def format_of(text: str, name: str = "") -> Format:
    """Return the format of a text, by its contents, or by the suffix of its file name."""
    text = text.removeprefix(_MARKS)
    try:
        how, _ = _recognise(text, name)
    except FormatError:
        return Format.JSON if _is_json(text, name) else Format.YAML
    return how


def _recognise(text: str, name: str) -> tuple[Format, Callable[[], AclSet]]:
    """Return the format of a text, and what reads it; a document is parsed once."""
    start = text.lstrip(" \t\r\n")
    for how, begins, read_text in _TEXTS:
        if begins(start):
            return how, partial(read_text, text)
    for suffix, how in _BY_SUFFIX.items():
        if name.lower().endswith(suffix):
            return how, partial(_READERS[how], text)
    source = json_source(text) if _is_json(text, name) else yaml_source(text)
    for how, is_one, read_source in _DOCUMENTS:
        if is_one(source):
            return how, partial(read_source, source)
    return Format.JSON if source.is_json else Format.YAML, partial(records.read, source)


def _is_json(text: str, name: str) -> bool:
    # JSON is YAML too, and is read faster.
    return text.lstrip().startswith(("{", "[")) and not name.lower().endswith(_YAML_SUFFIXES)
