"""What plug-ins import, and what the contract of callback handlers asks for."""

from __future__ import annotations

import pytest

from doorkeeper import plugins


def test_all_exported_names_exist() -> None:
    assert all(hasattr(plugins, name) for name in plugins.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = plugins.Nothing
