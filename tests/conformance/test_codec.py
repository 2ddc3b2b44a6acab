"""Our codec against Kafka's own message classes, for every message in every version we serve."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from doorkeeper_wire.api_keys import API_NAMES, FLEXIBLE_FROM
from doorkeeper_wire.declared import tree
from doorkeeper_wire.errors import Malformed, Unencodable, UnknownApi
from doorkeeper_wire.framing import (
    decode_request_header,
    request_header_version,
    response_header_version,
)
from doorkeeper_wire.message import Message
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest
from testkit.kafka_jars import PROJECT
from testkit.oracle_bytes import HOSTILE, damaged, odd
from testkit.oracle_codec import (
    NEWER_THAN_3_9,
    REFUSED,
    RELEASES,
    RENAMED_IN_4_4,
    Case,
    CodecOracle,
    Difference,
    java_class,
    java_values,
    outcome,
)
from testkit.oracle_totals import Totals
from testkit.wire_values import built, message_class, message_versions, values

KEPT = Path(__file__).parent / "cases" / "codec.txt"
"""Cases that once made a difference: message, version and bytes."""

NAMES = list(dict.fromkeys(name for name, _ in message_versions(of_kafka=True)))
EVERY_VERSION = pytest.mark.parametrize(("name", "version"), list(message_versions(of_kafka=True)))
MANY = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
# Without shrinking, which takes minutes for each version that differs.
FEW = settings(MANY, max_examples=3, phases=[Phase.explicit, Phase.reuse, Phase.generate])

DAMAGED_BYTES_MAX = 4000

FIRST_VERSIONS_ONLY = ("ProduceResponse",)
"""Messages that have tagged fields which we never send."""

RELEASES_AND_NAMES = [
    (release, name)
    for release in RELEASES
    for name in NAMES
    if not (release.startswith("3.") and name in NEWER_THAN_3_9)
    and not (release.startswith("4.4") and name in RENAMED_IN_4_4)
]

OTHER_LEADER_NAME = "tags of a Produce response that name another leader"

UNDECLARED_TAGS = {
    "ProduceResponse": (9, OTHER_LEADER_NAME, ("currentLeader", "nodeEndpoints")),
}
"""By message: the first version with tagged fields that are not declared here, and their names."""

ACCEPTED = {
    "half of a surrogate pair is not encoded": Case(
        "SaslHandshakeRequest", 0, SaslHandshakeRequest(mechanism="\ud800")
    ),
    "a negative number of tagged fields is none": Case(
        "ApiVersionsRequest", 5, bytes.fromhex("010100ffffffffffffffff0f")
    ),
    OTHER_LEADER_NAME: Case("ProduceResponse", 10, bytes.fromhex("0100000000010000")),
}
"""Where we answer otherwise than Kafka, by name, each with a case that shows it."""


NOT_THERE = (4, 5, 6, 7, 93, 94)
"""Removed in 4.0: LeaderAndIsr, StopReplica, UpdateMetadata, ControlledShutdown; or new in 4.4."""
NOT_THERE_NAME = "headers of APIs that 4.3.1 does not have are read, to name the API"

REMOVED_VERSION = (27, 0)
"""WriteTxnMarkers 0 was not flexible; 4.0 removed it, and gives the number a flexible header."""
NEGATIVE_NAME = "the header of a request with a negative version is never flexible"
REMOVED_NAME = "WriteTxnMarkers 0 has the header that it had"


def accepted_name(difference: Difference) -> str | None:
    """Return the name of an accepted difference."""
    if "\\ud8" in difference.case.shown and difference.ours == REFUSED:
        return "half of a surrogate pair is not encoded"
    if "Invalid negative number of tagged fields" in str(difference.kafka):
        # New in 4.4.0, which judges ApiVersions 5; 4.3.1 judges the other versions so.
        return "a negative number of tagged fields is none"
    case = difference.case
    first_version, name, tags = UNDECLARED_TAGS.get(case.message, (0, "", ()))
    if tags and case.version >= first_version and isinstance(case.given, bytes):
        kafkas = difference.kafka
        if "refused" in kafkas or any(tag in str(kafkas["values"]) for tag in tags):
            return name
    return None


def agree(codec: CodecOracle, totals: Totals, cases: list[Case]) -> None:
    """Give cases of one message and version to both codecs; fail when their answers differ."""
    different = []
    for difference in codec.differences(cases):
        name = accepted_name(difference)
        if name is None:
            different.append(difference)
        else:
            totals.accepted[name] += 1
    totals.compared["encodings"] += sum(not isinstance(case.given, bytes) for case in cases)
    received = [case for case in cases if isinstance(case.given, bytes)]
    refused = sum(outcome(case) == REFUSED for case in received)
    totals.compared["decodings, of bytes that are accepted"] += len(received) - refused
    totals.compared["decodings, of bytes that are refused"] += refused
    assert not different, "\n".join(map(str, different[:3]))


def cases_of(message: Message, version: int, seed: int, count: int) -> Iterator[Case]:
    """Yield a message to encode, its bytes, and damaged ones."""
    name = type(message).__name__
    yield Case(name, version, message)
    try:
        data = message.encode(version)
    except Unencodable:
        return
    yield Case(name, version, data)
    if len(data) <= DAMAGED_BYTES_MAX:
        yield from (Case(name, version, each) for each in damaged(data, seed, count))


def versions_of(name: str) -> list[int]:
    """Return the versions of a message."""
    return [version for message, version in message_versions() if message == name]


def agree_on_values(
    codec: CodecOracle, totals: Totals, data: st.DataObject, name: str, version: int
) -> None:
    """Draw values of this version and of another one, make odd ones of them, damage the bytes."""
    drawn = data.draw(st.lists(values(tree(name, version)), min_size=1, max_size=3))
    other = data.draw(st.sampled_from(versions_of(name)))
    drawn.append(data.draw(values(tree(name, other))))
    seed = data.draw(st.integers(0, 1 << 32))
    cases: list[Case] = []
    for index, value in enumerate(drawn):
        for each in (value, odd(value, seed + index)):
            cases += cases_of(built(name, each), version, seed + index, count=10)
    agree(codec, totals, cases)


@pytest.mark.parametrize(("release", "name"), RELEASES_AND_NAMES)
def test_default_messages_match_kafka(
    codec: CodecOracle, totals: Totals, release: str, name: str
) -> None:
    """A new message of Kafka has the fields that ours has, with the same values."""
    [kafkas] = codec.ask(release, [("defaults", java_class(name))])

    ours = java_values(message_class(name)(), every=True)

    later = ours.keys() - kafkas.keys()
    if name in FIRST_VERSIONS_ONLY:
        kafkas = {field: value for field, value in kafkas.items() if field in ours}
    assert kafkas == {field: value for field, value in ours.items() if field not in later}
    assert release != RELEASES[-1] or not later
    totals.compared["messages with their defaults"] += 1


@EVERY_VERSION
@FEW
@given(data=st.data())
def test_encoding_and_decoding_match_kafka(
    codec: CodecOracle, totals: Totals, data: st.DataObject, name: str, version: int
) -> None:
    agree_on_values(codec, totals, data, name, version)


@pytest.mark.slow
@EVERY_VERSION
@MANY
@given(data=st.data())
def test_encoding_and_decoding_match_kafka_long(
    codec: CodecOracle, totals: Totals, data: st.DataObject, name: str, version: int
) -> None:
    agree_on_values(codec, totals, data, name, version)


@EVERY_VERSION
def test_random_bytes_decode_as_in_kafka(
    codec: CodecOracle, totals: Totals, name: str, version: int
) -> None:
    chance = Random(f"{name} {version}")
    noise = [chance.randbytes(chance.randrange(40)) for _ in range(60)]
    hostile = [a + b for a in HOSTILE[::3] for b in (b"", bytes(20), chance.choice(HOSTILE) * 6)]

    agree(codec, totals, [Case(name, version, each) for each in (*noise, *hostile)])
    totals.compared["messages and versions"] += 1


def test_former_differences_stay_fixed(codec: CodecOracle, totals: Totals) -> None:
    for line in KEPT.read_text().splitlines():
        name, version, given_bytes = (*line.split(" "), "")[:3]
        agree(codec, totals, [Case(name, int(version), bytes.fromhex(given_bytes))])


def test_null_without_nullable_field_is_rejected(codec: CodecOracle, totals: Totals) -> None:
    for name, version, field in (
        ("ListGroupsRequest", 0, "states_filter"),
        ("ListGroupsRequest", 4, "types_filter"),
        ("DeleteTopicsRequest", 1, "topics"),
        ("FindCoordinatorResponse", 2, "coordinators"),
        ("ApiVersionsResponse", 3, "supported_features"),
    ):
        case = Case(name, version, message_class(name)(**{field: None}))

        assert outcome(case) == REFUSED
        agree(codec, totals, [case])


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted_differences_are_needed(codec: CodecOracle, name: str) -> None:
    """Each accepted difference still is one, and is taken for no other."""
    [difference] = codec.differences([ACCEPTED[name]])

    assert accepted_name(difference) == name


def test_accepted_differences_are_documented() -> None:
    """docs/reference/compatibility.md names each accepted difference."""
    text = (PROJECT / "docs" / "reference" / "compatibility.md").read_text()
    names = (*ACCEPTED, NOT_THERE_NAME, NEGATIVE_NAME, REMOVED_NAME)

    assert [name for name in names if f"`{name}`" not in text] == []


def test_header_versions_match_kafka(codec: CodecOracle, totals: Totals) -> None:
    """Each API in each version has the headers that Kafka gives it."""
    release = RELEASES[-1]
    pairs = [(key, version) for key in API_NAMES for version in range(20)]
    answers = codec.ask(release, [("header versions", *pair) for pair in pairs])

    for (key, version), answer in zip(pairs, answers, strict=True):
        if isinstance(answer, dict):  # An API that is gone.
            continue
        if (key, version) == REMOVED_VERSION:
            totals.accepted[REMOVED_NAME] += 1
            continue
        assert answer == [
            request_header_version(key, version),
            response_header_version(key, version),
        ]
        totals.compared["headers of an API in a version"] += 1


def header_outcome(frame: bytes) -> Any:
    """Return what our codec reads of a request's header."""
    try:
        header, end = decode_request_header(frame)
    except (Malformed, UnknownApi):
        return REFUSED
    # A broker takes a client without a name for one of an empty name while it reads the header.
    return {"end": end, "values": java_values(header.replace(client_id=header.client_id or ""))}


