"""The codec against bytes that others made, and against what Kafka's decoders made of damage.

tests/vectors/generate.py says where the files come from.
"""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doorkeeper_wire.declared import tree
from doorkeeper_wire.declared.nodes import Array, NullableRecord, Record
from testkit.wire_values import (
    declared_outcome,
    generated_outcome,
    message_class,
    message_versions,
    plain,
)

VECTORS = Path(__file__).parents[2] / "vectors"


def rows(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((VECTORS / f"{name}.json").read_text("utf-8"))
    return found


def by_version(name: str) -> Iterator[Any]:
    """Yield the rows of each message and version, as one test."""
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in rows(name):
        groups.setdefault((row["message"], row["version"]), []).append(row)
    for (message, version), group in groups.items():
        yield pytest.param(group, id=f"{message}-{version}")


def from_json(value: Any) -> Any:
    """Return the values of a vector: bytes for {"hex": ...}, tuples for lists."""
    if isinstance(value, dict):
        if set(value) == {"hex"}:
            return bytes.fromhex(value["hex"])
        return {key: from_json(item) for key, item in value.items()}
    return tuple(from_json(item) for item in value) if isinstance(value, list) else value


def within(part: Any, whole: Any) -> bool:
    """Tell whether all values of `part` are those of `whole`, which may have more fields."""
    if isinstance(part, dict):
        return all(within(value, whole[key]) for key, value in part.items())
    if isinstance(part, tuple):
        return len(part) == len(whole) and all(map(within, part, whole))
    return bool(part == whole)


def as_java(node: Any, value: Any) -> Any:
    """Return a plain value as Kafka's JSON converters write it, without tagged defaults."""
    if isinstance(node, NullableRecord):
        return None if value is None else as_java(node.record, value)
    if isinstance(node, Array):
        return None if value is None else [as_java(node.element, item) for item in value]
    if isinstance(value, bytes):
        is_id = hasattr(node, "length")
        encoded = base64.urlsafe_b64encode(value) if is_id else base64.b64encode(value)
        return encoded.decode().rstrip("=" if is_id else "")
    if not isinstance(node, Record):
        return value
    fields = {part.name: as_java(part.subcon, value[part.name]) for part in node.subcons}
    for known in node.tags.known if node.tags is not None else ():
        if value[known.name] != known.default:
            fields[known.name] = as_java(known.node, value[known.name])
    return {camel(node.kind, name): item for name, item in fields.items()}


def without_records(value: Any) -> Any:
    """Leave records out: Kafka's converters write their size, or empty bytes, by the release."""
    if isinstance(value, list):
        return [without_records(item) for item in value]
    if not isinstance(value, dict):
        return value
    left = {key: item for key, item in value.items() if not key.startswith("records")}
    return {key: without_records(item) for key, item in left.items()}


def camel(kind: str, name: str) -> str:
    first, *rest = (f"request_{name}" if kind == "RequestHeader" and "api" in name else name).split(
        "_"
    )
    return first + "".join(word.capitalize() for word in rest)


@pytest.mark.parametrize("group", list(by_version("messages")))
def test_foreign_bytes_round_trip(group: list[dict[str, Any]]) -> None:
    """What kio, kafka-python and Kafka's own classes write is read, and written alike."""
    for row in group:
        data = bytes.fromhex(row["bytes"])
        kind = message_class(row["message"])

        message, end = kind.decode(data, 0, row["version"])

        assert end == len(data)
        assert within(from_json(row["values"]), plain(message))
        assert message.encode(row["version"]) == data


NEWEST = {"ApiVersions": 5, "DeleteGroups": 3, "StreamsGroupDescribe": 1, "TxnOffsetCommit": 6}
"""The versions that kafka-clients 4.4.0 alone has, by API."""


def test_every_version_has_foreign_vectors() -> None:
    found: dict[tuple[str, int], set[str]] = {}
    for row in rows("messages"):
        origins = {origin.split()[0] for origin in row["origin"]}
        found.setdefault((row["message"], row["version"]), set()).update(origins)

    assert set(found) == set(message_versions(of_kafka=True))
    lonely = {case for case, origins in found.items() if len(origins) < 2}
    assert lonely == {
        ("RequestHeader", 0),
        # New in Kafka 4.4.
        *(
            (f"{api}{part}", version)
            for api, version in NEWEST.items()
            for part in ("Request", "Response")
        ),
        # kio has no versions that Kafka 4 removed, and kafka-python neither tokens nor old Produce.
        *(
            (name, version)
            for name, version in message_versions(of_kafka=True)
            if ("DelegationToken" in name and not version)
            or (name.startswith("Produce") and version < 3)
        ),
    }


@pytest.mark.parametrize("group", list(by_version("java_decoding")))
def test_damaged_bytes_decode_as_in_kafka(group: list[dict[str, Any]]) -> None:
    """Damaged bytes are refused where Kafka refuses them, and else read to the same values."""
    for row in group:
        data = bytes.fromhex(row["bytes"])

        outcome = generated_outcome(row["message"], row["version"], data)

        assert declared_outcome(row["message"], row["version"], data) == outcome
        is_refused = isinstance(outcome, str)
        assert (None if is_refused else outcome[1]) == row["end"], row["bytes"]
        if not is_refused:
            found = as_java(tree(row["message"], row["version"]), outcome[0])
            assert without_records(found) == without_records(row["values"])
