"""kafka-acls.sh of both releases says the same of a real broker and of us, and exits the same."""

from pathlib import Path

from testkit.kafka_acls_commands import LINES
from testkit.kafka_tools import KafkaTools
from testkit.oracle_totals import Totals
from testkit.pairs import Pair
from testkit.side_by_side import unequal
from testkit.tool_texts import said, where


def test_every_command(tools: KafkaTools, pair: Pair, totals: Totals, tmp_path: Path) -> None:
    """Each command line leaves the same text and the same exit status."""
    pair.clear()
    differences = []
    for line in LINES:
        who, *words = line.split()
        both = []
        for side in (pair.reference, pair.ours):
            done = tools.run("kafka-acls", *where(side, who, tmp_path), *words)
            both.append(said(done, tmp_path))
            side.settle()
        name = f"commands of kafka-acls.sh {tools.version} with a broker {pair.version}"
        totals.compared[name] += 1
        if both[0] != both[1]:
            differences += [line, *unequal("", list(both[0]), list(both[1]))]
    assert not differences, "\n".join(differences)
