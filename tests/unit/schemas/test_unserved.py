"""The declarations of APIs without a handler, from their file to the module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from doorkeeper_schemas.reading import SchemaError
from doorkeeper_schemas.unserved import unserved_source

NAMES = {7: "Sample"}

SAMPLE = """\
- api: Sample
  key: 7
  versions: 1-3
  flexible: 2+
  listeners: [broker]
  request:
    - "Name string 1+ null=2+ default=null"
    - "Rows []Row 1-2":
        - "Id uuid 1+"
        - "Flag bool 1+ default=true"
    - "Limit int32 3+ tag=4 default=0x7fffffff"
  response: []
"""


def source(path: Path, text: str) -> str:
    file = path / "unserved.yaml"
    file.write_text(text, encoding="utf-8")
    return unserved_source(file, NAMES)


def test_a_declaration(tmp_path: Path) -> None:
    """Each word of a field becomes an attribute; open ranges end with NEVER."""
    module: dict[str, Any] = {}
    exec(source(tmp_path, SAMPLE), module)

    declared = module["UNSERVED"][7]
    name, rows, limit = declared.request
    assert declared[:6] == ("Sample", 1, 3, 2, True, False)
    assert (name.kind, name.null_low, name.null_high, name.default) == ("string", 2, 32767, None)
    assert (rows.kind, rows.is_array, rows.low, rows.high, rows.default) == (
        "struct",
        True,
        1,
        2,
        (),
    )
    assert [(each.name, each.default) for each in rows.fields] == [
        ("Id", bytes(16)),
        ("Flag", True),
    ]
    assert (limit.tag, limit.low, limit.default) == (4, 3, 2**31 - 1)
    assert declared.response == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("key: 7", "key: 8"),
        ("api: Sample", "api: Other"),
        ("[broker]", "[zookeeper]"),
        ("  flexible: 2+\n", ""),
        ("1-3", "all"),
        ("Name string 1+", "Name text 1+"),
        ("Name string 1+", "Name string"),
        ("response: []", "response: none"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, before: str, after: str) -> None:
    """With the file and what was found."""
    with pytest.raises(SchemaError, match=r"unserved.yaml: .*(expected|written as)"):
        source(tmp_path, SAMPLE.replace(before, after))
