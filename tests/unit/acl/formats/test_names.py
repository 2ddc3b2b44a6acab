"""The words of all formats."""

from __future__ import annotations

import pytest

from doorkeeper.acl.formats import names
from doorkeeper.acl.formats.names import FormatError
from doorkeeper.acl.model import AclBinding, AclOperation, PatternType, ResourceType


@pytest.mark.parametrize("text", ["TRANSACTIONAL_ID", "TransactionalId", "transactional-id"])
def test_words_are_read_in_all_spellings(text: str) -> None:
    """As Kafka's tools, its Java classes and people write them."""
    assert names.resource_type(text) is ResourceType.TRANSACTIONAL_ID


def test_what_means_nothing_is_refused() -> None:
    """UNKNOWN, ANY and MATCH are for the wire and for filters."""
    assert names.operation("all") is AclOperation.ALL
    assert names.pattern_type("prefixed") is PatternType.PREFIXED
    for kind in (names.operation, names.resource_type, names.pattern_type, names.permission_type):
        for text in ("ANY", "UNKNOWN", "", "MATCH"):
            with pytest.raises(FormatError, match="allowed: "):
                kind(text)


def _of(principal: str, name: str = "t", *, bare_principals: bool) -> AclBinding:
    return names.binding_of(
        resource="TOPIC",
        name=name,
        pattern="LITERAL",
        principal=principal,
        host="*",
        does="READ",
        permission="ALLOW",
        bare_principals=bare_principals,
    )


def test_principals_without_a_type() -> None:
    """They are refused, but where somebody looks for them; all else is refused there too."""
    with pytest.raises(FormatError, match="Could not parse principal from `alice`"):
        _of("alice", bare_principals=False)
    assert _of("alice", bare_principals=True).entry.principal == "alice"
    assert _of("User:a", bare_principals=True) == _of("User:a", bare_principals=False)
    with pytest.raises(FormatError, match="should not be empty"):
        _of("alice", name="", bare_principals=True)


def test_half_of_a_surrogate_pair() -> None:
    """JSON can say it, but no broker takes it and no file keeps it."""
    with pytest.raises(FormatError, match="Resource name holds half of a surrogate pair"):
        names.binding_of(
            resource="TOPIC",
            name="a\ud800",
            pattern="LITERAL",
            principal="User:ä",
            host="*",
            does="READ",
            permission="ALLOW",
        )
