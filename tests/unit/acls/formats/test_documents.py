"""JSON of which nothing is lost."""

from __future__ import annotations

import pytest

from doorkeeper.acls.formats.documents import document_of
from doorkeeper.acls.formats.names import FormatError


def test_json_is_read_as_by_python() -> None:
    """It is what Python's reader makes of it."""
    assert document_of('{"a": [1, {"b": null}], "c": "x"}') == {"a": [1, {"b": None}], "c": "x"}


MANY_KEYS = ", ".join(f'"{number}": 0' for number in range(200_000))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"acls": [1], "acls": []}', "duplicate key 'acls' in an object"),
        ('[{"operation": "READ", "operation": "WRITE"}]', "duplicate key 'operation'"),
        # Comparing each of its keys with all others took minutes.
        (f'{{{MANY_KEYS}, "b": 0, "b": 0}}', "duplicate key 'b' in an object"),
        ("[" * 200_000, "not JSON: nested too deeply"),
        ('{"version": ' + "1" * 6000, "not JSON: "),
        ("{\n]", "line 2: not JSON: "),
        ("", "line 1: not JSON: "),
    ],
    ids=lambda text: text[:20],
)
def test_invalid_json_is_rejected(text: str, error: str) -> None:
    with pytest.raises(FormatError) as refused:
        document_of(text)

    assert str(refused.value).startswith(error)
