"""Users of SCRAM of a server that runs: Kafka's APIs, so that it may be a Kafka broker too.

The server never gets a password: it is hashed here.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from doorkeeper.authn.credentials import DIGESTS, base_36
from doorkeeper.cli.wire_client import WireError, refusal
from doorkeeper.scram_users import MECHANISM_CODES, MECHANISM_NAMES
from doorkeeper_wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from doorkeeper_wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from doorkeeper.cli.wire_client import WireClient

_SALT_BYTES = 17


class WireUsers:
    """The users of a server."""

    def __init__(self, client: WireClient) -> None:
        """Take a connection that is logged in."""
        self._client = client

    def found(self) -> Mapping[str, Mapping[str, int]]:
        """Return the iterations of each user by mechanism; users are sorted.

        Raises:
            WireError: the server refuses, or cannot be understood.

        """
        answer = self._client.ask(
            DescribeUserScramCredentialsRequest(), DescribeUserScramCredentialsResponse, 0
        )
        if answer.error_code:
            raise WireError(refusal(answer.error_code, answer.error_message))
        return {
            each.user: {
                MECHANISM_NAMES[info.mechanism]: info.iterations
                for info in sorted(each.credential_infos, key=lambda info: info.mechanism)
                if info.mechanism in MECHANISM_NAMES
            }
            for each in sorted(answer.results, key=lambda each: each.user)
        }

    def put(self, user: str, iterations: Mapping[str, int], password: str) -> None:
        """Give a user a password, by mechanism with so many iterations.

        A request may change one credential of a user, so each mechanism is one of its own.

        Raises:
            WireError: the server refuses; the text says what was changed before.

        """
        for mechanism, rounds in iterations.items():
            salt = base_36(os.urandom(_SALT_BYTES))
            upsertion = ScramCredentialUpsertion(
                name=user,
                mechanism=MECHANISM_CODES[mechanism],
                iterations=rounds,
                salt=salt,
                salted_password=hashlib.pbkdf2_hmac(
                    DIGESTS[mechanism], password.encode(), salt, rounds
                ),
            )
            self._alter(
                AlterUserScramCredentialsRequest(upsertions=(upsertion,)), mechanism, iterations
            )

    def delete(self, user: str, mechanisms: Iterable[str]) -> None:
        """Delete credentials that are there.

        Raises:
            WireError: the server refuses; the text says what was changed before.

        """
        names = tuple(mechanisms)
        for mechanism in names:
            deletion = ScramCredentialDeletion(name=user, mechanism=MECHANISM_CODES[mechanism])
            self._alter(AlterUserScramCredentialsRequest(deletions=(deletion,)), mechanism, names)

    def _alter(
        self, request: AlterUserScramCredentialsRequest, mechanism: str, asked: Iterable[str]
    ) -> None:
        answer = self._client.ask(request, AlterUserScramCredentialsResponse, 0)
        for result in answer.results:
            if result.error_code:
                text = refusal(result.error_code, result.error_message)
                raise WireError(f"{mechanism}: {text}{_done_before(mechanism, tuple(asked))}")


def _done_before(mechanism: str, asked: tuple[str, ...]) -> str:
    done = asked[: asked.index(mechanism)]
    return f"; changed before: {', '.join(done)}" if done else ""
