"""From the image of an earlier commit to this one, node by node, over the same volumes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from testkit.kafka_jars import Unavailable
from testkit.podman import Podman, until
from testkit.previous import COMMIT
from testkit.stack import NODES, Stack


@pytest.fixture
def stack(podman: Podman, image: str, tmp_path: Path) -> Iterator[Stack]:
    """Give a stack whose nodes are of the earlier commit."""
    assert image.endswith(":latest")
    try:
        podman.server_image_of(COMMIT)
    except Unavailable as missing:
        pytest.skip(str(missing))
    with Stack(podman, tmp_path, COMMIT) as running:
        running.start()
        yield running


def test_nodes_are_upgraded_one_by_one(stack: Stack) -> None:
    """What the earlier version took is there; both versions run together on one store."""
    first, second = NODES
    assert stack.add(first, ["User:before"]) == [0]

    stack.environment["DOORKEEPER_VERSION"] = "latest"
    for upgraded, other in ((first, second), (second, first)):
        stack.call("stop", upgraded)
        stack.podman("rm", "--force", stack.container(upgraded))
        stack.up("--no-deps", upgraded)
        stack.wait(upgraded)
        name = f"User:with-{upgraded}"
        assert stack.add(upgraded, [name]) == [0]
        until(partial(stack.lists, other, {name}))

    assert stack.add(first, ["User:after"]) == [0]
    expected = {f"User:{each}" for each in ("before", "after")}
    for node in NODES:
        until(partial(stack.lists, node, expected))
        version = stack.podman.inspect(stack.container(node))["ImageName"]
        assert version.endswith(":latest")
