"""Clients send what docs/reference/clients.md says of them.

Where one does not, and rightly so: ``PYTHONPATH=tools:tests python -m pages.clients``.
"""

from collections.abc import Callable, Iterator

import pytest

from pages.clients import Scene, load, scene, watch_client, watch_tools
from testkit.clients import CLIENTS, Client, WrongPython
from testkit.kafka_jars import Unavailable, cannot
from testkit.kafka_tools import KafkaTools


@pytest.fixture(scope="module")
def recorded() -> Iterator[Scene]:
    """Give a Doorkeeper behind a recorder."""
    with scene() as around:
        yield around


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_client_requests_match_the_page(client: Client, recorded: Scene) -> None:
    try:
        sight = watch_client(client, recorded)
    except WrongPython as reason:
        pytest.skip(str(reason))
    except Unavailable as missing:
        cannot(str(missing))

    assert sight == load()[client.name]


@pytest.mark.parametrize("version", ["4.3.1", "3.9.1"])
def test_tool_requests_match_the_page(
    version: str, kafka_tools: Callable[[str], KafkaTools], recorded: Scene
) -> None:
    """Kafka's own tools do the same."""
    assert watch_tools(kafka_tools(version), recorded) == load()[f"kafka-tools-{version}"]
