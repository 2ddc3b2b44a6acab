"""What a request changes of SCRAM credentials, and what it may not.

Deletions are judged before upsertions, each in their order. A user who is named twice gets
neither: the first refusal of a user stays, whatever else the request says of them.

Source: ``ScramControlManager.alterCredentials`` (4.3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.authn.credentials import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    ScramCredential,
    salted_credential_of,
)
from doorkeeper.errors import ApiError, ErrorCode
from doorkeeper.scram_users import MECHANISM_NAMES
from doorkeeper.storage.contract import CredentialKey

if TYPE_CHECKING:
    from doorkeeper.node import AlterCredentials, CredentialUpsertion
    from doorkeeper.scram_users import ScramUsers

RECORDS_MAX: Final = 10_000
"""What a broker's controller writes at once: a request that changes more changes nothing.

Source: ``QuorumController.MAX_RECORDS_PER_USER_OP``.
"""

_TWICE = "A user credential cannot be altered twice in the same request"
_NOT_THERE = "Attempt to delete a user credential that does not exist"


class Altered(NamedTuple):
    """What shall be deleted and set, and why some users keep what they have."""

    deleted: tuple[CredentialKey, ...]
    replaced: tuple[tuple[CredentialKey, ScramCredential], ...]
    errors: dict[str, ApiError]


def altered(change: AlterCredentials, users: ScramUsers) -> Altered:
    """Judge a change of what users have now.

    Computes three HMACs for each upsertion; hashing a password is the client's work.
    """
    errors: dict[str, ApiError] = {}
    deleted: dict[str, CredentialKey] = {}
    upserted: dict[str, CredentialUpsertion] = {}
    for deletion in change.deletions:
        user = deletion.user
        if user in errors:
            continue
        error = _twice(deleted.pop(user, None)) or _fault(user, deletion.mechanism)
        if error is None:
            key = CredentialKey(user, MECHANISM_NAMES[deletion.mechanism])
            if users.credential(key.mechanism, user) is None:
                error = ApiError(ErrorCode.RESOURCE_NOT_FOUND, _NOT_THERE)
            else:
                deleted[user] = key
        if error is not None:
            errors[user] = error
    for upsertion in change.upsertions:
        user = upsertion.user
        if user in errors:
            continue
        error = _twice(deleted.pop(user, None) or upserted.pop(user, None))
        error = error or _fault(user, upsertion.mechanism) or _weakness(upsertion)
        if error is None:
            upserted[user] = upsertion
        else:
            errors[user] = error
    if len(deleted) + len(upserted) > RECORDS_MAX:
        error = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return Altered((), (), dict.fromkeys(change.users, error))
    replaced = tuple(map(_credential, upserted.values()))
    return Altered(tuple(deleted.values()), replaced, errors)


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
        # Java has no key of no bytes; a broker answers what it answers to a fault of its own.
        return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return None


def _credential(upsertion: CredentialUpsertion) -> tuple[CredentialKey, ScramCredential]:
    mechanism = MECHANISM_NAMES[upsertion.mechanism]
    made = salted_credential_of(
        mechanism, upsertion.salted_password, upsertion.iterations, upsertion.salt
    )
    return CredentialKey(upsertion.user, mechanism), made
