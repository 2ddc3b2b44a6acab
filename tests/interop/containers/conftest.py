"""What tests with containers share: podman, and the images."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testkit.kafka_jars import Unavailable
from testkit.podman import Podman

FIRST_RUN_S = 3600
"""The first test makes a base and builds images; one of them compiles nothing, but fetches much."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder: slow, and with time for the images."""
    for item in items:
        if "containers" in item.path.parts:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.timeout(FIRST_RUN_S), append=False)


@pytest.fixture(scope="session")
def podman() -> Iterator[Podman]:
    """Give podman; skipped where it is not, also in CI, which has no containers by default."""
    try:
        running = Podman()
    except Unavailable as missing:
        pytest.skip(str(missing))
    yield running
    running.close()


@pytest.fixture(scope="session")
def image(podman: Podman) -> str:
    """Give the image of this checkout."""
    return podman.server_image()
