"""Scenarios of the requests that make, list and delete ACLs."""

from collections.abc import Iterator
from itertools import product

from testkit.frame_steps import (
    ALL,
    ALTER,
    CLUSTER,
    DELEGATION_TOKEN,
    DENY,
    DESCRIBE,
    GROUP,
    LITERAL,
    PREFIXED,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    USER,
    WRITE,
    Scenario,
    create,
    creation,
    delete,
    delete_filter,
    describe,
)


def acl_codes() -> Iterator[Scenario]:
    """Every code of every enumerated field, alone and beside a good row."""
    names = ("resource_type", "resource_pattern_type", "operation", "permission_type")
    for name in names:
        steps = []
        for code in (*range(-1, 18), 99):
            bad = creation(**{name: code}, principal=f"User:{name}{code}")
            steps += [create(bad), create(creation(principal=f"User:good{code}"), bad)]
        yield Scenario(f"create, codes of {name}", (*steps, describe()))
    rows = (
        creation(),
        creation(resource_name="*", operation=WRITE, permission_type=DENY),
        creation(resource_name="ord", resource_pattern_type=PREFIXED),
        creation(resource_type=CLUSTER, resource_name="kafka-cluster", operation=ALTER),
    )
    wanted = ("resource_type_filter", "pattern_type_filter", "operation", "permission_type")
    for name in wanted:
        codes = (*range(-1, 18), 99)
        described = tuple(describe(**{name: code}) for code in codes)
        deleted = tuple(
            delete(
                delete_filter(**{name: code}, principal_filter="User:nobody"),
                delete_filter(principal_filter="User:nobody"),
            )
            for code in codes
        )
        yield Scenario(f"filters, codes of {name}", (create(*rows), *described, *deleted))


def acl_rows() -> Iterator[Scenario]:
    """Names, principals and hosts that are odd; versions; duplicates; overlapping deletes."""
    odd = (
        creation(resource_name=""),
        creation(resource_name="a/b c\u00e9\U0001f600"),
        creation(resource_name="x" * 32000),
        creation(resource_name="*", resource_pattern_type=PREFIXED),
        creation(resource_type=CLUSTER, resource_name="*", operation=ALTER),
        creation(resource_type=CLUSTER, resource_name="", operation=ALTER),
        creation(resource_type=CLUSTER, resource_name="kafka-cluster", operation=READ),
        creation(
            resource_type=CLUSTER,
            resource_name="kafka-cluster",
            operation=ALTER,
            resource_pattern_type=PREFIXED,
        ),
        creation(principal=""),
        creation(principal="alice"),
        creation(principal=":"),
        creation(principal="X:"),
        creation(principal=":y"),
        creation(principal="User:a:b"),
        creation(principal="Group:*"),
        creation(host=""),
        creation(host="10.0.0.0/8"),
        creation(host="::1"),
        creation(resource_type=TRANSACTIONAL_ID, resource_name="tx", operation=15),
        creation(resource_type=USER, resource_name="User:bob", operation=13),
        creation(resource_type=DELEGATION_TOKEN, resource_name="t", operation=DESCRIBE),
    )
    yield Scenario("create, odd rows one by one", (*(create(row) for row in odd), describe()))
    yield Scenario("create, odd rows together", (create(*odd), create(*odd), describe()))
    for version in (1, 2, 3):
        yield Scenario(
            f"version {version}",
            (
                create(creation(), creation(), creation(resource_name="b"), version=version),
                describe(version=version),
                create(creation(), version=version),
                delete(
                    delete_filter(resource_name_filter="orders"),
                    delete_filter(principal_filter="User:alice"),
                    delete_filter(resource_type_filter=99),
                    version=version,
                ),
                describe(version=version),
                create(version=version),
                delete(version=version),
            ),
        )


def acl_matching() -> Iterator[Scenario]:
    """The table of section 1.7, whole: every stored pattern against every filter."""
    stored = [
        creation(resource_name=name, resource_pattern_type=pattern, principal=principal)
        for name, pattern in (
            ("foo", LITERAL),
            ("*", LITERAL),
            ("fo", PREFIXED),
            ("foo", PREFIXED),
            ("foobar", PREFIXED),
            ("f", PREFIXED),
            ("*", PREFIXED),
        )
        for principal in ("User:alice", "User:*")
    ]
    stored += [
        creation(resource_type=GROUP, resource_name="foo", operation=ALL),
        creation(resource_name="foo", operation=ALL, host="10.0.0.1", permission_type=DENY),
    ]
    steps = [create(*stored)]
    names = ("foo", "*", "f", "foobarbaz", "", None)
    steps += [
        describe(resource_type_filter=kind, pattern_type_filter=pattern, resource_name_filter=name)
        for pattern, name, kind in product((1, 2, 3, 4), names, (1, TOPIC))
    ]
    steps += [
        describe(principal_filter="User:*"),
        describe(principal_filter="User:bob"),
        describe(host_filter="*"),
        describe(host_filter="10.0.0.1"),
        describe(operation=ALL),
        describe(permission_type=DENY),
        delete(
            delete_filter(pattern_type_filter=2, resource_name_filter="foobar"),
            delete_filter(principal_filter="User:*", resource_name_filter="foo"),
            delete_filter(operation=ALL, resource_type_filter=16),
            delete_filter(permission_type=99),
        ),
        describe(),
    ]
    yield Scenario("matching", tuple(steps))


def refusals() -> Iterator[Scenario]:
    """What somebody without any right is told, by every API and version."""
    steps = [
        *(describe(version=v, user="alice") for v in (1, 2, 3)),
        *(
            create(creation(), creation(resource_name=""), version=v, user="alice")
            for v in (1, 2, 3)
        ),
        *(
            delete(delete_filter(), delete_filter(operation=99), version=v, user="alice")
            for v in (1, 2, 3)
        ),
        create(user="alice"),
        delete(user="alice"),
        create(creation(operation=0), user="alice"),
        create(creation(operation=1), user="alice"),
    ]
    yield Scenario("nobody", tuple(steps))
