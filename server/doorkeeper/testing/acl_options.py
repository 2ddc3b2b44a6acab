"""Converts the option ``acls`` to bindings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from doorkeeper.acls.formats.choosing import read
from doorkeeper.acls.formats.names import FormatError, wrong
from doorkeeper.acls.formats.records import VERSION, from_document
from doorkeeper.acls.model import AclBinding
from doorkeeper.acls.validation import unencodable, unstorable

if TYPE_CHECKING:
    from doorkeeper.testing.options import Acls


def bindings_of(acls: Acls) -> list[AclBinding]:
    """Return the bindings, in their order.

    Raises:
        FormatError: a record or a file is malformed, or a binding is too long for a request.
        OSError: a file cannot be read.
    """
    if isinstance(acls, (str, Path)):
        path = Path(acls)
        return _checked(read(path.read_text(encoding="utf-8"), name=path.name))
    if isinstance(acls, Mapping):
        return _checked(_of_set(acls))
    bindings: list[AclBinding] = []
    for number, record in enumerate(acls, 1):
        if isinstance(record, AclBinding):
            bindings += _checked([record], unencodable, number)
        else:
            bindings += _checked(_of_record(number, record), unstorable, number)
    return bindings


def _checked(
    bindings: list[AclBinding],
    fault_of: Callable[[AclBinding], object | None] = unstorable,
    number: int | None = None,
) -> list[AclBinding]:
    """Return bindings that a broker takes; ``number`` is that of their record."""
    for index, binding in enumerate(bindings, 1):
        if fault := fault_of(binding):
            raise FormatError(f"acls: {number or index}: {fault}")
    return bindings


def _of_set(acls: Mapping[str, object]) -> list[AclBinding]:
    try:
        return from_document(dict(acls))
    except FormatError as error:
        text = "acls: expected a list of mappings, or a mapping with version and acls"
        raise FormatError(f"{text}: {error}") from None


def _of_record(number: int, record: object) -> list[AclBinding]:
    if not isinstance(record, Mapping):
        raise wrong(record, "a binding, or a record", f"acls: {number}")
    row = {key: list(x) if isinstance(x, tuple) else x for key, x in dict(record).items()}
    try:
        return from_document({"version": VERSION, "acls": [row]})
    except FormatError as error:
        raise FormatError(f"acls: {number}: {str(error).removeprefix('acl 1: ')}") from None
