"""The engine without a JVM."""

from __future__ import annotations

import pytest

from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.errors import Unreadable


def test_remote_addresses_require_spark() -> None:
    assert Engine().list_remote([]) == []
    with pytest.raises(Unreadable, match=r"s3a://b/x: .* add --engine spark"):
        Engine().list_remote(["s3a://b/x"])
