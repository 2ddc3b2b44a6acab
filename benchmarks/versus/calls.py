"""What clients ask, as rows of the table: frames, where they go, and what the answers must say."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NamedTuple

from doorkeeper.acls.model import PatternType
from doorkeeper_wire.messages.api_versions import ApiVersionsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from doorkeeper_wire.messages.describe_groups import DescribeGroupsResponse
from doorkeeper_wire.messages.metadata import MetadataResponse
from versus import frames
from versus.loadgen import Load, run
from versus.targets import PASSWORD
from versus.worlds import BENCH_USER, LITERAL, TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.acls.model import AclBinding
    from versus.targets import Target

SOME = 50
"""How many different resources, or principals, are asked about in turn."""


class Shape(NamedTuple):
    """Connections, and requests in flight on each."""

    connections: int
    in_flight: int

    def __str__(self) -> str:
        """Return it as the table has it."""
        return f"{self.connections} x {self.in_flight}"


ONE, MANY, PIPELINED = Shape(1, 1), Shape(32, 1), Shape(32, 16)
SHAPES = (ONE, MANY, PIPELINED)


class Call(NamedTuple):
    """A row. ``meaning`` is what both servers must agree about, taken from a decoded answer.

    ``steady`` says that a server answers the same bytes again and again; in ApiVersions a broker
    counts its metadata.
    """

    name: str
    requests: tuple[bytes, ...]
    response: Any
    meaning: Callable[[Any], Any]
    logged_in: bool = False
    shapes: tuple[Shape, ...] = SHAPES
    steady: bool = True

    def load(self, shape: Shape, *, warm_s: float, time_s: float) -> Load:
        """Return the load of a measurement."""
        return Load(
            frames=self.requests,
            connections=shape.connections,
            in_flight=shape.in_flight,
            warm_s=warm_s,
            time_s=time_s,
            hello=self.hello(),
            same=self.steady,
        )

    def hello(self) -> list[bytes]:
        """Return what a connection says before."""
        return frames.plain_login(BENCH_USER, PASSWORD) if self.logged_in else []

    def port(self, target: Target) -> int:
        """Return where it goes."""
        return target.sasl_port if self.logged_in else target.plain_port

    def meanings(self, target: Target) -> list[Any]:
        """Ask each request once; return what the answers mean."""
        load = Load(
            frames=self.requests,
            time_s=60,
            requests_max=len(self.requests),
            hello=self.hello(),
            keep=True,
        )
        kept = run(self.port(target), load).kept
        return [self.meaning(frames.decoded(self.response, each)) for each in kept]


def small() -> Call:
    """Return the small request whose patience is tried: Metadata of one topic."""
    return Call(
        "Metadata, one topic",
        (frames.metadata(["bench-topic-7"]),),
        MetadataResponse,
        _topics,
        logged_in=True,
    )


def everything() -> Call:
    """Return the question for all ACLs."""
    return Call(
        "DescribeAcls, everything",
        (frames.describe(),),
        DescribeAclsResponse,
        frames.bindings_of,
        shapes=(ONE,),
    )


def reads(world: list[AclBinding]) -> list[Call]:
    """Return all rows that change nothing."""
    chance = random.Random(1)
    literals = [each.pattern.name for each in world if each.pattern.pattern_type is LITERAL]
    names = chance.sample(literals, min(SOME, len(literals)))
    users = chance.sample(world, min(SOME, len(world)))
    described = (DescribeAclsResponse, frames.bindings_of)
    return [
        Call(
            "ApiVersions",
            (frames.frame(frames.API_VERSIONS),),
            ApiVersionsResponse,
            lambda answer: answer.error_code,
            steady=False,
        ),
        Call(
            "Metadata, no topics",
            (frames.metadata([]),),
            MetadataResponse,
            _topics,
            logged_in=True,
        ),
        small(),
        Call(
            f"Metadata, {frames.TOPICS:,} topics with operations",
            (frames.metadata(frames.topic_names(), operations=True),),
            MetadataResponse,
            _topics,
            logged_in=True,
        ),
        Call(
            f"DescribeGroups, {frames.GROUPS} groups with operations",
            (frames.groups(),),
            DescribeGroupsResponse,
            _groups,
            logged_in=True,
        ),
        Call(
            "DescribeAcls, one resource",
            tuple(
                frames.describe(name=name, pattern_type=LITERAL, resource_type=TOPIC)
                for name in names
            ),
            *described,
        ),
        Call(
            "DescribeAcls, one principal",
            tuple(frames.describe(principal=each.entry.principal) for each in users),
            *described,
        ),
        Call(
            "DescribeAcls, MATCH",
            tuple(
                frames.describe(name=name, pattern_type=PatternType.MATCH, resource_type=TOPIC)
                for name in names
            ),
            *described,
        ),
        everything(),
    ]


def _topics(answer: Any) -> Any:
    return [
        (each.error_code, each.name, len(each.partitions), each.topic_authorized_operations)
        for each in sorted(answer.topics, key=lambda topic: topic.name)
    ]


def _groups(answer: Any) -> Any:
    return sorted(
        (each.error_code, each.group_id, each.group_state, each.authorized_operations)
        for each in answer.groups
    )
