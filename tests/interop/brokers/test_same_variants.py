"""Other configurations beside a broker with the same: no authorizer, everybody allowed, topics
that Metadata creates, sessions with an end.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product

import pytest

from testkit.conversation_cases import OPEN, acls, bare, hand, plain, token, topics, versions
from testkit.conversations import Conversation, play
from testkit.frame_steps import (
    CLUSTER,
    CREATE,
    DESCRIBE,
    PREFIXED,
    Step,
    ask_metadata,
    create,
    creation,
    delete,
    delete_filter,
    describe,
    make_topics,
    named,
    new_topic,
)
from testkit.kafka_jars import BROKERS
from testkit.or_skip import or_skip
from testkit.oracle_totals import Totals
from testkit.pairs import Pair
from testkit.random_requests import RandomRequests

LIFETIME_MS = 2500


pytestmark = pytest.mark.parametrize("broker", BROKERS)


@contextmanager
def started(totals: Totals, version: str, **overrides: str) -> Iterator[Pair]:
    """Give a pair with these keys; underscores stand for dots."""
    pair = or_skip(lambda: Pair.start(totals, version, **overrides))
    try:
        yield pair
    finally:
        pair.close()


def compare(pair: Pair, *steps: Step) -> None:
    """Fail with every difference."""
    differences = [line for step in steps for line in pair.differences(step)]
    assert not differences, "\n".join(differences)


def test_without_an_authorizer(totals: Totals, broker: str) -> None:
    """ACL requests are refused with 54 in their own ways; all else is allowed, masks are full."""
    asked = (
        *(describe(), describe(operation=0), describe(operation=99)),
        *(create(creation(), creation(resource_name="")), create(), create(creation(operation=1))),
        *(create(creation(operation=0)), delete()),
        delete(delete_filter(), delete_filter(operation=99)),
    )
    users = (None, "alice")
    masks = RandomRequests(1).masks()[2:]
    with started(totals, broker, authorizer_class_name="") as pair:
        compare(
            pair,
            make_topics(new_topic("t-one", num_partitions=2), new_topic("t-two"), version=5),
            *(s._replace(version=v, user=u) for s, v, u in product(asked, (1, 2, 3), users)),
            *masks,
        )


@pytest.mark.parametrize("sequences", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_allow_everyone_if_no_acl_found(totals: Totals, broker: str, sequences: int) -> None:
    with started(totals, broker, allow_everyone_if_no_acl_found="true") as pair:
        for seed in range(sequences):
            stream = RandomRequests(seed)
            world = stream.world()[: 1 + seed % 2]
            pair.clear()
            compare(pair, *world, *(stream.step() for _ in range(30)))
            pair.clear()
            compare(pair, *RandomRequests(seed).masks()[: 1 + 60 * (seed % 2)])


def created(pair: Pair, names: set[str]) -> None:
    """Wait until both have these topics and no others."""
    for side in (pair.reference, pair.ours):
        side.until_topics_are(names)


def test_auto_created_topics(totals: Totals, broker: str) -> None:
    """Who may create gets 3 and then the topic; who may not gets 29 or 3, and nothing is made."""
    grants = create(
        creation(resource_name="a-", resource_pattern_type=PREFIXED, operation=CREATE),
        creation(resource_name="a-", resource_pattern_type=PREFIXED, operation=DESCRIBE),
        creation(resource_name="d", operation=DESCRIBE),
        creation(
            resource_type=CLUSTER,
            resource_name="kafka-cluster",
            operation=CREATE,
            principal="User:bob",
        ),
        creation(resource_name="b", operation=DESCRIBE, principal="User:bob"),
    )
    with started(totals, broker, auto_create_topics_enable="true", num_partitions="2") as pair:
        for version in range(14):
            pair.clear()
            wanted = f"a-{version}"
            asked = ask_metadata(version, named(wanted, "d", "x", "bad name!", ""))
            allowed = asked.request.replace(allow_auto_topic_creation=True)
            compare(pair, grants, *([asked._replace(user="alice")] if version >= 4 else []))
            created(pair, set())
            compare(pair, asked._replace(user="alice", request=allowed))
            created(pair, {wanted})
            for_bob = ask_metadata(version, named("b", "d", wanted))
            allowed = for_bob.request.replace(allow_auto_topic_creation=True)
            compare(pair, for_bob._replace(user="bob", request=allowed))
            created(pair, {wanted, "b"})
            compare(pair, ask_metadata(version, named(wanted, "b"))._replace(user=None))


AGAIN: tuple[Conversation, ...] = tuple(
    Conversation(name, "sasl", turns)
    for name, turns in {
        "login": (*OPEN, topics()),
        "the lifetime, v0": (hand(), token(version=0), topics()),
        "the lifetime, v1": (hand(), token(version=1), topics()),
        "again": (*OPEN, hand(), token(), topics(), acls()),
        "again, twice within a second": (*OPEN, *OPEN, hand(), topics()),
        "again, by bare tokens": (hand(version=0), bare(), hand(version=0), bare(), topics()),
        "again, from bare to wrapped": (hand(version=0), bare(), *OPEN, topics()),
        "again, as another": (*OPEN, hand(), token(plain("bob")), topics()),
        "again, with a wrong password": (*OPEN, hand(), token(plain(word="no")), topics()),
        "again, by an unknown mechanism": (*OPEN, hand("SCRAM-SHA-256"), topics()),
        "ApiVersions within": (*OPEN, hand(), versions()),
        "another request within": (*OPEN, hand(), topics()),
        "ApiVersions before": (*OPEN, versions(), hand(), token(), versions(), topics()),
        "a token without a handshake": (*OPEN, token(), topics()),
        "handshake of a version that is not": (*OPEN, hand(), hand()),
        "an empty token": (*OPEN, hand(), token(b""), topics()),
    }.items()
)


def test_reauthentication(totals: Totals, broker: str) -> None:
    key = "listener_name_sasl_plain_connections_max_reauth_ms"
    with started(totals, broker, **{key: str(LIFETIME_MS)}) as pair:
        differences = pair.talk(AGAIN)
        assert not differences, "\n".join(differences)
        for side in (pair.reference, pair.ours):
            assert is_closed_in_time(side.target.sasl)


def is_closed_in_time(address: str) -> bool:
    """Say whether a session that keeps asking is closed when its time is over, not before."""
    began = time.monotonic()
    seen = play(address, (*OPEN, *(topics(),) * 100_000))
    return seen[-1] == "closed" and time.monotonic() - began >= LIFETIME_MS / 1000
