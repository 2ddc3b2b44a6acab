"""What a command starts with."""

from __future__ import annotations

import click
import pytest

from doorkeeper_pipeline.cli import starting
from doorkeeper_pipeline.engines.session import Settings


def test_settings_of_spark_are_for_spark() -> None:
    """The local engine would ignore them."""
    given = Settings(conf=(("spark.executor.memory", "4g"),))
    with (
        pytest.raises(click.UsageError, match="add --engine spark"),
        starting.engine(None, None, lambda _: None, given),
    ):
        pass
