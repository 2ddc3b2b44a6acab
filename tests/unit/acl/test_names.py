"""Which names the wildcard covers."""

from __future__ import annotations

import pytest

from doorkeeper.acl.names import wildcard_covers


@pytest.mark.parametrize(
    ("name", "covered"), [("a", True), ("", True), ("*", True), ("*a", False), ("**", False)]
)
def test_the_wildcard_skips_longer_names_with_an_asterisk_first(
    name: str, *, covered: bool
) -> None:
    """As a broker of 4.3.1 does; found by asking one."""
    assert wildcard_covers(name) is covered
