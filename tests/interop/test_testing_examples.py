"""The examples of docs/testing.md for confluent-kafka and aiokafka, run as they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from testkit.clients import CLIENTS
from testkit.kafka_jars import Unavailable, cannot
from testkit.testing_examples import EXAMPLES, run_example

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.interop


@pytest.mark.parametrize(
    ("library", "example"),
    [
        ("confluent-kafka", "test_with_confluent_kafka.py"),
        ("aiokafka", "test_with_aiokafka.py"),
    ],
)
def test_the_example_passes(library: str, example: str, tmp_path: Path) -> None:
    """The library's admin client works on the fixture; each test of the example passes."""
    client = next(each for each in CLIENTS if each.name == library)
    try:
        packages = client.site_packages()
    except Unavailable as missing:
        cannot(str(missing))

    assert run_example(EXAMPLES / example, tmp_path, packages) == {"passed": 2}
