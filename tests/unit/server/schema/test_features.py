"""Releases and the levels of metadata.version."""

from __future__ import annotations

import pytest

from doorkeeper.server.schema.declared import StoredFeature
from doorkeeper.server.schema.features import has_networks, metadata_level, release_of


@pytest.mark.parametrize(
    ("levels", "level", "release", "networks"),
    [
        ([], 30, "4.3", False),
        ([("metadata.version", 30)], 30, "4.3", False),
        ([("other", 99)], 30, "4.3", False),
        ([("other", 1), ("metadata.version", 33)], 33, "4.4", True),
        ([("metadata.version", 32)], 32, "4.3", True),
    ],
)
def test_levels(levels: list[tuple[str, int]], level: int, release: str, *, networks: bool) -> None:
    """A store that says nothing follows the oldest release."""
    features = [StoredFeature(*each) for each in levels]

    assert metadata_level(features) == level
    assert release_of(features) == release
    assert has_networks(level) is networks
