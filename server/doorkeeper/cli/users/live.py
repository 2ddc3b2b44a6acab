"""Users of SCRAM of a server that runs: Kafka's APIs, so that it may be a Kafka broker too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.client.errors import ClientError
from doorkeeper.client.scram import ScramDeletion, ScramPassword

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Mapping

    from doorkeeper.client.admin import AdminClient


class WireUsers:
    """The users of a server. What cannot be done is a ``ClientError``."""

    def __init__(self, client: AdminClient, runner: asyncio.Runner) -> None:
        """Take a client, and the loop that it lives in."""
        self._client = client
        self._runner = runner

    def found(self) -> Mapping[str, Mapping[str, int]]:
        """Return the iterations of each user by mechanism; users are sorted.

        Raises:
            ClientError: the server refuses, or there is no answer.

        """
        return self._runner.run(self._client.scram_credentials())

    def put(self, user: str, iterations: Mapping[str, int], password: str) -> None:
        """Give a user a password, by mechanism with so many iterations.

        Raises:
            ClientError: the server refuses; the text says what was changed before.

        """
        self._alter(
            [
                ScramPassword(user, mechanism, password, rounds)
                for mechanism, rounds in iterations.items()
            ]
        )

    def delete(self, user: str, mechanisms: Iterable[str]) -> None:
        """Delete credentials that are there.

        Raises:
            ClientError: the server refuses; the text says what was changed before.

        """
        self._alter([ScramDeletion(user, mechanism) for mechanism in mechanisms])

    def _alter(self, changes: list[ScramPassword] | list[ScramDeletion]) -> None:
        done: list[str] = []
        for change in changes:
            (result,) = self._runner.run(self._client.alter_scram_credentials([change]))
            if result.error is not None:
                before = f"; changed before: {', '.join(done)}" if done else ""
                error = result.error
                raise ClientError(f"{change.mechanism}: {error.code.name}: {error}{before}")
            done.append(change.mechanism)
