"""Kafka's own message classes as the judge of our codec.

Three releases answer: the reference one; 3.9.1 for the versions that were removed in 4.0; 4.4.0
for those that came with it. Values are compared field by field in the form of the Java side: a
struct is a dictionary of the fields that differ from their defaults, bytes are hex, and so are
floats.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from struct import pack
from typing import Any

from doorkeeper_wire.errors import Malformed, Unencodable
from doorkeeper_wire.message import Message, Record
from testkit.java_lines import JavaLines
from testkit.kafka_jars import ORACLES, jars
from testkit.wire_values import message_class

RELEASES = ("4.3.1", "3.9.1", "4.4.0")
"""In the order in which they are asked for a message in a version."""

REFUSED = "refused"
"""What stands for whatever is not accepted; the reasons are not compared."""

_JAVA_NAMES = {"api_key": "requestApiKey", "api_version": "requestApiVersion"}
"""The names of the request header's fields, where Kafka's are not ours."""


NEWER_THAN_3_9 = (
    "AlterShareGroupOffsetsRequest",
    "AlterShareGroupOffsetsResponse",
    "DeleteShareGroupOffsetsRequest",
    "DeleteShareGroupOffsetsResponse",
    "DescribeShareGroupOffsetsRequest",
    "DescribeShareGroupOffsetsResponse",
    "ListConfigResourcesRequest",
    "ListConfigResourcesResponse",
    "StreamsGroupDescribeRequest",
    "StreamsGroupDescribeResponse",
)
"""Messages whose classes Kafka 3.9 does not have, or has under another name."""

RENAMED_IN_4_4 = {"TxnOffsetCommitRequest": ("generationId", "generationIdOrMemberEpoch")}
"""Fields that have another name from Kafka 4.4 on: ours is the first."""

_ZERO = pack(">d", 0.0).hex()

_DEFAULTS: dict[type[Record], Record] = {}


@dataclass(frozen=True, slots=True)
class Case:
    """A question for both codecs: values to encode, or bytes to decode."""

    message: str
    version: int
    given: Record | bytes

    @property
    def shown(self) -> str:
        """Return the case as one can keep it in a file."""
        given = self.given.hex() if isinstance(self.given, bytes) else repr(self.given)
        return f"{self.message} {self.version} {given}"


@dataclass(frozen=True, slots=True)
class Difference:
    """A case to which the two codecs have different answers."""

    case: Case
    kafka: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.case.shown}\n  Kafka: {self.kafka}\n  ours:  {self.ours}"


class CodecOracle:
    """Asks the releases, each in a JVM of its own that starts when it is needed."""

    def __init__(self) -> None:
        self._lines: dict[str, JavaLines] = {}
        self._releases: dict[tuple[str, int], str] = {}

    def ask(self, release: str, questions: Sequence[Any]) -> list[Any]:
        """Return a release's answers to the questions that CodecOracle.java lists.

        Raises:
            Unavailable: this machine cannot have the release.
        """
        if release not in self._lines:
            found = jars(release, ORACLES / "codec")
            self._lines[release] = JavaLines(found, "CodecOracle")
        answers: list[Any] = self._lines[release].ask(questions)
        return answers

    def release_of(self, name: str, version: int) -> str:
        """Return the release that is the judge of a message in a version.

        Raises:
            LookupError: none of them has the version.
        """
        if (name, version) not in self._releases:
            self._releases[name, version] = self._found_release(name, version)
        return self._releases[name, version]

    def differences(self, cases: Sequence[Case]) -> list[Difference]:
        """Return the cases, all of one message and version, that are answered differently.

        Values in a field that came with a later release are judged by the last one; where that has
        not got the version any more, by nobody.
        """
        release = self.release_of(cases[0].message, cases[0].version)
        answers = self._judge(release, cases)
        if any(_is_later(answer) for answer in answers):
            later = self._judge(RELEASES[-1], cases)
            lowest, _ = self._range(RELEASES[-1], cases[0].message)
            judged = cases[0].version >= lowest
            answers = [
                (two if judged else None) if _is_later(one) else one
                for one, two in zip(answers, later, strict=True)
            ]
        found = []
        for case, answer in zip(cases, answers, strict=True):
            kafka, ours = _kafkas(answer), outcome(case)
            if answer is not None and kafka != ours:
                found.append(Difference(case, answer, ours))
        return found

    def _judge(self, release: str, cases: Sequence[Case]) -> list[Any]:
        questions = [_question(case) for case in cases]
        names = RENAMED_IN_4_4.get(cases[0].message)
        if names is None or release != RELEASES[-1]:
            return self.ask(release, questions)
        ours, kafkas = names
        answers = self.ask(release, renamed(questions, ours, kafkas))
        found: list[Any] = renamed(answers, kafkas, ours)
        return found

    def close(self) -> None:
        """End the JVMs."""
        for lines in self._lines.values():
            lines.close()

    def _found_release(self, name: str, version: int) -> str:
        for release in RELEASES:
            if release.startswith("3.") and name in NEWER_THAN_3_9:
                continue
            lowest, highest = self._range(release, name)
            if lowest <= version <= highest:
                return release
        raise LookupError(f"{name} {version}: none of {', '.join(RELEASES)}")

    def _range(self, release: str, name: str) -> tuple[int, int]:
        [answer] = self.ask(release, [("versions", java_class(name))])
        return answer[0], answer[1]


def renamed(value: Any, old: str, new: str) -> Any:
    """Return a value with another key of a dictionary in it."""
    if isinstance(value, dict):
        return {new if key == old else key: renamed(item, old, new) for key, item in value.items()}
    return [renamed(item, old, new) for item in value] if isinstance(value, list | tuple) else value


def outcome(case: Case) -> Any:
    """Return what our codec makes of a case, in the form in which answers are compared."""
    kind = message_class(case.message)
    if isinstance(case.given, bytes):
        try:
            message, end = kind.decode(case.given, 0, case.version)
        except Malformed:
            return REFUSED
        again = _encoded(message, case.version)
        return {"end": end, "values": java_values(message), "again": again}
    assert isinstance(case.given, kind)
    return _encoded(case.given, case.version)


def java_class(name: str) -> str:
    """Return the name of Kafka's class."""
    return name if name.startswith("ConsumerProtocol") else f"{name}Data"


