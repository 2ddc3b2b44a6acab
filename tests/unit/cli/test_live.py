"""A client for one command."""

from __future__ import annotations

import pytest

from doorkeeper.cli.live import opened
from doorkeeper.client.config import ClientConfig
from doorkeeper.client.errors import ClientError


def test_retries_are_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Each reason in one line on stderr, however often it is met; the client is closed."""
    config = ClientConfig(bootstrap="127.0.0.1:1", patient=True, retry_ms=1, timeout_ms=200)

    with opened(config) as (client, runner), pytest.raises(ClientError):
        runner.run(client.cluster())

    assert capsys.readouterr().err == (
        "doorkeeper: 127.0.0.1:1: Connection refused; trying again\n"
    )


def test_an_address_that_is_none_is_told_before_anything_else() -> None:
    """By a ValueError."""
    with (
        pytest.raises(ValueError, match="an address is host:port"),
        opened(ClientConfig(bootstrap="nonsense")),
    ):
        pass
