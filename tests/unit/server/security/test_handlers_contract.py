"""What plug-ins import, and what the contract of callback handlers asks for."""

from __future__ import annotations

import pytest

from doorkeeper import plugins


def test_everything_that_is_exported_is_there() -> None:
    """Also what is imported only when somebody asks; and nothing else is found."""
    assert all(hasattr(plugins, name) for name in plugins.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = plugins.Nothing