def java_values(record: Record, *, every: bool = False) -> dict[str, Any]:
    """Return the fields that differ from their defaults, or every one, as Java's side does."""
    kind = type(record)
    default = _default(kind)
    found = {}
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if name == "unknown_tags":
            if value:
                found["_tags"] = [[tag, data.hex()] for tag, data in value]
        elif every or _differs(value, getattr(default, name)) or _is_records(name, value):
            found[java_name(kind, name)] = _java_value(value)
    return found


def java_fields(node: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Return the same of a dictionary, which has fields of the struct that the tree reads."""
    nodes = {part.name: part.subcon for part in node.subcons}
    if node.tags is not None:
        nodes |= {field.name: field.node for field in node.tags.known}
    found: dict[str, Any] = {}
    for name, field in nodes.items():
        value, default = values.get(name, node.defaults[name]), node.defaults[name]
        shown = _java_item(field, value)
        is_other = shown != _java_item(field, default) or (value is None) is not (default is None)
        if is_other or _is_records(name, value):
            found[java_name(Record, name)] = shown
    if unknown := values.get("unknown_tags"):
        found["_tags"] = [[tag, data.hex()] for tag, data in unknown]
    return found


def _java_item(node: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return java_fields(getattr(node, "record", node), value)
    if isinstance(value, list | tuple):
        return [_java_item(node.element, item) for item in value]
    return _java_value(value)


def _is_records(name: str, value: Any) -> bool:
    """Say whether a value is one of Kafka's type records, whose default is null in all classes."""
    return name == "records" and isinstance(value, bytes)


def _differs(value: Any, default: Any) -> bool:
    """Say whether Java's side tells a value; minus zero is another number there."""
    return value != default or (isinstance(value, float) and _java_value(value) != _ZERO)


def java_name(kind: type[Record], name: str) -> str:
    """Return Kafka's name of a field, as its classes write it."""
    if name in _JAVA_NAMES and kind.__name__ == "RequestHeader":
        return _JAVA_NAMES[name]
    if name == "kraft_version_feature":
        return "kRaftVersionFeature"
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _default(kind: type[Record]) -> Record:
    if kind not in _DEFAULTS:
        _DEFAULTS[kind] = kind()
    return _DEFAULTS[kind]


def _java_value(value: Any) -> Any:
    if isinstance(value, Record):
        return java_values(value)
    if isinstance(value, tuple):
        return [_java_value(item) for item in value]
    if isinstance(value, float):
        return pack(">d", value).hex()
    return value.hex() if isinstance(value, bytes) else value


def _encoded(message: Message, version: int) -> str:
    try:
        return message.encode(version).hex()
    except Unencodable:
        return REFUSED


def _question(case: Case) -> Any:
    if isinstance(case.given, bytes):
        return "decode", java_class(case.message), case.version, case.given.hex()
    return "encode", java_class(case.message), case.version, java_values(case.given)


def _is_later(answer: Any) -> bool:
    """Say whether values name a field that the release does not have."""
    return isinstance(answer, dict) and ".IllegalArgumentException: no field " in str(answer)


def _kafkas(answer: Any) -> Any:
    """Return Kafka's answer without its reasons for refusing."""
    if not isinstance(answer, dict):
        return answer
    if "refused" in answer:
        return REFUSED
    if isinstance(answer["again"], dict):
        return answer | {"again": REFUSED}
    return answer
