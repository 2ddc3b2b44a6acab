"""The example of docs/testing.md for kafka-python, run as it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testkit.testing_examples import run_example

if TYPE_CHECKING:
    from pathlib import Path


def test_kafka_python(tmp_path: Path) -> None:
    """kafka-python's admin client works on the fixture; each test of the example passes."""
    assert run_example("test_with_kafka_python.py", tmp_path) == {"passed": 3}
