"""Converts the option ``acls`` to bindings."""

from __future__ import annotations

from collections.abc import Mapping
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
        return _storable(read(path.read_text(encoding="utf-8"), name=path.name))
    if isinstance(acls, Mapping):
        return _storable(_of_set(acls))
    bindings: list[AclBinding] = []
    for number, record in enumerate(acls, 1):
        bindings += (
            [_check_binding(number, record)]
            if isinstance(record, AclBinding)
            else _storable(_of_record(number, record), number)
        )
    return bindings


def _storable(bindings: list[AclBinding], number: int | None = None) -> list[AclBinding]:
    """Return bindings that a broker stores; ``number`` is that of their record."""
    for index, binding in enumerate(bindings, 1):
        if fault := unstorable(binding):
            raise FormatError(f"acls: {number or index}: {fault}")
    return bindings


def _of_set(acls: Mapping[str, object]) -> list[AclBinding]:
    try:
        return from_document(dict(acls))
    except FormatError as error:
        text = "acls: expected a list of mappings, or a mapping with version and acls"
        raise FormatError(f"{text}: {error}") from None


def _check_binding(number: int, binding: AclBinding) -> AclBinding:
    refusal = unencodable(binding)
    if refusal is None:
        return binding

    raise FormatError(f"acls: {number}: {refusal}")


def _of_record(number: int, record: object) -> list[AclBinding]:
    if not isinstance(record, Mapping):
        raise wrong(record, "a binding, or a record", f"acls: {number}")
    row = {key: list(x) if isinstance(x, tuple) else x for key, x in dict(record).items()}
    try:
        return from_document({"version": VERSION, "acls": [row]})
    except FormatError as error:
        raise FormatError(f"acls: {number}: {str(error).removeprefix('acl 1: ')}") from None
