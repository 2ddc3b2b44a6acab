"""The keys of the audit log."""

from __future__ import annotations

import pytest

from doorkeeper.config.errors import ConfigError
from testkit.settings import settings_of


@pytest.mark.parametrize(
    ("entry", "allowed"),
    [
        ("sync=always", "none or interval or strict"),
        ("decisions=some", "all or denied or none"),
        ("compression=gzip", "zstd or none"),
        ("queue.events=1", "a whole number from 1000"),
        ("file.ms=1", "a whole number from 100"),
        ("retention.days=-2", "a whole number from -1"),
    ],
)
def test_what_is_wrong_is_told(entry: str, allowed: str) -> None:
    """A value that is not allowed stops the start with what is."""
    with pytest.raises(ConfigError) as caught:
        settings_of(f"doorkeeper.audit.{entry}\n")

    assert allowed in str(caught.value.problems[0])
