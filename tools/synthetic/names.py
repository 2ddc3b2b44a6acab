"""The names of a world. Teams own ranges of topics, groups and transactional ids.

Names of topics begin with their team and a delimiter, as people make them, so that prefixes mean
something. Some names are odd on purpose: Kafka does not limit names of groups or principals, and
its log escapes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.acls.model import CLUSTER_NAME, ResourceType

if TYPE_CHECKING:
    from synthetic.shape import Shape

ODD_NAMES = (
    "with spaces in it",
    "grüße-東京-\U0001f600",
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "\"double\" and 'single' & <b>bold</b>",
    "x on resource = Topic:LITERAL:y",
    "x for request = Fetch with resourceRefCount = 3",
    "x based on rule SuperUser",
    "a,b=c;d:e|f\\g",
    "\u202etxt.exe\u202c",
    "zero\u200bwidth",
    "=HYPERLINK(1)",
    "*a",
    "n" * 249,
)
"""Names that break careless concatenation, splitting or printing."""

_DOMAINS = (
    *("payments", "orders", "billing", "shipping", "search", "fraud", "catalog", "identity"),
    *("pricing", "returns", "loyalty", "ledger", "risk", "media", "metrics", "warehouse"),
)
_THINGS = (
    *("events", "created", "updated", "deleted", "snapshots", "changelog", "retries"),
    *("dead-letters", "commands", "audit", "clicks", "prices"),
)
_DELIMITERS = (".", ".", "-", "_")


class Names(NamedTuple):
    """All names; those of a team stand together, see ``team_of``."""

    teams: int
    principals: tuple[str, ...]
    hosts: tuple[str, ...]
    resources: dict[ResourceType, tuple[str, ...]]
    prefixes: tuple[str, ...]
    """By team: the prefix of its topics."""


def names_of(shape: Shape) -> Names:
    """Return the names of a world."""
    prefixes = tuple(_prefix(team) for team in range(shape.teams))
    resources = {
        ResourceType.TOPIC: _with_odd(shape, _topics(shape, prefixes)),
        ResourceType.GROUP: _with_odd(
            shape, _own_names(shape, prefixes, shape.groups, "consumers")
        ),
        ResourceType.TRANSACTIONAL_ID: _with_odd(
            shape, _own_names(shape, prefixes, shape.transactional_ids, "tx")
        ),
        ResourceType.CLUSTER: (CLUSTER_NAME,),
    }
    principals = tuple(_principal(shape, each, prefixes) for each in range(shape.principals))
    odd = {f"User:{name}" for name in ODD_NAMES}
    named = _with_odd(shape, list(principals), [each for each in sorted(odd) if each != "User:*"])
    hosts = tuple(_host(each) for each in range(max(8, shape.principals)))
    return Names(shape.teams, named, hosts, resources, prefixes)


def team_of(position: int, count: int, teams: int) -> int:
    """Return the team that owns the name at a position of so many."""
    return position * teams // count


def _prefix(team: int) -> str:
    number = team // len(_DOMAINS)
    name = _DOMAINS[team % len(_DOMAINS)] + (str(number) if number else "")
    return name + _DELIMITERS[team % len(_DELIMITERS)]


def _topics(shape: Shape, prefixes: tuple[str, ...]) -> list[str]:
    found = []
    for each in range(shape.topics):
        prefix = prefixes[team_of(each, shape.topics, shape.teams)]
        found.append(f"{prefix}{_THINGS[each % len(_THINGS)]}{prefix[-1]}{each}")
    return found


def _own_names(shape: Shape, prefixes: tuple[str, ...], count: int, what: str) -> list[str]:
    return [f"{prefixes[team_of(each, count, shape.teams)]}{what}-{each}" for each in range(count)]


def _with_odd(
    shape: Shape, names: list[str], odd: list[str] | tuple[str, ...] = ODD_NAMES
) -> tuple[str, ...]:
    """Return names, some of them replaced by odd ones, spread evenly."""
    if shape.odd_names and len(names) >= 2 * len(odd):
        for each, name in enumerate(odd):
            names[each * len(names) // len(odd) + 1] = name
    return tuple(names)


def _principal(shape: Shape, each: int, prefixes: tuple[str, ...]) -> str:
    team = prefixes[team_of(each, shape.principals, shape.teams)][:-1]
    match each % 20:
        case 3:
            return f"User:CN=svc-{each},OU={team},O=Example\\, Inc.,C=DE"
        case 7:
            return f"User:{team}-{each}@EXAMPLE.COM"
        case 11:
            return f"ServiceAccount:sa-{each}"
        case _:
            return f"User:{team}-svc-{each}"


def _host(each: int) -> str:
    """Return an address as Java writes it: IPv6 in eight groups, nothing left out."""
    if each % 9 == 4:
        return f"fd00:0:0:0:0:0:{each // 65536:x}:{each % 65536:x}"
    return f"10.{each // 62500 % 250}.{each // 250 % 250}.{each % 250 + 1}"
