"""Writes messages.json: bytes of every message in every version, made by encoders not ours.

    make vectors

Needs a JDK, and Maven to fetch kafka-clients of three releases once. Each vector has the values,
the bytes, and the origin: the encoders that made exactly these bytes. One that made others stops
the script. The values are drawn from the declared trees by a fixed rule, not by chance.

Also writes java_decoding.json: damaged messages, and what Kafka's own decoders make of them (null
where they refuse); and java_text.json: byte sequences, well and badly formed, and the text that
Java reads. The first release is the reference; the others fill what it does not have.
"""

import base64
import itertools
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from construct import Bytes, Renamed

sys.path.insert(0, str(Path(__file__).parents[2] / "protocol"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from doorkeeper_wire.declared import tree
from doorkeeper_wire.declared.nodes import (
    Array,
    NullableRecord,
    Octets,
    Record,
)
from testkit.kafka_jars import ORACLES, jars
from testkit.oracle_codec import RELEASES
from testkit.wire_values import Filling, message_versions
from vectors.others import kafka_python_bytes, kio_bytes

HERE = Path(__file__).parent

_NAME_IN_4_4 = "generation_id_or_member_epoch"
"""The name of `generation_id` in TxnOffsetCommit from Kafka 4.4 on."""


def vectors(javas: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the vectors.

    Raises:
        SystemExit: when two encoders disagree.
    """
    cases = [
        (name, version, Filling(sparse=sparse).record(tree(name, version)))
        for name, version in message_versions(of_kafka=True)
        for sparse in (False, True)
    ]
    columns = {
        "kio 0.6.5": [kio_bytes(*case) for case in cases],
        "kafka-python 3.0.12": [kafka_python_bytes(*case) for case in cases],
    }
    for release, classpath in javas.items():
        columns[f"kafka-clients {release}"] = java_bytes(classpath, cases)
    for row, (name, version, values) in enumerate(cases):
        found = {
            origin: column[row] for origin, column in columns.items() if column[row] is not None
        }
        if len(set(found.values())) > 1:
            sys.exit(f"{name} {version} {values}: the encoders disagree: {found}")
        if not found:
            sys.exit(f"{name} {version}: nobody encodes {values}")
        yield {
            "message": name,
            "version": version,
            "origin": list(found),
            "values": jsonable(values),
            "bytes": next(iter(found.values())),
        }


def damaged(row: dict[str, Any]) -> Iterator[bytes]:
    """Yield damaged forms of a vector's bytes: cut, changed, and with hostile lengths put in."""
    data = bytes.fromhex(row["bytes"])
    chance = random.Random(f"{row['message']} {row['version']}")
    for _ in range(4):
        yield data[: chance.randrange(len(data) + 1)]
    for _ in range(8):
        place = chance.randrange(len(data) + 1)
        yield data[:place] + chance.choice(_HOSTILE) + data[place + 1 :] + data[:4]


_HOSTILE = [
    bytes.fromhex(text)
    for text in (
        *("00", "01", "7f", "80", "ff", "fe", "8000", "808000", "8080808000", "ffffffff0f"),
        *("ffffffff07", "8080808008", "8180808008", "ffff", "ffffffff", "fffffffe", "7fffffff"),
        *(
            "8080808070",
            "ffffffff7f",
            "808080808000",
            "0200000401ff",
            "0105010a",
            "edA080",
            "020000",
        ),
    )
]


_NEGATIVE = [bytes.fromhex(text) for text in ("ffffffff0f", "8080808008", "8180808008")]


def decodings(rows: list[dict[str, Any]], javas: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield what Kafka's decoders make of damaged messages, each by the newest that can."""
    cases = [
        (row["message"], row["version"], data)
        for row in rows
        if 0 < len(row["bytes"]) < 400
        for data in damaged(row)
    ]
    lines = "".join(f"{java_class(name)} {version} {data.hex()}\n" for name, version, data in cases)
    columns = {
        release: java_answers("Decode", classpath, lines) for release, classpath in javas.items()
    }
    for index, (name, version, data) in enumerate(cases):
        release, answer = next(
            (release, column[index])
            for release, column in columns.items()
            if column[index] != "absent"
        )
        end, _, values = answer.partition(" ")
        if release == "4.4.0" and any(varint in data for varint in _NEGATIVE):
            # It refuses a negative number of tagged fields; 4.3.1 reads none, and so does ours.
            continue
        yield {
            "message": name,
            "version": version,
            "bytes": data.hex(),
            "origin": f"kafka-clients {release}",
            "end": None if end == "refused" else int(end),
            "values": json.loads(values.replace(camel(_NAME_IN_4_4), "generationId") or "null")
            if name == "TxnOffsetCommitRequest"
            else json.loads(values or "null"),
        }


def java_answers(program: str, classpath: str, lines: str) -> list[str]:
    """Compile one of the programs, give it the lines, and return its answers."""
    with tempfile.TemporaryDirectory() as classes:
        source = str(HERE / "java" / f"{program}.java")
        subprocess.run(["javac", "-cp", classpath, "-d", classes, source], check=True)
        command = ["java", "-Dfile.encoding=UTF-8", "-cp", f"{classpath}:{classes}", program]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def java_bytes(classpath: str, cases: list[tuple[str, int, dict[str, Any]]]) -> list[str | None]:
    """Return the bytes that Kafka's own classes make, as hex; None where there is no version."""
    lines = "".join(
        f"{java_class(name)} {version} {json.dumps(java_values(name, version, values))}\n"
        for name, version, values in cases
    )
    answers = java_answers("Encode", classpath, lines)
    return [None if answer.startswith(("absent", "refused")) else answer for answer in answers]


def java_texts() -> list[dict[str, str]]:
    """Return byte sequences around every border of UTF-8, and what Java reads, as code points."""
    border = bytes.fromhex("287f808f909fa0bfc0c1c2dfe0ede1eff0f1f4f5ff")
    short = [bytes(cut) for size in (1, 2) for cut in itertools.product(border, repeat=size)]
    long = [bytes(cut) for cut in itertools.product(b"\xe0\xed\xef\xf0\xf4", border, border)]
    four = [
        bytes(cut)
        for cut in itertools.product(b"\xed\xf0\xf4", b"\x8f\x90\xa0\xbf", b"(\x80\xed", border)
    ]
    cases = [*short, *long, *four, bytes.fromhex("eda0bdedb880"), "é€😀".encode()]
    answers = java_answers("Text", ".", "".join(f"{case.hex()}\n" for case in cases))
    return [
        {"bytes": case.hex(), "points": answer} for case, answer in zip(cases, answers, strict=True)
    ]


def java_class(name: str) -> str:
    """Return the name of Kafka's class."""
    return name if name.startswith("ConsumerProtocol") else f"{name}Data"


def java_values(  # noqa: PLR0911 - one return a kind
    name: str, version: int, values: Any, node: Any = None
) -> Any:
    """Return the values as Kafka's JSON converters read them."""
    node = node or tree(name, version)
    match node:
        case Renamed():
            return java_values(name, version, values, node.subcon)
        case Record():
            nodes = {part.name: part.subcon for part in node.subcons}
            if node.tags is not None:
                nodes |= {field.name: field.node for field in node.tags.known}
            return {
                camel(java_name(name, version, key)): java_values(name, version, value, nodes[key])
                for key, value in values.items()
            }
        case NullableRecord():
            return None if values is None else java_values(name, version, values, node.record)
        case Array() if values is not None:
            return [java_values(name, version, item, node.element) for item in values]
        case Bytes():
            return base64.urlsafe_b64encode(values).decode().rstrip("=")
        case Octets() if values is not None:
            return base64.b64encode(values).decode()
        case _:
            return values


def java_name(message: str, version: int, field: str) -> str:
    """Return Kafka's name of a field; ours differs in the request header."""
    if (message, version, field) == ("TxnOffsetCommitRequest", 6, "generation_id"):
        return _NAME_IN_4_4
    return f"request_{field}" if message == "RequestHeader" and "api" in field else field


def camel(name: str) -> str:
    """Return a name as Java writes it."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def jsonable(value: Any) -> Any:
    """Return a value with its bytes as {"hex": ...}."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, dict):
        return {key: jsonable(item) for key, item in value.items()}
    return [jsonable(item) for item in value] if isinstance(value, list) else value


def main() -> None:
    """Write the files."""
    javas = {release: f"{jars(release, ORACLES / 'codec').lib}/*" for release in RELEASES}
    messages = list(vectors(javas))
    files = {
        "messages": messages,
        "java_decoding": list(decodings(messages, javas)),
        "java_text": java_texts(),
    }
    for name, rows in files.items():
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        (HERE / f"{name}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
