"""Scenarios of ACLs whose hosts have a slash: their creation, filters, and decisions by address.

A broker 4.4 reads such a host as a network, one of 4.3 as a text.
"""

from collections.abc import Iterator

from testkit.frame_steps import (
    ALL,
    ALTER,
    CLUSTER,
    DENY,
    DESCRIBE,
    READ,
    WRITE,
    Scenario,
    Step,
    ask_metadata,
    create,
    creation,
    delete,
    delete_filter,
    describe,
    named,
)

HOSTS = (
    # networks
    *("10.0.0.0/8", "10.1.2.3/8", "010.0.0.0/8", "10.0.0.0/08", "0.0.0.0/0", "10.0.0.1/32"),
    *("2001:db8::/32", "2001:DB8::/32", "2001:db8::1/32", "::/0", "::1/128", "::10.0.0.0/104"),
    *("64:ff9b::10.0.0.1/96", "[2001:db8::]/32", "2001:db8::/032", "2001:db8::/+32", "::/-0"),
    *("::/\u0663", "1:2:3:4:5:6:7:8/64", "1:2:3:4:5:6:7::/64", "fe80::1%1/64"),
    # no slash: any text
    *("*", "host1", "10.0.0", "10.0.0.*", "2001:db8::1", "**", "10.0.0.0\\8", "10.0.0.0\u22158"),
    # refused
    *("", " ", "10.0.0.0/33", "10.0.0.0/99", "256.0.0.0/8", "10.0.0.0/", "10.0.0.0/008"),
    *("10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8 ", " 10.0.0.0/8", "10/8", "10.0.0/8", "/8", "/"),
    *("10.0.0.0/255.0.0.0", "10.0.0.0/8/8", "host/24", "*/8", "\u0661.0.0.0/8", "10.0.0.0//8"),
    *("2001:db8::/129", "2001:db8::/-1", "2001:db8::/x", "2001:db8::/", "2001:db8::/ 32", ":/8"),
    *("2001:db8::/32/32", "::ffff:10.0.0.0/104", "::ffff:0a00:0000/104", "12345::/16", "[::/0"),
    *("2001:db8:::/32", "1:2:3:4:5:6:7:8:9/16", "localhost:80/8", "[2001:db8::/32]", "::g/16"),
)
"""Hosts of each kind, as Kafka 4.4 judges them."""

WORLDS = (
    ((READ, "127.0.0.0/8"), (READ, "::1/128")),
    ((READ, "127.0.0.1/32"), (WRITE, "127.0.0.2/32"), (WRITE, "::2/128")),
    ((ALL, "0.0.0.0/0"),),
    ((ALL, "::/0"),),
    ((ALL, "126.0.0.0/7"), (ALL, "::/127")),
    ((ALL, "10.0.0.0/8"), (ALL, "2001:db8::/32")),
    ((READ, "127.0.0.0/8"), (READ, "::/0"), (ALTER, "*")),
    ((DESCRIBE, "127.0.0.1/31"), (DESCRIBE, "::/124")),
    ((DESCRIBE, "127.0.0.128/25"), (DESCRIBE, "1::/16")),
)
"""Operations and the hosts from which they are allowed."""

DENIALS = (
    (),
    ((READ, "127.0.0.0/8"), (READ, "::/0")),
    ((ALL, "127.0.0.1/32"), (ALL, "::1/128")),
    ((WRITE, "127.0.0.128/25"), (WRITE, "fe80::/10")),
    ((DESCRIBE, "0.0.0.0/0"),),
)
"""Operations and the hosts from which they are denied."""


def network_scenarios() -> Iterator[Scenario]:
    """Return the scenarios."""
    yield from _creations()
    yield _filters()
    for number, allowed in enumerate(WORLDS):
        yield _decisions(number, allowed)


def _creations() -> Iterator[Scenario]:
    rows = tuple(creation(host=host, principal=f"User:h{n}") for n, host in enumerate(HOSTS))
    for version in (1, 2, 3):
        together = create(*rows, version=version)
        each = (create(row, version=version) for row in rows)
        yield Scenario(f"networks, create {version}", (*each, describe(), together, describe()))
    bad = "10.0.0.0/33"
    faults = (
        {"resource_type": 99},
        {"resource_pattern_type": 99},
        {"operation": 99},
        {"permission_type": 99},
        {"resource_name": ""},
        {"resource_type": CLUSTER, "resource_name": "other"},
        {"principal": "alice"},
        {"principal": ""},
    )
    steps = tuple(
        create(creation(**fault, host=host)) for host in (bad, "", "host/24") for fault in faults
    )
    yield Scenario("networks, the first of two faults", (*steps, describe()))


def _filters() -> Scenario:
    stored = ("10.0.0.0/8", "10.1.2.3/8", "2001:db8::/32", "2001:DB8::/32", "*", "10.5.5.5")
    asked = (*stored, "10.0.0.0/9", "10.0.0.0/33", "", "2001:db8::5", "host/24", None)
    return Scenario(
        "networks, filters",
        (
            create(*(creation(host=host) for host in stored)),
            *(describe(version, host_filter=host) for host in asked for version in (1, 2, 3)),
            delete(*(delete_filter(host_filter=host) for host in asked[len(stored) : -1])),
            *(delete(delete_filter(host_filter=host), version=2) for host in stored[:3]),
            describe(),
        ),
    )


def _decisions(number: int, allowed: tuple[tuple[int, str], ...]) -> Scenario:
    steps: list[Step] = []
    for denied in DENIALS:
        steps.append(delete(delete_filter()))
        grants = [creation(resource_name="t-one", operation=o, host=host) for o, host in allowed]
        grants += [
            creation(resource_name="t-one", operation=o, host=host, permission_type=DENY)
            for o, host in denied
        ]
        grants += [
            creation(resource_type=CLUSTER, resource_name="kafka-cluster", operation=o, host=host)
            for o, host in allowed
        ]
        steps.append(create(*grants))
        asked = ask_metadata(
            8,
            named("t-one"),
            include_topic_authorized_operations=True,
            include_cluster_authorized_operations=True,
        )
        steps += [asked._replace(user="alice"), describe(user="alice"), asked._replace(user="bob")]
        steps.append(create(creation(resource_name="x"), user="alice"))
    return Scenario(f"networks, decisions {number}", tuple(steps), topics=("t-one",))
