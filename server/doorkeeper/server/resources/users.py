"""SCRAM credentials of all users: an immutable table, and the plan of their alteration.

Snapshots share structure, so another credential costs O(log n). In a plan deletions precede
upsertions, each in the order of the request. A user with two alterations gets neither. The first
error of a user counts.

Source: ``ScramControlManager.alterCredentials`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Self

import immutables
from msgspec import Struct

from doorkeeper.base.credentials import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    MECHANISM_NAMES,
    ScramCredential,
    salted_credential_of,
)
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.slices import Slices, counts
from doorkeeper.server.resources.nested_maps import ChangingMaps
from doorkeeper.server.schema.change import RECORDS_MAX, Change, edit
from doorkeeper.server.schema.declared import CREDENTIAL, StoredCredential
from doorkeeper_wire.messages.alter_user_scram_credentials import (
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)


class ScramUsers(Struct, frozen=True, eq=False):
    """An immutable snapshot of the credentials."""

    _by_user: immutables.Map[str, immutables.Map[str, ScramCredential]] = immutables.Map()
    # Counts of (mechanism, iterations), so that usual_iterations does not visit all users.
    _rounds: immutables.Map[tuple[str, int], int] = immutables.Map()

    def with_changes(
        self,
        set: Iterable[StoredCredential],
        deleted: Iterable[StoredCredential] = (),
    ) -> Self:
        """Return a snapshot without ``deleted`` and with ``set``."""
        by_user, rounds = ChangingMaps(self._by_user), self._rounds.mutate()

        def count(mechanism: str, iterations: int, step: int) -> None:
            total = rounds.get((mechanism, iterations), 0) + step
            if total:
                rounds[mechanism, iterations] = total
            else:
                del rounds[mechanism, iterations]

        for row in deleted:
            gone = by_user.of(row.user).pop(row.mechanism)
            count(row.mechanism, gone.iterations, -1)
        for row in set:
            of_user, mechanism = by_user.of(row.user), row.mechanism
            if mechanism in of_user:
                count(mechanism, of_user[mechanism].iterations, -1)
            of_user[mechanism] = ScramCredential(
                row.salt, row.stored_key, row.server_key, row.iterations
            )
            count(mechanism, row.iterations, 1)
        return type(self)(by_user.finish(), rounds.finish())

    def credential(self, mechanism: str, user: str) -> ScramCredential | None:
        """Return a user's credential; None if the user has none for the mechanism."""
        of_user = self._by_user.get(user)
        return None if of_user is None else of_user.get(mechanism)

    def names(self) -> Sequence[str]:
        """Return the names of all users, sorted."""
        return sorted(self._by_user)

    def iterations_of(self, user: str) -> Mapping[str, int]:
        """Return the iterations of a user's credentials by mechanism, sorted by mechanism."""
        of_user = self._by_user.get(user) or immutables.Map()
        return {mechanism: of_user[mechanism].iterations for mechanism in sorted(of_user)}

    def usual_iterations(self, mechanism: str) -> int:
        """Return a mechanism's most frequent number of iterations; the minimum without any.

        Of equally frequent numbers the lowest counts. O(distinct numbers). Unknown users get this
        number, so that a client cannot tell them from existing ones.
        """
        counted = [
            (-count, iterations)
            for (counted_mechanism, iterations), count in self._rounds.items()
            if counted_mechanism == mechanism
        ]
        return min(counted)[1] if counted else ITERATIONS_MIN


_TWICE = "A user credential cannot be altered twice in the same request"
_NOT_THERE = "Attempt to delete a user credential that does not exist"

Alterations = Sequence[ScramCredentialDeletion | ScramCredentialUpsertion]


def users_in(*alterations: Alterations) -> tuple[str, ...]:
    """Return all users that a request names, once each, in order."""
    return tuple(counts(row.name for rows in alterations for row in rows))


def judge(
    users: ScramUsers,
    deletions: Sequence[ScramCredentialDeletion],
    upsertions: Sequence[ScramCredentialUpsertion],
) -> tuple[Collection[StoredCredential], Collection[ScramCredentialUpsertion], dict[str, ApiError]]:
    """Validate a request: return what to delete and to set, and the errors by user."""
    errors: dict[str, ApiError] = {}
    deleted: dict[str, StoredCredential] = {}
    upserted: dict[str, ScramCredentialUpsertion] = {}
    for deletion in deletions:
        user, mechanism = deletion.name, deletion.mechanism
        if user in errors:
            continue
        error = _twice(deleted.pop(user, None)) or _fault(user, mechanism)
        if error is None:
            name = MECHANISM_NAMES[mechanism]
            credential = users.credential(name, user)
            if credential is None:
                error = ApiError(ErrorCode.RESOURCE_NOT_FOUND, _NOT_THERE)
            else:
                deleted[user] = StoredCredential(user, name, *credential)
        if error is not None:
            errors[user] = error
    for upsertion in upsertions:
        user = upsertion.name
        if user in errors:
            continue
        error = _twice(deleted.pop(user, None) or upserted.pop(user, None))
        error = error or _fault(user, upsertion.mechanism) or _weakness(upsertion)
        if error is None:
            upserted[user] = upsertion
        else:
            errors[user] = error
    # Checked at the end: alterations with errors write no record.
    if len(deleted) + len(upserted) > RECORDS_MAX:
        error = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return (), (), dict.fromkeys(users_in(deletions, upsertions), error)
    return deleted.values(), upserted.values(), errors


def _twice(before: object) -> ApiError | None:
    return None if before is None else ApiError(ErrorCode.DUPLICATE_RESOURCE, _TWICE)


def _fault(user: str, mechanism: int) -> ApiError | None:
    if not user:
        return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if mechanism not in MECHANISM_NAMES:
        return ApiError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    return None


def _weakness(upsertion: ScramCredentialUpsertion) -> ApiError | None:
    if upsertion.iterations < ITERATIONS_MIN:
        return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if upsertion.iterations > ITERATIONS_MAX:
        return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    if not upsertion.salted_password:
        # A broker fails unexpectedly: Java has no empty key.
        return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return None


def plan_credentials(
    users: ScramUsers,
    deletions: Sequence[ScramCredentialDeletion],
    upsertions: Sequence[ScramCredentialUpsertion],
) -> Slices[tuple[Change, Mapping[str, ApiError]]]:
    """Return the change of the valid alterations, and the errors by user."""
    deleted, upserted, errors = judge(users, deletions, upsertions)
    rows = []
    for upsertion in upserted:
        rows.append(row_of(upsertion))
        yield
    return edit(CREDENTIAL, set=rows, deleted=deleted), errors


def row_of(upsertion: ScramCredentialUpsertion) -> StoredCredential:
    """Return the row of a credential. It costs three HMACs; the client has hashed the password."""
    name = MECHANISM_NAMES[upsertion.mechanism]
    credential = salted_credential_of(
        name, upsertion.salted_password, upsertion.iterations, upsertion.salt
    )
    return StoredCredential(upsertion.name, name, *credential)
