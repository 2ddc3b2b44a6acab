"""The codec beside others, in one process and in turns: microseconds, and ratios to ours.

    python benchmarks/codec.py [--rounds N] [--quick]

    generated       doorkeeper_wire.messages: what the server runs
    tree            doorkeeper_wire.declared: the construct trees it is made from
    kio             kio 0.6.5 (its reader is native code, its writer Python)
    kafka-python    kafka-python 3, code made at run time

Each round runs every codec once, so that a slow moment of the machine hits all of them; the median
counts. Absolute times differ from machine to machine, the ratios hardly.
"""

import argparse
import io
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from kafka.protocol import admin, metadata
from kio.serial import entity_reader, entity_writer

from doorkeeper_wire.declared import tree
from doorkeeper_wire.message import Record
from doorkeeper_wire.messages.create_acls import AclCreation, CreateAclsRequest
from doorkeeper_wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from doorkeeper_wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

Codec = Callable[[], object]


def describe_request() -> DescribeAclsRequest:
    """Return a request for the ACLs of one topic."""
    return DescribeAclsRequest(
        resource_type_filter=2,
        resource_name_filter="orders",
        pattern_type_filter=3,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )


def create_request(count: int) -> CreateAclsRequest:
    """Return a request to create so many ACLs."""
    return CreateAclsRequest(
        creations=tuple(
            AclCreation(
                resource_type=2,
                resource_name=f"team-{n % 50}.topic-{n}",
                resource_pattern_type=3,
                principal=f"User:service-{n % 200}",
                host="*",
                operation=3,
                permission_type=3,
            )
            for n in range(count)
        )
    )


def describe_response(count: int) -> DescribeAclsResponse:
    """Return an answer of so many ACLs, ten on each resource."""
    return DescribeAclsResponse(
        error_message=None,
        resources=tuple(
            DescribeAclsResource(
                resource_type=2,
                resource_name=f"team-{n % 50}.topic-{n}",
                pattern_type=3,
                acls=tuple(
                    AclDescription(
                        principal=f"User:service-{(n * 10 + k) % 2000}",
                        host="*",
                        operation=3 + k % 8,
                        permission_type=3,
                    )
                    for k in range(10)
                ),
            )
            for n in range(count // 10)
        ),
    )


def metadata_response(topics: int) -> MetadataResponse:
    """Return an answer of so many topics with three partitions each."""
    brokers = tuple(MetadataResponseBroker(node_id=n, host=f"b{n}", port=9092) for n in range(3))
    return MetadataResponse(
        brokers=brokers,
        cluster_id="MkU3OEVBNTcwNTJENDM2Qk",
        controller_id=1,
        topics=tuple(
            MetadataResponseTopic(
                name=f"team-{n % 50}.topic-{n}",
                topic_id=n.to_bytes(16, "big"),
                partitions=tuple(
                    MetadataResponsePartition(
                        partition_index=p, leader_id=p, replica_nodes=(0, 1, 2), isr_nodes=(0, 1, 2)
                    )
                    for p in range(3)
                ),
            )
            for n in range(topics)
        ),
    )


def plain(value: Any) -> Any:
    """Return a message as dictionaries and tuples, for the tree."""
    if isinstance(value, Record):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    return tuple(plain(item) for item in value) if isinstance(value, tuple) else value


def kio_class(api: str, version: int, kind: str, name: str) -> Any:
    """Return the class of kio for a message in a version."""
    return getattr(__import__(f"kio.schema.{api}.v{version}.{kind}", fromlist=[name]), name)


def decoders(message: Any, version: int, foreign: Any, kio_kind: Any) -> dict[str, Codec]:
    """Return what decodes the bytes of a message, by codec."""
    data = message.encode(version)
    declared = tree(type(message).__name__, version)
    read = entity_reader(kio_kind)
    return {
        "generated": lambda: type(message).decode(data, 0, version),
        "tree": lambda: declared.parse(data),
        "kio": lambda: read(data, 0),
        "kafka-python": lambda: foreign.decode(data, version=version),
    }


def encoders(message: Any, version: int, foreign: Any, kio_kind: Any) -> dict[str, Codec]:
    """Return what encodes a message, by codec; the foreign objects are made beforehand."""
    data = message.encode(version)
    declared, values = tree(type(message).__name__, version), plain(message)
    theirs = foreign.decode(data, version=version)
    theirs._header = None  # noqa: SLF001 - it forgets this when it decodes
    kios = entity_reader(kio_kind)(data, 0)[0]
    write = entity_writer(kio_kind)

    def by_kio() -> bytes:
        stream = io.BytesIO()
        write(stream, kios)
        return stream.getvalue()

    found: dict[str, Codec] = {
        "generated": lambda: message.encode(version),
        "tree": lambda: declared.build(values),
        "kio": by_kio,
        "kafka-python": lambda: theirs.encode(version=version),
    }
    for name, codec in found.items():
        if bytes(codec()) != data:  # type: ignore[call-overload] # each returns bytes of its kind
            raise SystemExit(f"{name} writes other bytes than we do")
    return found


def measured(codecs: dict[str, Codec], rounds: int) -> dict[str, float]:
    """Return the median microseconds of each codec."""
    times: dict[str, list[float]] = {name: [] for name in codecs}
    for turn in range(rounds):
        for name, codec in codecs.items():
            if name == "tree" and turn >= 3:
                continue
            start = time.perf_counter()
            codec()
            first = time.perf_counter() - start
            repeats = max(1, min(200, int(0.005 / first)))
            start = time.perf_counter()
            for _ in range(repeats):
                codec()
            times[name].append((time.perf_counter() - start) / repeats * 1e6)
    return {name: median(found) for name, found in times.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="three rounds")
    options = parser.parse_args()
    rounds = 3 if options.quick else options.rounds
    request = kio_class("describe_acls", 2, "request", "DescribeAclsRequest")
    response = kio_class("describe_acls", 2, "response", "DescribeAclsResponse")
    creations = kio_class("create_acls", 2, "request", "CreateAclsRequest")
    topics = kio_class("metadata", 12, "response", "MetadataResponse")
    describe, create = admin.DescribeAclsRequest, admin.CreateAclsRequest
    answer, meta = admin.DescribeAclsResponse, metadata.MetadataResponse
    cases = {
        "decode DescribeAcls request v2": decoders(describe_request(), 2, describe, request),
        "decode CreateAcls v2 x100": decoders(create_request(100), 2, create, creations),
        "decode CreateAcls v2 x10000": decoders(create_request(10_000), 2, create, creations),
        "encode DescribeAcls v2, 1k ACLs": encoders(describe_response(1_000), 2, answer, response),
        "encode DescribeAcls v2, 10k ACLs": encoders(
            describe_response(10_000), 2, answer, response
        ),
        "encode Metadata v12, 1k topics x3": encoders(metadata_response(1_000), 12, meta, topics),
    }
    names = ("generated", "tree", "kio", "kafka-python")
    print(f"{'':36}" + "".join(f"{name:>24}" for name in names))
    for title, codecs in cases.items():
        found = measured(codecs, rounds)
        shown = [f"{found[name]:.1f} us {found[name] / found['generated']:.1f}x" for name in names]
        print(f"{title:36}" + "".join(f"{text:>24}" for text in shown))


if __name__ == "__main__":
    main()
