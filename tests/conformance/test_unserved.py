"""The messages of APIs without a handler against Kafka's own classes, in every version.

The declarations are those of the release that they were made of, and so is the judge.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api.unserved import api_of
from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.interpreted import Field, decode
from doorkeeper_wire.unserved import UNSERVED
from kafka_messages import PAGE, page
from testkit.kafka_jars import CACHE
from testkit.oracle_bytes import damaged
from testkit.oracle_codec import RELEASES, CodecOracle
from testkit.oracle_totals import Totals
from testkit.unserved import filled, java

RELEASE = RELEASES[-1]

NEGATIVE = "Invalid negative number of tagged fields"
"""New in 4.4.0; here, as in 4.3.1, such a number is none (docs/reference/compatibility.md)."""

VERSIONS = [
    pytest.param(key, version, id=f"{declared.name}-{version}")
    for key, declared in UNSERVED.items()
    for version in range(declared.low, declared.high + 1)
]
EVERY_VERSION = pytest.mark.parametrize(("key", "version"), VERSIONS)


def test_declarations_are_kafkas(codec: CodecOracle) -> None:
    """schemas/unserved.yaml is what the definitions say, without the APIs that are served."""
    codec.ask(RELEASE, [])
    [jar] = (CACHE / RELEASE / "lib").glob("kafka-clients-*.jar")

    assert PAGE.read_text(encoding="utf-8") == page(jar)


@EVERY_VERSION
def test_requests_are_read_as_by_kafka(
    codec: CodecOracle, totals: Totals, key: int, version: int
) -> None:
    """What Kafka writes has the same values here; damaged bytes are refused by both or neither."""
    declared = UNSERVED[key]
    kind = f"{declared.name}RequestData"
    samples = [filled(declared.request, version, sparse=sparse) for sparse in (False, True)]
    asked = [("encode", kind, version, java(declared.request, each)) for each in samples]
    written = [bytes.fromhex(each) for each in codec.ask(RELEASE, asked)]
    cases = [*written, *(each for whole in written for each in damaged(whole, version, 12))]

    answers = codec.ask(RELEASE, [("decode", kind, version, each.hex()) for each in cases])

    for case, answer in zip(cases, answers, strict=True):
        if NEGATIVE in str(answer):
            continue
        kafkas = None if "refused" in answer else (without_tags(answer["values"]), answer["end"])
        found = outcome(declared.request, case, version, declared.flexible_from)
        assert found == kafkas, f"{case.hex()}: {answer}"
    assert [outcome(declared.request, each, version, declared.flexible_from) for each in written]
    totals.compared["requests of APIs without a handler"] += len(cases)


def without_tags(value: Any) -> Any:
    """Leave out unknown tags, which the interpreter does not keep."""
    if isinstance(value, list):
        return [without_tags(item) for item in value]
    if isinstance(value, dict):
        left = {name: without_tags(item) for name, item in value.items() if name != "_tags"}
        # A struct in which only an unknown tag differs from the defaults says nothing without it.
        return {name: item for name, item in left.items() if item != {} or value[name] == {}}
    return value


def outcome(
    fields: tuple[Field, ...], data: bytes, version: int, flexible_from: int
) -> tuple[Any, int] | None:
    """Return the values that differ from their defaults, as Java tells them, and the end."""
    try:
        values, end = decode(fields, data, 0, version, flexible=version >= flexible_from)
    except Malformed:
        return None
    return java(fields, values), end


@EVERY_VERSION
def test_refusals_are_read_by_kafka(
    codec: CodecOracle, totals: Totals, key: int, version: int
) -> None:
    """Kafka's classes read each refusal to its end, find the code in it, and write it alike."""
    declared, api = UNSERVED[key], api_of(key)
    assert api is not None
    [whole] = codec.ask(
        RELEASE,
        [
            (
                "encode",
                f"{declared.name}RequestData",
                version,
                java(declared.request, filled(declared.request, version, sparse=False)),
            )
        ],
    )
    request, _ = api.request.decode(bytes.fromhex(whole), 0, version)

    refused: Any = api.refuse(request, version, ApiError(ErrorCode.UNSUPPORTED_VERSION, "why"))
    body = refused.encode(version)

    [answer] = codec.ask(RELEASE, [("decode", f"{declared.name}ResponseData", version, body.hex())])
    assert answer["end"] == len(body)
    assert answer["again"] == body.hex()
    codes = list(found_codes(answer["values"]))
    nothing_to_say = declared.name == "DescribeLogDirs" and version < 3
    assert codes or nothing_to_say
    assert set(codes) <= {35}
    totals.compared["refusals of APIs without a handler"] += 1


def found_codes(value: Any) -> Iterator[int]:
    """Yield the error codes of a response."""
    if isinstance(value, list):
        for item in value:
            yield from found_codes(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name in {"errorCode", "partitionErrorCode"}:
                yield item
            else:
                yield from found_codes(item)
