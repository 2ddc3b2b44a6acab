"""What a way of use is made of: services with names, their grants, their sessions and times."""

from __future__ import annotations

import datetime as dt
import random
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.model import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from synthetic.labelled import QUARTER_DAYS, Cluster, Grant, Label, Request

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from synthetic.quarter import Quarter

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
CLUSTER, TRANSACTIONAL_ID = ResourceType.CLUSTER, ResourceType.TRANSACTIONAL_ID
READ, WRITE, DESCRIBE = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE
CREATE, ALL = AclOperation.CREATE, AclOperation.ALL
EVERYONE = "User:*"
SUPER_USER = "User:root"

_TEAMS = (
    *("payments", "orders", "billing", "shipping", "search", "fraud", "catalog", "identity"),
    *("pricing", "returns", "loyalty", "ledger", "risk", "media", "metrics", "warehouse"),
)
_ROLES = (
    *("indexer", "exporter", "gateway", "scorer", "loader", "mailer", "planner", "matcher"),
    *("archiver", "importer", "watcher", "merger", "router", "sampler", "notifier", "builder"),
)
_THINGS = ("events", "created", "updated", "snapshots", "changelog", "commands", "clicks")
_RARE_HOUR = 0.1
"""How often a session is in the second of two hours: a history of few hours is read quickly."""


class Service(NamedTuple):
    """A client: its principal, its own name, its team's prefix of names, its address."""

    principal: str
    name: str
    prefix: str
    host: str


class Step(NamedTuple):
    """A request of a session."""

    api: str
    operation: AclOperation
    resource_type: ResourceType
    name: str


def pattern(name: str, kind: ResourceType = TOPIC, *, prefixed: bool = False) -> ResourcePattern:
    """Return a pattern, literal unless it is said otherwise."""
    return ResourcePattern(kind, name, PatternType.PREFIXED if prefixed else PatternType.LITERAL)


def consume(topics: Iterable[str], group: str) -> list[Step]:
    """Return the session of a consumer."""
    there = list(topics)
    return [
        *(Step("Metadata", DESCRIBE, TOPIC, each) for each in there),
        Step("FindCoordinator", DESCRIBE, GROUP, group),
        Step("JoinGroup", READ, GROUP, group),
        Step("SyncGroup", READ, GROUP, group),
        *(Step("Fetch", READ, TOPIC, each) for each in there),
        Step("OffsetCommit", READ, GROUP, group),
        *(Step("OffsetCommit", READ, TOPIC, each) for each in there),
    ]


def produce(topics: Iterable[str]) -> list[Step]:
    """Return the session of a producer that runs."""
    return [
        step
        for each in topics
        for step in (
            Step("Metadata", DESCRIBE, TOPIC, each),
            Step("Produce", WRITE, TOPIC, each),
        )
    ]


class Maker:
    """Draws the parts of one cluster, and keeps them."""

    def __init__(self, quarter: Quarter) -> None:
        """Begin an empty cluster."""
        self.rng = random.Random(f"{quarter.seed} uses")
        self.days = quarter.days
        self.cluster = Cluster(
            quarter=quarter,
            begin=dt.datetime(2025, 1, 1, tzinfo=dt.UTC) + dt.timedelta(self.rng.randrange(200)),
            policy=Policy(
                super_users=frozenset({SUPER_USER}), allow_everyone=quarter.allow_everyone
            ),
        )
        self.active: list[Service] = []
        self.hours = self.rng.sample(range(24), 2)
        self._names = [f"{team}-{role}" for team in _TEAMS for role in _ROLES]
        self.rng.shuffle(self._names)
        self._counts = 0

    def service(self, *, style: int | None = None, name: str = "") -> Service:
        """Return a client that is not there yet, its principal in a style of names."""
        name = name or self._names.pop()
        team = name.partition("-")[0]
        host = f"10.{self.rng.randrange(4)}.{self.rng.randrange(9)}.{self.number() % 250 + 1}"
        chosen = self.rng.choice((0, 0, 0, 1, 2, 3)) if style is None else style
        principals = (
            f"User:{name}",
            f"User:CN={name},OU={team},O=Example,C=DE",
            f"ServiceAccount:{name}",
            f"User:{name}@EXAMPLE.COM",
        )
        return Service(principals[chosen], name, f"{team}{'.-_'[len(team) % 3]}", host)

    def number(self) -> int:
        """Return a number that no name has yet."""
        self._counts += 1
        return self._counts

    def topics(self, service: Service, least: int = 1, most: int = 3) -> list[str]:
        """Return new topics of a service, all with its prefix."""
        count = self.rng.randint(least, most)
        return [f"{self.prefix(service)}{self.rng.choice(_THINGS)}{self.number()}"] + [
            f"{self.prefix(service)}{self.rng.choice(_THINGS)}{self.number()}"
            for _ in range(count - 1)
        ]

    def prefix(self, service: Service) -> str:
        """Return the prefix of the names of a service."""
        return f"{service.prefix}{service.name.partition('-')[2]}{service.prefix[-1]}"

    def grant(
        self,
        principal: str,
        operation: AclOperation,
        what: ResourcePattern,
        label: Label,
        use: str,
        **options: object,
    ) -> Grant:
        """Add a grant; ``host``, ``denies``, ``given`` and ``taken`` are optional."""
        host = str(options.get("host", "*"))
        kind = AclPermissionType.DENY if options.get("denies") else AclPermissionType.ALLOW
        binding = AclBinding(what, AccessControlEntry(principal, host, operation, kind))
        given, taken = options.get("given"), options.get("taken")
        assert given is None or isinstance(given, float)
        assert taken is None or isinstance(taken, float)
        found = Grant(binding, label, use, given, taken)
        if all(each.binding != binding for each in self.cluster.grants):
            self.cluster.grants.append(found)
        return found

    def ask(
        self,
        service: Service,
        days: Iterable[float],
        steps: Sequence[Step],
        *,
        often: bool = False,
        printed: str = "",
        fault: str = "",
    ) -> None:
        """Add a session on each of some days, in one of the busy hours."""
        hour = self.hours[not often and self.rng.random() < _RARE_HOUR]
        for day in days:
            begin = int(day) + (hour + self.rng.random() * 0.9) / 24
            for number, (api, operation, kind, name) in enumerate(steps):
                at = begin + number / 86_400
                question = Question(service.principal, service.host, operation, kind, name)
                text = printed.replace("#", str(self.rng.randrange(10**9)))
                self.cluster.requests.append(Request(at, question, api, text, fault, often))

    def daily(self) -> range:
        """Return all days."""
        return range(self.days + QUARTER_DAYS)

    def every(self, period: float) -> list[float]:
        """Return the days of something that comes again after so many days."""
        first = self.rng.uniform(0, min(period, QUARTER_DAYS - 1))
        count = int((self.days + QUARTER_DAYS - first) / period)
        return [first + number * period for number in range(count + 1)]

    def starts(self) -> list[float]:
        """Return the days on which a service starts: some in each quarter."""
        days = [self.rng.uniform(0, 40)]
        while days[-1] < self.days + QUARTER_DAYS:
            days.append(days[-1] + self.rng.uniform(15, 60))
        return days

    def recently(self, most: float) -> float:
        """Return a day at most so many before the end."""
        return self.days - self.rng.uniform(0.5, most)

    def after(self, most: float) -> list[float]:
        """Return the days of something that begins after the end, within so many days, daily."""
        first = int(self.days + self.rng.uniform(1, most))
        return [float(day) for day in range(first, self.days + QUARTER_DAYS)]


CLUSTER_PATTERN = pattern(CLUSTER_NAME, CLUSTER)
