"""kafka-configs.sh says the same of a real broker's users and of ours, and exits the same."""

from pathlib import Path

from testkit.kafka_tools import KafkaTools
from testkit.oracle_totals import Totals
from testkit.pairs import Pair
from testkit.side_by_side import unequal
from testkit.tool_texts import said, where

ALICE = "--entity-type users --entity-name alice"
PASSWORD = "password=alice-secret"

LINES: tuple[str, ...] = (
    # as Kafka's security documentation prints them
    f"- --alter --add-config SCRAM-SHA-256=[iterations=8192,{PASSWORD}] {ALICE}",
    f"- --alter --add-config SCRAM-SHA-512=[{PASSWORD}] {ALICE}",
    f"- --describe {ALICE}",
    f"- --alter --delete-config SCRAM-SHA-512 {ALICE}",
    f"- --describe {ALICE}",
    # of everybody, of somebody else, of the default user
    "- --describe --entity-type users",
    f"- --alter --add-config SCRAM-SHA-512=[{PASSWORD}] --entity-type users --entity-name bob",
    "- --describe --entity-type users --all",
    "- --describe --entity-type users --entity-name nobody",
    "- --describe --entity-type users --entity-default",
    "- --describe --user alice",
    # wrong
    f"- --alter --delete-config SCRAM-SHA-512 {ALICE}",
    f"- --alter --delete-config SCRAM-SHA-256,SCRAM-SHA-512 {ALICE}",
    f"- --alter --add-config SCRAM-SHA-256=[{PASSWORD}],SCRAM-SHA-512=[{PASSWORD}] {ALICE}",
    f"- --alter --add-config SCRAM-SHA-256=[iterations=4095,{PASSWORD}] {ALICE}",
    f"- --alter --add-config SCRAM-SHA-256=[iterations=16385,{PASSWORD}] {ALICE}",
    f"- --alter --add-config SCRAM-SHA-256=[iterations=16384,{PASSWORD}] {ALICE}",
    f"- --alter --add-config SCRAM-SHA-1=[{PASSWORD}] {ALICE}",
    f"- --alter --add-config SCRAM-SHA-256={PASSWORD} {ALICE}",
    "- --alter --delete-config SCRAM-SHA-256 --entity-type users --entity-default",
    # quotas
    f"- --alter --add-config producer_byte_rate=1024,request_percentage=50 {ALICE}",
    "- --alter --add-config consumer_byte_rate=2048 --entity-type clients --entity-default",
    f"- --alter --add-config producer_byte_rate=10 {ALICE} --entity-type clients --entity-name c",
    "- --alter --add-config connection_creation_rate=5 --entity-type ips --entity-name 10.0.0.1",
    f"- --describe {ALICE}",
    "- --describe --entity-type users",
    "- --describe --entity-type clients",
    "- --describe --entity-type users --entity-type clients",
    "- --describe --entity-type ips",
    f"- --alter --add-config producer_byte_rate=0 {ALICE}",
    f"- --alter --delete-config producer_byte_rate,request_percentage {ALICE}",
    "- --alter --delete-config consumer_byte_rate --entity-type clients --entity-default",
    f"- --alter --delete-config producer_byte_rate {ALICE} --entity-type clients --entity-name c",
    "- --alter --delete-config connection_creation_rate --entity-type ips --entity-name 10.0.0.1",
    f"- --describe {ALICE}",
    # who may
    f"bob --describe {ALICE}",
    f"bob --alter --add-config SCRAM-SHA-256=[{PASSWORD}] {ALICE}",
    f"bob --alter --delete-config SCRAM-SHA-256 {ALICE}",
    f"admin --describe {ALICE}",
    f"admin --alter --delete-config SCRAM-SHA-256 {ALICE}",
    "admin --describe --entity-type users",
)
"""They are run in order over one state; a line begins with who runs it, ``-`` for a super user."""


def ordered(
    texts: tuple[int, list[list[str]], list[list[str]]],
) -> tuple[int, list[list[str]], list[list[str]]]:
    """Return the texts with what is listed in one order: a broker's is that of its hash tables."""
    status, stdout, stderr = texts

    def in_order(line: str) -> str:
        head, are, listed = line.partition(" are ")
        return f"{head}{are}{', '.join(sorted(listed.split(', ')))}"

    return status, [sorted(map(in_order, block)) for block in stdout], stderr


def test_every_command(tools: KafkaTools, pair: Pair, totals: Totals, tmp_path: Path) -> None:
    """Each command line leaves the same text and the same exit status."""
    pair.clear()
    differences = []
    for line in LINES:
        who, *words = line.split()
        both = []
        for side in (pair.reference, pair.ours):
            done = tools.run("kafka-configs", *where(side, who, tmp_path), *words)
            both.append(ordered(said(done, tmp_path)))
            side.settle()
        totals.compared[f"commands of kafka-configs.sh {tools.version} for users"] += 1
        if both[0] != both[1]:
            differences += [line, *unequal("", list(both[0]), list(both[1]))]
    assert not differences, "\n".join(differences)