def header_accepted(frame: bytes, kafkas: Any) -> str | None:
    """Return the name of an accepted difference about a header."""
    key, version = (int.from_bytes(frame[at : at + 2], "big", signed=True) for at in (0, 2))
    if (key, version) == REMOVED_VERSION:
        return REMOVED_NAME
    if key in NOT_THERE and kafkas == REFUSED:
        return NOT_THERE_NAME
    return NEGATIVE_NAME if version < 0 else None


def test_request_headers_decode_as_in_kafka(codec: CodecOracle, totals: Totals) -> None:
    """A request header of any API, in any version, damaged or not, is read as by Kafka."""
    chance = Random(4)
    frames = []
    for _ in range(4000):
        key, version = chance.choice([*FLEXIBLE_FROM, -1, 999]), chance.randrange(-1, 20)
        name = chance.choice([b"\xff\xff", b"\x00\x00", b"\x00\x02id", b"\x00\x03\xed\xa0\x80"])
        tags = chance.choice([b"", b"\x00", b"\x01\x05\x01\x0a", *HOSTILE])
        head = key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True)
        frames.append(head + chance.randbytes(4) + name + tags)
        frames += damaged(frames[-1], chance.randrange(1 << 32), 1)
    answers = codec.ask(RELEASES[0], [("header", frame.hex()) for frame in frames])

    for frame, answer in zip(frames, answers, strict=True):
        kafkas = REFUSED if "refused" in answer else answer
        if kafkas != header_outcome(frame):
            accepted = header_accepted(frame, kafkas)
            assert accepted, (frame.hex(), answer, header_outcome(frame))
            totals.accepted[accepted] += 1
        totals.compared["request headers"] += 1
