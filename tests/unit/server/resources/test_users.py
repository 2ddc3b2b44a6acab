"""Snapshots of who can log in by SCRAM."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from msgspec.structs import astuple

from doorkeeper.base.credentials import MECHANISM_CODES, ScramCredential
from doorkeeper.server.resources.users import ScramUsers
from testkit.stores import credential

if TYPE_CHECKING:
    from doorkeeper.server.schema.declared import StoredCredential

OF_256 = credential("alice")
OF_512 = credential("alice", "SCRAM-SHA-512", 8192)
BOB = credential("bob", iterations=5000)


def test_user_exists_while_it_has_a_credential() -> None:
    users = ScramUsers().with_changes([OF_256, OF_512])

    half = users.with_changes([BOB], [OF_256])
    none = half.with_changes((), [OF_512, BOB])

    assert users.names() == ["alice"]
    assert users.iterations_of("alice") == {"SCRAM-SHA-256": 4096, "SCRAM-SHA-512": 8192}
    assert half.names() == ["alice", "bob"]
    assert half.credential("SCRAM-SHA-256", "alice") is None
    assert half.credential("SCRAM-SHA-512", "alice") == ScramCredential(*astuple(OF_512)[2:])
    assert (none.names(), none.iterations_of("alice")) == ([], {})


def test_default_iterations_are_the_most_frequent() -> None:
    """The most frequent number of a mechanism, the lowest of several; 4,096 where there is none."""
    users = ScramUsers().with_changes([BOB, credential("carol", iterations=5000), OF_256, OF_512])

    assert users.usual_iterations("SCRAM-SHA-256") == 5000
    assert users.usual_iterations("SCRAM-SHA-512") == 8192
    assert users.with_changes((), [BOB]).usual_iterations("SCRAM-SHA-256") == 4096
    assert ScramUsers().usual_iterations("SCRAM-SHA-256") == 4096


def test_random_changes_match_a_new_snapshot() -> None:
    chance = Random(7)
    users = ScramUsers()
    expected: dict[tuple[str, str], StoredCredential] = {}
    for _ in range(300):
        name = f"user-{chance.randrange(20)}"
        row = credential(
            name, chance.choice(list(MECHANISM_CODES)), chance.choice((4096, 8192, 16384))
        )
        key = row.user, row.mechanism
        if key in expected and chance.random() < 0.5:
            users = users.with_changes((), [expected.pop(key)])
        else:
            users = users.with_changes([row], ())
            expected[key] = row

    fresh = ScramUsers().with_changes(expected.values())
    assert users.names() == fresh.names()
    for name in users.names():
        assert users.iterations_of(name) == fresh.iterations_of(name)
    for mechanism in MECHANISM_CODES:
        assert users.usual_iterations(mechanism) == fresh.usual_iterations(mechanism)
