"""Plan of an AlterUserScramCredentials request.

Deletions precede upsertions, each in the order of the request. A user with two alterations gets
neither. The first error of a user counts.

Source: ``ScramControlManager.alterCredentials`` (4.3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.base.credentials import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    MECHANISM_NAMES,
    salted_credential_of,
)
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.schema.declared import StoredCredential

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from doorkeeper.server.resources.users.table import ScramUsers


class CredentialDeletion(NamedTuple):
    """A SCRAM credential to delete; ``mechanism`` is a code, which may be unknown."""

    user: str
    mechanism: int


class CredentialUpsertion(NamedTuple):
    """A SCRAM credential to create or replace, from a password that the client has salted."""

    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

    def __repr__(self) -> str:
        return f"CredentialUpsertion(of {self.user!r}, {self.mechanism})"


# Most records of one request, as of a broker's controller; a larger request changes nothing.
# Source: QuorumController.MAX_RECORDS_PER_USER_OP.
RECORDS_MAX: Final = 10_000


_TWICE = "A user credential cannot be altered twice in the same request"


_NOT_THERE = "Attempt to delete a user credential that does not exist"


class CredentialPlan(NamedTuple):
    """Credentials to delete and to set, and the errors by user."""

    deleted: tuple[StoredCredential, ...]
    upserted: tuple[CredentialUpsertion, ...]
    errors: dict[str, ApiError]


def users_in(
    deletions: Iterable[CredentialDeletion], upsertions: Iterable[CredentialUpsertion]
) -> tuple[str, ...]:
    """Return all users that a request names, once each, those of deletions first."""
    named = (*(each.user for each in deletions), *(each.user for each in upsertions))
    return tuple(dict.fromkeys(named))


def judge(
    users: ScramUsers,
    deletions: Sequence[CredentialDeletion],
    upsertions: Sequence[CredentialUpsertion],
) -> CredentialPlan:
    """Validate a request against the existing credentials."""
    errors: dict[str, ApiError] = {}
    deleted: dict[str, StoredCredential] = {}
    upserted: dict[str, CredentialUpsertion] = {}
    for user, mechanism in deletions:
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
        user = upsertion.user
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
        return CredentialPlan((), (), dict.fromkeys(users_in(deletions, upsertions), error))
    return CredentialPlan(tuple(deleted.values()), tuple(upserted.values()), errors)


def _twice(before: object) -> ApiError | None:
    return None if before is None else ApiError(ErrorCode.DUPLICATE_RESOURCE, _TWICE)


def _fault(user: str, mechanism: int) -> ApiError | None:
    if not user:
        return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if mechanism not in MECHANISM_NAMES:
        return ApiError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    return None


def _weakness(upsertion: CredentialUpsertion) -> ApiError | None:
    if upsertion.iterations < ITERATIONS_MIN:
        return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if upsertion.iterations > ITERATIONS_MAX:
        return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    if not upsertion.salted_password:
        # A broker fails unexpectedly: Java has no empty key.
        return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return None


def row_of(upsertion: CredentialUpsertion) -> StoredCredential:
    """Return the row of a credential. It costs three HMACs; the client has hashed the password."""
    user, mechanism, iterations, salt, salted_password = upsertion
    name = MECHANISM_NAMES[mechanism]
    credential = salted_credential_of(name, salted_password, iterations, salt)
    return StoredCredential(user, name, *credential)
