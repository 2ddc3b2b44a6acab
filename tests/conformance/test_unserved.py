"""The declarations against Kafka's definitions; refused APIs against its classes, in every version.

The judge is the newest release, whose versions are declared.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.api.unserved import api_of
from doorkeeper_wire.declared import module, tree
from doorkeeper_wire.declared.model import Versions
from doorkeeper_wire.errors import Malformed
from kafka_messages import declared_shape, definitions, shape
from testkit.kafka_jars import CACHE
from testkit.oracle_bytes import damaged
from testkit.oracle_codec import (
    RELEASES,
    RENAMED_IN_4_4,
    CodecOracle,
    java_class,
    java_fields,
    renamed,
)
from testkit.oracle_totals import Totals
from testkit.wire_values import Filling, refused_apis

RELEASE = RELEASES[-1]

NEGATIVE = "Invalid negative number of tagged fields"
"""New in 4.4.0; here, as in 4.3.1, such a number is none (docs/reference/compatibility.md)."""

UNDECLARED = {"current_leader", "node_endpoints"}
"""Tagged fields of Produce responses, which name another leader."""

NAME_IN_4_4 = 28, "generation_id_or_member_epoch"
"""The field of TxnOffsetCommit that has another name from Kafka 4.4 on."""

VERSIONS = [
    pytest.param(key, version, id=f"{refused.name}-{version}")
    for key, refused in refused_apis().items()
    for version in range(refused.messages[0].versions.low, refused.messages[0].versions.high + 1)
]
EVERY_VERSION = pytest.mark.parametrize(("key", "version"), VERSIONS)


def test_declarations_match_kafka(codec: CodecOracle) -> None:
    codec.ask(RELEASE, [])
    [jar] = (CACHE / RELEASE / "lib").glob("kafka-clients-*.jar")

    for key, kafkas in definitions(jar).items():
        ours = module(kafkas[0]["name"].removesuffix("Request"))
        low, _, high = kafkas[0]["validVersions"].partition("-")
        versions = Versions(int(low), int(high or low))

        assert [each.api_key for each in ours.messages] == [key, key]
        assert ours.messages[0].versions.high == versions.high
        for message, definition in zip(ours.messages, kafkas, strict=True):
            found = declared_shape(message, versions)
            assert found == as_ours(shape(definition), key), message.name
        if ours.listeners:
            assert ours.listeners == set(kafkas[0]["listeners"])


def as_ours(fields: list[dict[str, Any]], key: int) -> list[dict[str, Any]]:
    """Return fields without what is not declared here, under the names that they have here."""
    return [
        field
        | {
            "name": "generation_id" if (key, field["name"]) == NAME_IN_4_4 else field["name"],
            "fields": as_ours(field["fields"], key),
        }
        for field in fields
        if key != 0 or field["name"] not in UNDECLARED
    ]


@EVERY_VERSION
def test_requests_decode_as_in_kafka(
    codec: CodecOracle, totals: Totals, key: int, version: int
) -> None:
    """What Kafka writes has the same values here; damaged bytes are refused by both or neither."""
    name = refused_apis()[key].messages[0].name
    node, kind = tree(name, version), java_class(name)
    samples = [Filling(sparse=sparse).record(node) for sparse in (False, True)]
    asked = [("encode", kind, version, kafkas_fields(name, node, each)) for each in samples]
    written = [bytes.fromhex(each) for each in codec.ask(RELEASE, asked)]
    cases = [*written, *(each for whole in written for each in damaged(whole, version, 12))]

    answers = codec.ask(RELEASE, [("decode", kind, version, each.hex()) for each in cases])

    for case, answer in zip(cases, answers, strict=True):
        if NEGATIVE in str(answer):
            continue
        kafkas = None if "refused" in answer else (answer["values"], answer["end"])
        assert outcome(name, node, case) == kafkas, f"{case.hex()}: {answer}"
    assert [node.build(each) for each in samples] == written
    totals.compared["requests of APIs without a handler"] += len(cases)


def kafkas_fields(name: str, node: Any, values: dict[str, Any]) -> Any:
    """Return the values that differ from their defaults, as Java tells them."""
    fields = java_fields(node, values)
    return renamed(fields, *RENAMED_IN_4_4[name]) if name in RENAMED_IN_4_4 else fields


def outcome(name: str, node: Any, data: bytes) -> tuple[Any, int] | None:
    """Return the values of a message and its end; None where it is refused."""
    try:
        values, end = node.decode(data, 0)
    except Malformed:
        return None
    return kafkas_fields(name, node, values), end


@EVERY_VERSION
def test_error_responses_are_read_by_kafka(
    codec: CodecOracle, totals: Totals, key: int, version: int
) -> None:
    """Kafka's classes read each refusal to its end, find the code in it, and write it alike."""
    messages, api = refused_apis()[key].messages, api_of(key)
    assert api is not None
    node = tree(messages[0].name, version)
    request, _ = api.request.read(node.build(Filling(sparse=False).record(node)), 0, version)

    refused: Any = api.refuse(request, version, ApiError(ErrorCode.UNSUPPORTED_VERSION, "why"))
    body = refused.encode(version)

    asked = [("decode", java_class(messages[1].name), version, body.hex())]
    [answer] = codec.ask(RELEASE, asked)
    assert answer["end"] == len(body)
    assert answer["again"] == body.hex()
    assert set(found_codes(answer["values"])) == {35}
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
