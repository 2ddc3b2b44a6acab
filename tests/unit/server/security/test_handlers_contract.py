"""The contract of callback handlers: what it exports and what it asks for."""

from __future__ import annotations

import pytest

import doorkeeper.server.security


def test_everything_that_is_exported_is_there() -> None:
    """Also what is imported only when somebody asks; and nothing else is found."""
    assert all(hasattr(doorkeeper.authn, name) for name in doorkeeper.authn.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = doorkeeper.server.security.Nothing
