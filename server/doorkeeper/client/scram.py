"""SCRAM users: requests and responses. The server never receives a password.

Source: KIP-554; ``UserScramCredentialUpsertion`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from doorkeeper.base.credentials import (
    DIGESTS,
    ITERATIONS_MIN,
    MECHANISM_CODES,
    MECHANISM_NAMES,
    base_36,
)
from doorkeeper.base.errors import ApiError
from doorkeeper.client.errors import error_of
from doorkeeper.client.nodes import Nodes
from doorkeeper_wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from doorkeeper_wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsResponse,
)

_SALT_BYTES = 17


class ScramPassword(Struct, frozen=True):
    """A password to set for a user and mechanism; it replaces a previous one."""

    user: str
    mechanism: str
    password: str
    iterations: int = ITERATIONS_MIN

    def __repr__(self) -> str:
        return f"ScramPassword(user={self.user!r}, mechanism={self.mechanism!r})"


class ScramDeletion(Struct, frozen=True):
    """A credential to delete."""

    user: str
    mechanism: str


class Altered(NamedTuple):
    """The result of one change of a user's credentials."""

    error: ApiError | None = None


def iterations_by_user(answer: DescribeUserScramCredentialsResponse) -> dict[str, dict[str, int]]:
    """Return the iterations of each user by mechanism; both are sorted."""
    return {
        result.user: {
            MECHANISM_NAMES[info.mechanism]: info.iterations
            for info in sorted(result.credential_infos, key=lambda info: info.mechanism)
            if info.mechanism in MECHANISM_NAMES
        }
        for result in sorted(answer.results, key=lambda result: result.user)
    }


def rounds(changes: Sequence[ScramPassword | ScramDeletion]) -> list[list[int]]:
    """Return the positions of changes, in rounds that contain each user once."""
    positions: list[list[int]] = []
    seen: dict[str, int] = {}
    for at, change in enumerate(changes):
        if change.mechanism not in MECHANISM_CODES:
            allowed = ", ".join(MECHANISM_CODES)
            raise ValueError(f"found {change.mechanism}; allowed: {allowed}")
        number = seen.get(change.user, 0)
        seen[change.user] = number + 1
        if number == len(positions):
            positions.append([])
        positions[number].append(at)
    return positions


async def alter(nodes: Nodes, changes: Sequence[ScramPassword | ScramDeletion]) -> list[Altered]:
    """Send changes of different users in one request; the results are in order."""
    request = AlterUserScramCredentialsRequest(
        upsertions=tuple(
            _upsertion(change) for change in changes if isinstance(change, ScramPassword)
        ),
        deletions=tuple(
            ScramCredentialDeletion(name=change.user, mechanism=MECHANISM_CODES[change.mechanism])
            for change in changes
            if isinstance(change, ScramDeletion)
        ),
    )
    answer = await nodes.call(request, AlterUserScramCredentialsResponse, controller=True)
    errors = {
        result.user: error_of(result.error_code, result.error_message) for result in answer.results
    }
    return [Altered(errors[change.user]) for change in changes if change.user in errors]


def _upsertion(change: ScramPassword) -> ScramCredentialUpsertion:
    salt = base_36(os.urandom(_SALT_BYTES))
    salted = hashlib.pbkdf2_hmac(
        DIGESTS[change.mechanism], change.password.encode(), salt, change.iterations
    )
    return ScramCredentialUpsertion(
        name=change.user,
        mechanism=MECHANISM_CODES[change.mechanism],
        iterations=change.iterations,
        salt=salt,
        salted_password=salted,
    )
