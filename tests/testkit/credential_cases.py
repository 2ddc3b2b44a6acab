"""What both servers are asked about users: SCRAM credentials and quotas, by scenario and at random.

A broker never answers a caller without DESCRIBE who asks for all users with null (it fails inside),
so nobody is asked that here but a super user.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from doorkeeper_wire.messages import (
    alter_user_scram_credentials,
    describe_client_quotas,
    describe_user_scram_credentials,
)
from testkit.frame_steps import ALTER, CLUSTER, Scenario, Step, as_users, create, creation

ON_CLUSTER = {"resource_type": CLUSTER, "resource_name": "kafka-cluster"}
USERS = ("scram-one", "scram-two", "scram-one", "\u00e9,=", "", "a b", "scram-absent")
MECHANISMS = (1, 1, 2, 2, 0, 3, -1, 127)
ITERATIONS = (4096, 8192, 16384, 4096, 4095, 16385, 0, -1)

Deletion = tuple[str, int]
Upsertion = tuple[str, int, int, bytes, bytes]


def alter_users(
    deletions: Sequence[Deletion] = (), upsertions: Sequence[Upsertion] = (), user: Any = None
) -> Step:
    """Return the step that changes these credentials."""
    kind = alter_user_scram_credentials
    request = kind.AlterUserScramCredentialsRequest(
        deletions=tuple(
            kind.ScramCredentialDeletion(name=name, mechanism=code) for name, code in deletions
        ),
        upsertions=tuple(
            kind.ScramCredentialUpsertion(
                name=name, mechanism=code, iterations=rounds, salt=salt, salted_password=word
            )
            for name, code, rounds, salt, word in upsertions
        ),
    )
    return Step(user, request, kind.AlterUserScramCredentialsResponse, 0)


def describe_users(*names: str, everyone: bool = False, user: Any = None) -> Step:
    """Return the step that describes these users; all of them where none is named."""
    kind = describe_user_scram_credentials
    users = None if everyone else tuple(kind.UserName(name=name) for name in names)
    request = kind.DescribeUserScramCredentialsRequest(users=users)
    return Step(user, request, kind.DescribeUserScramCredentialsResponse, 0)


def describe_quotas(
    version: int, *components: tuple[str, int, str | None], strict: bool = False
) -> Step:
    """Return the step that asks for quotas."""
    kind = describe_client_quotas
    request = kind.DescribeClientQuotasRequest(
        components=tuple(
            kind.ComponentData(entity_type=entity, match_type=how, match=match)
            for entity, how, match in components
        ),
        strict=strict,
    )
    return Step(None, request, kind.DescribeClientQuotasResponse, version)


def put(name: str, mechanism: int = 1, iterations: int = 4096) -> Upsertion:
    """Return an upsertion of good bytes."""
    return name, mechanism, iterations, b"salt", b"salted"


def user_scenarios() -> Iterator[Scenario]:
    """Users are made, changed, described and deleted; wrong changes; callers without rights."""
    told = (
        describe_users(),
        describe_users(everyone=True),
        describe_users("a", "b", "\u00e9,="),
    )
    made = (
        alter_users(upsertions=[put("a"), put("b", 2, 16384), put("\u00e9,=", 1, 8192)]),
        *told,
        alter_users(upsertions=[put("a", 2), put("b", 2, 4096)]),
        *told,
        alter_users([("a", 1), ("\u00e9,=", 1)], [put("c")]),
        *told,
        alter_users([("a", 2), ("b", 1), ("c", 1)]),
        *told,
        alter_users(),
    )
    yield Scenario("users", made)
    yield Scenario("wrong users", (alter_users(upsertions=[put("a"), put("b")]), *wrong(), *told))
    steps = (
        alter_users([("a", 1), ("zoe", 1)], [put("bob"), put("a")]),
        alter_users(),
        describe_users("a", "a", "x"),
        describe_users(),
    )
    grants = create(creation(**ON_CLUSTER, operation=ALTER, principal="User:bob"))
    yield Scenario("users, who may", (grants, *as_users(*steps)))


def wrong() -> tuple[Step, ...]:
    """Return changes that are refused, alone and together, where users a and b are there."""
    return (
        *(alter_users([("a", code)]) for code in (2, 0, 3, -1)),
        *(alter_users(upsertions=[put("n", code)]) for code in (0, 3, -128)),
        *(alter_users(upsertions=[put("n", 1, rounds)]) for rounds in (4095, 16385, 0, -5)),
        alter_users(upsertions=[("n", 1, 4096, b"", b"")]),
        alter_users(upsertions=[("n", 1, 4096, b"", b"x" * 500), put("m")]),
        alter_users([("", 1)], [put("")]),
        alter_users([("", 9)]),
        alter_users(upsertions=[put("", 9, 1)]),
        alter_users([("a", 1), ("a", 1)], [put("b")]),
        alter_users([("a", 1), ("a", 2), ("a", 1)]),
        alter_users([("a", 1)], [put("a")]),
        alter_users([("x", 1)], [put("x")]),
        alter_users(upsertions=[put("x"), put("x", 2), put("b", 2)]),
        alter_users(upsertions=[put("x", 9), put("x"), put("x")]),
        describe_users("a", "a", "b", "x", ""),
    )


def quota_scenarios() -> Iterator[Scenario]:
    """DescribeClientQuotas where there are none: good and bad filters."""
    kinds = ("user", "client-id", "ip", "", "group", "USER")
    for version in (0, 1):
        alone = [
            describe_quotas(version, (kind, how, match))
            for kind in kinds
            for how in (0, 1, 2, 3, -1)
            for match in ("a", "", None)
        ]
        steps = (
            *alone,
            describe_quotas(version),
            describe_quotas(version, strict=True),
            describe_quotas(version, ("user", 0, "a"), strict=True),
            describe_quotas(version, ("user", 0, "a"), ("client-id", 1, None)),
            describe_quotas(version, ("user", 0, "a"), ("user", 2, None)),
            describe_quotas(version, ("ip", 0, "a"), ("user", 2, None)),
            describe_quotas(version, ("client-id", 1, None), ("ip", 1, None)),
        )
        asked = as_users(*(describe_quotas(version, ("user", 2, None)),))
        yield Scenario(f"quotas {version}", (*steps, *asked))


CREDENTIAL_SCENARIOS: tuple[Scenario, ...] = (*user_scenarios(), *quota_scenarios())


class RandomCredentials:
    """One stream of questions about users, drawn from the chance of its owner."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def alter(self) -> tuple[Any, Any, int, int]:
        """Return a change, its answer and its versions."""
        deletions = self._some(lambda: (self._user(), self._chance.choice(MECHANISMS)))
        step = alter_users(deletions, self._some(self._upsertion))
        return step.request, step.response, 0, 0

    def describe(self) -> tuple[Any, Any, int, int]:
        """Return a question for users: named ones, or none."""
        step = describe_users(*self._some(self._user))
        return step.request, step.response, 0, 0

    def quotas(self) -> tuple[Any, Any, int, int]:
        """Return a question for quotas."""
        components = self._some(
            lambda: (
                self._chance.choice(("user", "user", "client-id", "ip", "", "group")),
                self._chance.choice((0, 1, 2, 2, 3)),
                self._chance.choice(("a", "", None, None)),
            )
        )
        step = describe_quotas(1, *components, strict=self._chance.random() < 0.5)
        return step.request, step.response, 0, 1

    def _user(self) -> str:
        return self._chance.choice(USERS)

    def _upsertion(self) -> Upsertion:
        chance = self._chance
        word = b"" if chance.random() < 0.05 else chance.randbytes(chance.choice((1, 32, 64, 200)))
        salt = chance.randbytes(chance.choice((0, 1, 16)))
        return self._user(), chance.choice(MECHANISMS), chance.choice(ITERATIONS), salt, word

    def _some(self, make: Callable[[], Any]) -> tuple[Any, ...]:
        return tuple(make() for _ in range(self._chance.randint(0, 3)))


def told_users(request: Any) -> tuple[Step, ...]:
    """Return what tells the outcome of a change of users; nothing for another request."""
    if isinstance(request, alter_user_scram_credentials.AlterUserScramCredentialsRequest):
        return (describe_users(),)
    return ()
