"""Prints dissections of frames: as text, or one JSON object for each frame.

Fields are written while they are read, so that a large frame needs little more memory than its
bytes.
"""

from __future__ import annotations

import json
import math
import sys
from base64 import urlsafe_b64encode
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.cli.terminal import paint, printable, show
from doorkeeper.dissector.code_names import code_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.dissector.dissection import Dissection
    from doorkeeper_wire.declared.fields import Field

_LINES_AT_ONCE: Final = 1000
_SHOWN_BYTES_MAX: Final = 64


def print_text(number: int, dissection: Dissection, *, show_secrets: bool) -> None:
    """Print a frame as lines: its fields with their offsets, then the fault."""
    lines = _lines(number, dissection, show_secrets=show_secrets)
    # Lines are joined: a system call for each would dominate the cost of large frames.
    while some := list(islice(lines, _LINES_AT_ONCE)):
        show(some)


def print_json(number: int, dissection: Dissection, *, show_secrets: bool) -> None:
    """Print a frame as a line of JSON, in ASCII: its texts may come from anywhere."""
    for part in _json_parts(number, dissection, show_secrets=show_secrets):
        # The only control character that json leaves as it is.
        sys.stdout.write(part.replace("\x7f", "\\u007f"))
    sys.stdout.flush()


def _lines(number: int, dissection: Dissection, *, show_secrets: bool) -> Iterator[str]:
    frame = dissection.frame
    what: str = dissection.kind
    if dissection.api:
        what += f" {dissection.api} version {dissection.version}"
    place = f", {frame.stream}" if frame.stream else ""
    yield paint(f"frame {number} at {frame.offset}{place}: {what}", "cyan", bold=True)
    for field in dissection.fields():
        value = _text(dissection.api, field, show_secrets=show_secrets)
        yield f"{field.offset:>8}  {'  ' * field.depth}{field.name} {value}".rstrip()
    if dissection.note:
        yield f"          {dissection.note}"
    if (error := dissection.error) is not None:
        path = f" {error.field}:" if error.field else ""
        yield paint(f"broken at {error.offset}:{path} {error.reason}", "red")


def _text(api: str, field: Field, *, show_secrets: bool) -> str:
    """Return the value of a field; nothing for a struct, whose fields follow."""
    value = field.value
    if field.type == "struct":
        return ""
    if value is None:
        return "null"
    if field.type == "array":
        return f"({value} element{'' if value == 1 else 's'})"
    if _is_hidden(field, show_secrets=show_secrets):
        return f"<{_secret_size(value)} secret bytes>"
    return _plain_text(api, field)


def _plain_text(api: str, field: Field) -> str:
    value = field.value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{printable(value)}"'
    if isinstance(value, bytes):
        return _bytes_text(field.type, value)
    name = code_name(api, field.name, value)
    return f"{value}" if name is None else f"{value} ({name})"


def _bytes_text(kind: str, value: bytes) -> str:
    if kind == "uuid":
        return _uuid(value)
    if len(value) > _SHOWN_BYTES_MAX:
        return f"{value[:_SHOWN_BYTES_MAX].hex()}... ({len(value)} bytes)"
    return value.hex() or "(0 bytes)"


def _json_parts(number: int, dissection: Dissection, *, show_secrets: bool) -> Iterator[str]:
    frame = dissection.frame
    head = {
        "frame": number,
        "stream": frame.stream or None,
        "offset": frame.offset,
        "kind": dissection.kind,
        "api": dissection.api or None,
        "version": dissection.version,
    }
    yield f'{json.dumps(head)[:-1]}, "fields": ['
    separator = ""
    for field in dissection.fields():
        yield separator + json.dumps(_record(dissection.api, field, show_secrets=show_secrets))
        separator = ", "
    error = dissection.error
    found = error and {"offset": error.offset, "field": error.field, "reason": error.reason}
    yield f'], "note": {json.dumps(dissection.note or None)}, "error": {json.dumps(found)}}}\n'


def _record(api: str, field: Field, *, show_secrets: bool) -> dict[str, Any]:
    """Return a field as JSON; bytes are hexadecimal, an array is the number of its elements."""
    record = {"offset": field.offset, "size": field.size, "field": field.path, "type": field.type}
    value = field.value
    if field.type == "struct":
        return record
    if _is_hidden(field, show_secrets=show_secrets):
        return record | {"value": None, "secret_bytes": _secret_size(value)}
    if isinstance(value, bytes):
        value = _uuid(value) if field.type == "uuid" else value.hex()
    # JSON has no NaN and no infinity.
    if isinstance(value, float) and not math.isfinite(value):
        value = str(value)
    record["value"] = value
    name = code_name(api, field.name, value)
    return record if name is None else record | {"name": name}


# Only texts and bytes can hold a secret; a null or a length shows that there is none.
def _is_hidden(field: Field, *, show_secrets: bool) -> bool:
    return field.secret and not show_secrets and isinstance(field.value, str | bytes)


def _secret_size(value: str | bytes) -> int:
    return len(value if isinstance(value, bytes) else value.encode(errors="replace"))


def _uuid(value: bytes) -> str:
    """Return a uuid in Kafka's text form."""
    return urlsafe_b64encode(value).decode().rstrip("=")
