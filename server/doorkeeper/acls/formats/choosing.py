"""Detects the format of a text; reads and writes by format."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Protocol

from doorkeeper.acls.formats import csv, listing, records, znodes
from doorkeeper.acls.formats.acl_set import AclSet
from doorkeeper.acls.formats.documents import document_of
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


class _Reader(Protocol):
    def __call__(self, text: str, *, bare_principals: bool = False) -> list[AclBinding]: ...


class _SetReader(Protocol):
    def __call__(self, text: str, *, bare_principals: bool = False) -> AclSet: ...


_SET_READERS: dict[Format, _SetReader] = {
    Format.YAML: records.read_yaml,
    Format.JSON: records.read_json,
}
_READERS: dict[Format, _Reader] = {
    Format.CSV: csv.read,
    Format.CSV_KAFKA_UI: csv.read,
    Format.KAFKA: listing.read,
    Format.ZNODES: znodes.read,
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

_BY_SUFFIX = {
    ".yaml": Format.YAML,
    ".yml": Format.YAML,
    ".csv": Format.CSV,
    ".txt": Format.KAFKA,
}


def read(
    text: str, how: Format | None = None, *, name: str = "", bare_principals: bool = False
) -> list[AclBinding]:
    """Return the bindings of a text; without ``how`` the format is detected, see ``format_of``."""
    return read_set(text, how, name=name, bare_principals=bare_principals).bindings


def read_set(
    text: str, how: Format | None = None, *, name: str = "", bare_principals: bool = False
) -> AclSet:
    """Return the set of a text, as ``read``, with the parts that it owns."""
    # Windows editors write a byte order mark.
    text = text.removeprefix("\ufeff")
    chosen = how or format_of(text, name)
    if chosen in _SET_READERS:
        return _SET_READERS[chosen](text, bare_principals=bare_principals)
    return AclSet(_READERS[chosen](text, bare_principals=bare_principals))


def write(bindings: Iterable[AclBinding], how: Format) -> str:
    """Return bindings as text; sort them first if texts will be compared.

    Raises:
        FormatError: the format is read-only, or cannot express a binding.
    """
    writer = _WRITERS.get(how)
    if writer is None:
        allowed = ", ".join(member.value for member in WRITTEN)
        raise FormatError(f"{how.value} is read, not written; written are {allowed}")
    return writer(bindings)


def format_of(text: str, name: str = "") -> Format:
    """Return the format of a text, by the suffix of its file name or by its first words."""
    for suffix, detected in _BY_SUFFIX.items():
        if name.lower().endswith(suffix):
            return detected
    start = text.lstrip("\ufeff \t\r\n")
    if start.startswith("{"):
        return _json_kind(text)
    if start.startswith(("Current ACLs for resource `", "ACLs for principal `")):
        return Format.KAFKA
    first, _, _ = start.partition("\n")
    if {cell.strip('" \r') for cell in first.split(",")} & {csv.KAFKA_UI[0], *csv.SECURITY_MANAGER}:
        return Format.CSV
    return Format.YAML


def _json_kind(text: str) -> Format:
    try:
        document = document_of(text)
    except FormatError:
        return Format.JSON
    return Format.ZNODES if znodes.is_dump(document) else Format.JSON
