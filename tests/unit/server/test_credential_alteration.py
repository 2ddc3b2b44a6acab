"""What a request changes of SCRAM credentials, by the rules of a broker's controller."""

from __future__ import annotations

import pytest

from doorkeeper.authn.credentials import credential_of
from doorkeeper.credential_alteration import RECORDS_MAX, altered
from doorkeeper.node import AlterCredentials, CredentialDeletion, CredentialUpsertion
from doorkeeper.scram_users import ScramUsers
from doorkeeper_wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsResponse
from testkit.scram import salted_password
from testkit.stores import credential

USERS = ScramUsers([credential("alice"), credential("alice", "SCRAM-SHA-512"), credential("bob")])

TWICE = (92, "A user credential cannot be altered twice in the same request")
ABSENT = (91, "Attempt to delete a user credential that does not exist")
NAMELESS = (93, "Username must not be empty")
UNKNOWN = (33, "Unknown SCRAM mechanism")


def gone(user: str, mechanism: int = 1) -> CredentialDeletion:
    return CredentialDeletion(user, mechanism)


def put(
    user: str, mechanism: int = 1, iterations: int = 4096, salted_password: bytes = b"p"
) -> CredentialUpsertion:
    return CredentialUpsertion(user, mechanism, iterations, b"salt", salted_password)


def change(*items: CredentialDeletion | CredentialUpsertion) -> AlterCredentials:
    return AlterCredentials(
        deletions=tuple(each for each in items if isinstance(each, CredentialDeletion)),
        upsertions=tuple(each for each in items if isinstance(each, CredentialUpsertion)),
        finish=lambda _results: AlterUserScramCredentialsResponse(),
    )


def outcome(
    *items: CredentialDeletion | CredentialUpsertion,
) -> tuple[list[str], list[str], dict[str, tuple[int, str | None]]]:
    """Return who loses a credential, who gets one, and who is refused, with which words."""
    found = altered(change(*items), USERS)
    return (
        [key.user for key in found.deleted],
        [key.user for key, _ in found.replaced],
        {user: (int(error.code), error.message) for user, error in found.errors.items()},
    )


def test_deletions_and_upsertions_of_different_users_are_made() -> None:
    """Whoever is named once, rightly, gets what was asked for."""
    assert outcome(gone("alice"), put("bob"), put("new")) == (["alice"], ["bob", "new"], {})


@pytest.mark.parametrize(
    "items",
    [
        (gone("alice"), gone("alice", 2)),
        (gone("alice"), gone("alice"), gone("alice")),
        (gone("alice"), put("alice")),
        (put("alice"), put("alice", 2)),
        (put("alice"), put("alice"), put("alice")),
        (gone("alice"), gone("alice"), put("alice")),
    ],
)
def test_who_is_named_twice_keeps_everything(
    items: tuple[CredentialDeletion | CredentialUpsertion, ...],
) -> None:
    """Even for two mechanisms; the others of the request are served."""
    assert outcome(*items, put("bob")) == ([], ["bob"], {"alice": TWICE})


@pytest.mark.parametrize(
    ("item", "error"),
    [
        (gone("carol"), ABSENT),
        (gone("bob", 2), ABSENT),
        (gone(""), NAMELESS),
        (gone("", 9), NAMELESS),
        (put("", 9), NAMELESS),
        (gone("bob", 0), UNKNOWN),
        (put("bob", 3), UNKNOWN),
        (put("bob", -1, iterations=1), UNKNOWN),
        (put("bob", iterations=4095), (93, "Too few iterations")),
        (put("bob", iterations=-1), (93, "Too few iterations")),
        (put("bob", 2, iterations=16385), (93, "Too many iterations")),
        (put("bob", salted_password=b""), (-1, None)),
    ],
)
def test_each_fault_has_its_words(
    item: CredentialDeletion | CredentialUpsertion, error: tuple[int, str | None]
) -> None:
    """The name is looked at first, then the mechanism, then the number of iterations."""
    assert outcome(item) == ([], [], {item.user: error})


def test_the_first_refusal_of_a_user_stays() -> None:
    """A deletion that is refused hides whatever else is said of the user."""
    assert outcome(gone("carol"), gone("carol"), put("carol"))[2] == {"carol": ABSENT}
    assert outcome(put("bob", 9), put("bob"))[2] == {"bob": UNKNOWN}


@pytest.mark.parametrize("iterations", [4096, 16384])
def test_what_is_stored_is_what_the_password_makes(iterations: int) -> None:
    """Both bounds are allowed; keys are those that a login with the password needs."""
    for code, mechanism in ((1, "SCRAM-SHA-256"), (2, "SCRAM-SHA-512")):
        word = salted_password(mechanism, "alice-secret", b"salt", iterations)

        found = altered(change(put("alice", code, iterations, word)), USERS)

        ((key, made),) = found.replaced
        assert key == ("alice", mechanism)
        assert made == credential_of(mechanism, "alice-secret", iterations, b"salt")


def test_a_request_beyond_a_brokers_bound_changes_nothing() -> None:
    """10,000 changes at once are made; one more is refused for every user, as a fault."""
    many = tuple(put(f"user-{number}") for number in range(RECORDS_MAX))

    assert outcome(*many)[2] == {}
    deleted, replaced, errors = outcome(*many, put("one more"), put("bad", 9))
    assert (deleted, replaced) == ([], [])
    assert set(errors.values()) == {(-1, None)}
    assert len(errors) == RECORDS_MAX + 2
