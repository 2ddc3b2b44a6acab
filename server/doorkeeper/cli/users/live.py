"""SCRAM users of a live cluster, or of a server in single-user mode, through Kafka's APIs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from typing import Final

from doorkeeper.base.errors import ErrorCode
from doorkeeper.cli.repositories.sessions import answers_of_few
from doorkeeper.cli.terminal import say_once
from doorkeeper.client.admin import AdminClient
from doorkeeper.client.config import ClientConfig
from doorkeeper.client.errors import ClientError
from doorkeeper.client.identity import identity_of
from doorkeeper.client.scram import ScramDeletion, ScramPassword

_GONE: Final = ErrorCode.RESOURCE_NOT_FOUND
"""Of a deletion: a broker that lags may list what is deleted."""


@contextmanager
def open_users(server: AbstractAsyncContextManager[ClientConfig]) -> Iterator[LiveUsers]:
    """Give the users of a server; retries are reported on stderr, each reason once.

    Raises:
        ValueError: there is no bootstrap address, or one has a syntax error.
    """
    with asyncio.Runner() as runner, _entered(server, runner) as config:
        client = AdminClient(config, on_retry=say_once(lambda error: f"{error}; trying again"))
        try:
            yield LiveUsers(client, config, runner)
        finally:
            runner.run(client.close())


@contextmanager
def _entered(
    server: AbstractAsyncContextManager[ClientConfig], runner: asyncio.Runner
) -> Iterator[ClientConfig]:
    opened = AsyncExitStack()
    config = runner.run(opened.enter_async_context(server))
    try:
        yield config
    finally:
        runner.run(opened.aclose())


class LiveUsers:
    """The users of a live cluster."""

    def __init__(self, client: AdminClient, config: ClientConfig, runner: asyncio.Runner) -> None:
        """Take a client, its configuration, and the event loop that it is used in."""
        self._client = client
        self._runner = runner
        self.login = runner.run(identity_of(config)).scram
        """The credential that these users are managed with; None for another login."""

    def iterations(self) -> Mapping[str, Mapping[str, int]]:
        """Return the iterations of each user by mechanism, as any broker of a few lists them.

        Raises:
            ClientError: the server refuses, or there is no answer.
        """
        describe = self._client.scram_credentials
        users: dict[str, dict[str, int]] = {}
        listings = self._runner.run(
            answers_of_few(self._client, lambda node_id: describe(node_id=node_id))
        )
        for listed in listings:
            for user, has in listed.items():
                users[user] = has | users.get(user, {})
        return dict(sorted(users.items()))

    def put(self, user: str, iterations: Mapping[str, int], password: str) -> None:
        """Set the password of a user, for each mechanism with its number of iterations.

        Raises:
            ClientError: the server refuses; the text lists the mechanisms that were changed before.
        """
        self._alter(
            [
                ScramPassword(user, mechanism, password, rounds)
                for mechanism, rounds in iterations.items()
            ]
        )

    def delete(self, user: str, mechanisms: Iterable[str]) -> None:
        """Delete credentials; one that is gone is deleted.

        Raises:
            ClientError: the server refuses; the text lists the mechanisms that were changed before.
        """
        self._alter([ScramDeletion(user, mechanism) for mechanism in mechanisms])

    def _alter(self, changes: list[ScramPassword] | list[ScramDeletion]) -> None:
        done: list[str] = []
        # One request for each mechanism: a result names the user, not the mechanism.
        for change in changes:
            (result,) = self._runner.run(self._client.alter_scram_credentials([change]))
            is_gone = result.error is not None and result.error.code is _GONE
            if result.error is not None and not is_gone:
                before = f"; changed before: {', '.join(done)}" if done else ""
                error = result.error
                raise ClientError(f"{change.mechanism}: {error.code.name}: {error}{before}")
            done.append(change.mechanism)
