"""A client for one command: made of its options, told of on stderr, closed behind it."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

from doorkeeper.cli.terminal import say
from doorkeeper.client.admin import AdminClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.client.config import ClientConfig
    from doorkeeper.client.errors import ClientError


@contextmanager
def opened(config: ClientConfig) -> Iterator[tuple[AdminClient, asyncio.Runner]]:
    """Give a client and the loop that runs its calls; retries are told, each reason once.

    Raises:
        ValueError: there is no bootstrap address, or one is none.

    """
    told: set[str] = set()

    def tell(error: ClientError) -> None:
        if str(error) not in told:
            told.add(str(error))
            say(f"{error}; trying again")

    with asyncio.Runner() as runner:
        client = AdminClient(config, on_retry=tell)
        try:
            yield client, runner
        finally:
            runner.run(client.close())
