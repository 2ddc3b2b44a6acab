"""ACLs as tests give them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.formats.choosing import Format, write
from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.model import AclBinding
from doorkeeper.testing.acl_options import bindings_of
from testkit.stores import binding

if TYPE_CHECKING:
    from pathlib import Path

RECORD = {"resourceType": "TOPIC", "name": "orders", "principal": "User:alice"}


def test_acl_file_is_read(tmp_path: Path) -> None:
    """In a format that its content shows, here Kafka's own."""
    bindings = bindings_of([{**RECORD, "operation": ["READ", "WRITE"]}])
    path = tmp_path / "acls.txt"
    path.write_text(write(bindings, Format.KAFKA), encoding="utf-8")

    assert bindings_of(path) == bindings_of(str(path)) == bindings


def test_invalid_record_is_rejected() -> None:
    with pytest.raises(FormatError, match=r"^acls: 2: missing: operation"):
        bindings_of([binding(1).binding, RECORD])
    with pytest.raises(FormatError, match="unknown: topic"):
        bindings_of([{**RECORD, "operation": "READ", "topic": "x"}])


def test_file_mapping_is_accepted() -> None:
    rows = [{**RECORD, "operation": "READ"}]

    assert bindings_of({"version": 1, "acls": rows}) == bindings_of(rows)
    with pytest.raises(FormatError, match=r"acls: .*version and acls: version: found None"):
        bindings_of(rows[0])
    with pytest.raises(FormatError, match="acls: 1: found 'row'; expected: a binding"):
        bindings_of(["row"])  # type: ignore[list-item]


def test_unencodable_binding_is_rejected() -> None:
    pattern, entry = binding(1).binding
    long = AclBinding(pattern._replace(name="y" * 40_000), entry)

    with pytest.raises(FormatError, match=r"^acls: 2: Resource name takes 40000 bytes; at most"):
        bindings_of([binding(1).binding, long])
    with pytest.raises(FormatError, match=r"^acls: 1: Principal contains an unpaired surrogate"):
        bindings_of([{**RECORD, "operation": "READ", "principal": "User:\udcff"}])
