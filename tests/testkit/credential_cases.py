"""What both servers are asked about users: SCRAM credentials and quotas, by scenario and at random.

A broker never answers a caller without DESCRIBE who asks for all users with null (it fails inside),
so nobody is asked that here but a super user.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from doorkeeper_wire.messages import (
    alter_client_quotas,
    alter_user_scram_credentials,
    describe_client_quotas,
    describe_user_scram_credentials,
)
from testkit.frame_steps import (
    ALTER,
    ALTER_CONFIGS,
    CLUSTER,
    Scenario,
    Step,
    as_users,
    create,
    creation,
    step,
)

ON_CLUSTER = {"resource_type": CLUSTER, "resource_name": "kafka-cluster"}
USERS = ("scram-one", "scram-two", "scram-one", "\u00e9,=", "", "a b", "scram-absent")
MECHANISMS = (1, 1, 2, 2, 0, 3, -1, 127)
ITERATIONS = (4096, 8192, 16384, 4096, 4095, 16385, 0, -1)

PRODUCER, PERCENT, CONNECTIONS = (
    "producer_byte_rate",
    "request_percentage",
    "connection_creation_rate",
)

Entity = dict[str, str | None]
"""The names of an entity by type; null for the default."""
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
    return step(
        kind,
        version,
        components=tuple(
            kind.ComponentData(entity_type=entity, match_type=how, match=match)
            for entity, how, match in components
        ),
        strict=strict,
    )


def put(name: str, mechanism: int = 1, iterations: int = 4096) -> Upsertion:
    """Return an upsertion of good bytes."""
    return name, mechanism, iterations, b"salt", b"salted"


def user_scenarios() -> Iterator[Scenario]:
    """Wrong changes of users, alone and together; callers without permissions."""
    made = alter_users(upsertions=[put("a"), put("b")])
    described = (describe_users(), describe_users(everyone=True))
    yield Scenario("wrong users", (made, *wrong(), *described))
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
    """AlterClientQuotas: quotas are set, changed and deleted; wrong ones; who may."""
    yield Scenario("quotas", altered_quotas(1))
    yield Scenario("wrong quotas", wrong_quotas(1))
    one = alter_quotas(0, ({"user": "quoted"}, {PRODUCER: None}))
    grants = create(creation(**ON_CLUSTER, operation=ALTER_CONFIGS, principal="User:bob"))
    yield Scenario("quotas, who may", (grants, *as_users(one)))


def alter_quotas(
    version: int, *entries: tuple[Entity, Mapping[str, float | None]], validate_only: bool = False
) -> Step:
    """Return the step that sets these values of entities; None deletes one."""
    kind = alter_client_quotas
    return step(
        kind,
        version,
        entries=tuple(
            kind.EntryData(
                entity=tuple(
                    kind.EntityData(entity_type=part, entity_name=name)
                    for part, name in entity.items()
                ),
                ops=tuple(
                    kind.OpData(key=key, value=value or 0.0, remove=value is None)
                    for key, value in values.items()
                ),
            )
            for entity, values in entries
        ),
        validate_only=validate_only,
    )


def altered_quotas(version: int) -> tuple[Step, ...]:
    """Return changes of quotas with what is described after each; the last deletes them all."""
    entities: tuple[Entity, ...] = (
        {"user": "u"},
        {"user": "u", "client-id": "c"},
        {"user": "u", "client-id": None},
        {"user": None},
        {"client-id": "c"},
        {"user": None, "client-id": None},
        {"ip": "10.0.0.1"},
        {"ip": None},
    )
    told = (
        describe_quotas(version, ("user", 0, "u")),
        describe_quotas(version, ("user", 0, "u"), strict=True),
        describe_quotas(version, ("user", 1, None)),
        describe_quotas(version, ("user", 2, None), ("client-id", 0, "c")),
        describe_quotas(version, ("client-id", 2, None), strict=True),
        describe_quotas(version, ("ip", 2, None)),
        describe_quotas(version, ("ip", 0, "10.0.0.1")),
    )
    names = [[CONNECTIONS] if "ip" in entity else [PRODUCER, PERCENT] for entity in entities]
    set_all = [
        (entity, dict.fromkeys(keys, 10.0 + number))
        for number, (entity, keys) in enumerate(zip(entities, names, strict=True))
    ]
    gone = [(entity, dict.fromkeys(keys)) for entity, keys in zip(entities, names, strict=True)]
    return (
        alter_quotas(version, *set_all, validate_only=True),
        *told,
        alter_quotas(version, *set_all),
        *told,
        alter_quotas(version, set_all[0], ({"user": "u"}, {PRODUCER: 99.0})),
        alter_quotas(version, ({"user": "u"}, {PERCENT: 0.25, PRODUCER: None})),
        *told,
        alter_quotas(version, *gone),
        alter_quotas(version, *gone),
        *told,
    )


def wrong_quotas(version: int) -> tuple[Step, ...]:
    """Return changes that are refused, alone and beside good ones; nothing stays behind."""
    entities: tuple[Entity, ...] = (
        {},
        {"user": ""},
        {"group": "g"},
        {"user": "u", "ip": "10.0.0.1"},
        {"ip": "not an address"},
        {"ip": ""},
    )
    values: tuple[tuple[str, float], ...] = (
        (PRODUCER, 0.0),
        (PRODUCER, -1.0),
        (PRODUCER, 1.5),
        (PRODUCER, 1e30),
        (CONNECTIONS, 1.0),
        ("", 1.0),
        ("SCRAM-SHA-256", 1.0),
    )
    on_ip: tuple[tuple[str, float], ...] = ((PRODUCER, 1.0), (CONNECTIONS, 3e9))
    return (
        alter_quotas(version),
        *(alter_quotas(version, (entity, {PRODUCER: 1.0})) for entity in entities),
        *(alter_quotas(version, ({"user": "u"}, {key: value})) for key, value in values),
        *(alter_quotas(version, ({"ip": "10.0.0.1"}, {key: value})) for key, value in on_ip),
        alter_quotas(
            version, ({"user": "u"}, {PRODUCER: 1.0, "none": 1.0}), ({"user": "v"}, {PRODUCER: 2.0})
        ),
        describe_quotas(version, ("user", 2, None)),
        alter_quotas(version, ({"user": "v"}, {PRODUCER: None, "none": None})),
        describe_quotas(version, ("user", 2, None)),
    )


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
