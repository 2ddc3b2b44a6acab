"""JSON of which nothing is lost."""

from __future__ import annotations

import pytest

from doorkeeper.acls.formats.documents import document_of
from doorkeeper.acls.formats.names import FormatError


def test_json_is_read_as_by_python() -> None:
    """It is what Python's reader makes of it."""
    assert document_of('{"a": [1, {"b": null}], "c": "x"}') == {"a": [1, {"b": None}], "c": "x"}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"acls": [1], "acls": []}', "duplicate key 'acls' in an object"),
        ('[{"operation": "READ", "operation": "WRITE"}]', "duplicate key 'operation'"),
        ("[" * 200_000, "not JSON: nested too deeply"),
        ('{"version": ' + "1" * 6000, "not JSON: "),
        ("{\n]", "line 2: not JSON: "),
        ("", "line 1: not JSON: "),
    ],
)
def test_invalid_json_is_rejected(text: str, error: str) -> None:
    with pytest.raises(FormatError) as refused:
        document_of(text)

    assert str(refused.value).startswith(error)
