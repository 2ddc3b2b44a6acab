"""The pipeline on the log that a real broker wrote: each line counts, and says what it says.

The broker logs through log4j as Kafka's distribution does. The lines are read again here, one by
one, by an expression that knows nothing of the pipeline; and every decision is made again by the
evaluator, from the ACLs that kafka-acls.sh listed. Which of them are used, and which are decisive,
is found once more by a walk over all of them for each request.
"""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from doorkeeper.acls.decision import Policy, Question
from doorkeeper.acls.formats import choosing
from doorkeeper.acls.model import AclOperation, ResourceType
from doorkeeper_pipeline.evaluation.literals import bindings_of
from doorkeeper_pipeline.tables import delta
from synthetic.deciding import Acls
from testkit.kafka_broker import KafkaBroker, authorizer_log_options
from testkit.kafka_jars import jars, logging_by_log4j
from testkit.kafka_tools import KafkaTools
from testkit.load import scaled
from testkit.or_skip import or_skip
from testkit.reference import applies, covers

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.acls.model import AclBinding

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

LINE = re.compile(
    r"\[([\d-]+ \d\d:\d\d):[\d,]+\] [A-Z]+ Principal = (\S+) is (Allowed|Denied) operation = (\w+)"
    r" from host = (\S+) on resource = (\w+):LITERAL:(.*) for request = (\w+)"
    r" with resourceRefCount = (\d+) based on rule (.*) \(kafka\.authorizer\.logger\)"
)
KINDS = {
    "Cluster": "CLUSTER",
    "Topic": "TOPIC",
    "Group": "GROUP",
    "TransactionalId": "TRANSACTIONAL_ID",
}
GRANTS = (
    "--allow-principal User:alice --operation Read --operation Write --topic orders",
    "--allow-principal User:alice --operation All --topic pay --resource-pattern-type prefixed",
    "--deny-principal User:bob --operation Read --topic orders",
    "--allow-principal User:* --operation Describe --topic *",
    "--allow-principal User:alice --operation Read --group readers",
)
POLICY = Policy(super_users=frozenset({"User:ANONYMOUS", "User:admin"}))
ASKED = (
    "--topic orders --partitions 1",
    "--topic payments --partitions 1",
    "--topic hidden --partitions 1",
)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Give the log of a broker that real clients have used, and its list of ACLs."""
    folder = tmp_path_factory.mktemp("broker")
    file = folder / "kafka-authorizer.log"
    release = or_skip(lambda: logging_by_log4j(jars("4.3.1")))
    users = {"alice": "alice-secret", "bob": "bob-secret", "admin": "admin-secret"}
    broker = KafkaBroker(
        release,
        users=users,
        overrides={},
        options=authorizer_log_options(file),
    )
    try:
        broker.start()
        listed = use(broker, KafkaTools(jars("4.3.1")))
    finally:
        # While it runs it writes on, of its own heartbeats.
        broker.stop()
    return file, listed


def use(broker: KafkaBroker, tools: KafkaTools) -> str:
    """Make topics and ACLs, use them as several principals; return what kafka-acls.sh lists."""
    plain = f"localhost:{broker.plain_port}"

    def run(tool: str, line: str) -> str:
        done = tools.run(tool, "--bootstrap-server", plain, *line.split())
        assert done.status == 0, done
        return done.stdout

    try:
        for topic in ASKED:
            run("kafka-topics", f"--create {topic}")
        for grant in GRANTS:
            run("kafka-acls", f"--add {grant}")
        for user in ("alice", "bob", "admin"):
            for topic in ("orders", "payments", "hidden"):
                one_user(f"localhost:{broker.sasl_port}", user, topic)
        return run("kafka-acls", "--list")
    finally:
        tools.close()


def one_user(address: str, user: str, topic: str) -> None:
    """Write to a topic, read from it in a group, and ask about it; most of it is refused."""
    with warnings.catch_warnings():
        # kafka-python reads its own schemas the old way.
        warnings.simplefilter("ignore")
        from kafka import KafkaConsumer, KafkaProducer
        from kafka.admin import KafkaAdminClient, NewTopic
        from kafka.errors import KafkaError
    login: dict[str, Any] = {
        "bootstrap_servers": address,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": user,
        "sasl_plain_password": f"{user}-secret",
    }
    producer = KafkaProducer(**login, max_block_ms=5_000, acks=1, retries=0)
    for number in range(3):
        with suppress(KafkaError):
            producer.send(topic, b"%d" % number).get(timeout=scaled(5))
    producer.close(timeout=2)
    consumer = KafkaConsumer(
        topic, **login, group_id="readers", auto_offset_reset="earliest", consumer_timeout_ms=500
    )
    with suppress(KafkaError):
        for _ in consumer:
            pass
    consumer.close(autocommit=False)
    admin = KafkaAdminClient(**login)
    with suppress(KafkaError):
        admin.describe_topics([topic])
    with suppress(KafkaError):
        admin.create_topics([NewTopic(f"{user}-new", 1, 1)])
    admin.close()


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_tables_match_the_log(log: tuple[Path, str], tmp_path: Path, engine: str) -> None:
    file, listed = log
    read = [LINE.fullmatch(line) for line in file.read_text().splitlines()]
    assert None not in read
    expected = Counter(found.groups() for found in read if found)
    assert len(expected) > 30
    assert {outcome for _, _, outcome, *_ in expected} == {"Allowed", "Denied"}

    acls, out = tmp_path / "acls.txt", tmp_path / "out"
    acls.write_text(listed)
    command = [sys.executable, "-m", "doorkeeper_pipeline", "run", "--engine", engine]
    words = ["--log", str(file), "--acls", str(acls), "--tables", str(out)]
    for principal in sorted(POLICY.super_users):
        words += ["--super-user", principal]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "100% agree with the" in done.stdout
    assert "the history is" in done.stdout  # so no removal is recommended
    table = decisions_of(out)
    found: Counter[tuple[str, ...]] = Counter()
    for row in table.iter_rows(named=True):
        found[row["minute"], row["principal"], row["outcome"], row["operation"], row["host"],
              row["resource_type"], row["resource_name"], row["api"]] += row["count"]  # fmt: skip
    lines: Counter[tuple[str, ...]] = Counter()
    for (minute, who, outcome, operation, host, kind, name, api, _, _), count in expected.items():
        key = (minute, who, outcome.upper(), operation, host, KINDS[kind], name, api)
        lines[key] += count
    assert {k: v for k, v in lines.items() if found.get(k) != v} == {}
    assert found == lines
    assert usage_of(out) == usage_by_walk(listed, lines)


def usage_of(out: Path) -> dict[AclBinding, tuple[int, bool]]:
    """Return how often each grant was used, and whether it was decisive, by the tables."""
    table = delta.Tables(out).read("grant_usage")
    rows = zip(table["uses"], table["decisive"], strict=True)
    return dict(zip(bindings_of(table), rows, strict=True))


def usage_by_walk(
    listed: str, lines: Counter[tuple[str, ...]]
) -> dict[AclBinding, tuple[int, bool]]:
    """Return the same by trying each request without each grant."""
    bindings = sorted(set(choosing.read(listed, name="acls.txt")))
    acls = Acls(bindings, POLICY)
    uses: Counter[AclBinding] = Counter()
    decisive: set[AclBinding] = set()
    without = {each: Acls(set(bindings) - {each}, POLICY) for each in bindings}
    for (_, who, _, operation, host, kind, name, _), count in lines.items():
        question = Question(who, host, AclOperation[operation], ResourceType[kind], name)
        decided = acls.decide(question)
        side = decided.binding and decided.binding.entry.permission_type
        for each in bindings:
            is_about = covers(each, question) and applies(each, question)
            uses[each] += count * (is_about and each.entry.permission_type is side)
            if without[each].allows(question) is not decided.allowed:
                decisive.add(each)
    return {each: (uses[each], each in decisive) for each in bindings}


def decisions_of(out: Path) -> pl.DataFrame:
    table = delta.Tables(out).read("decisions")
    return table.with_columns(pl.col("minute").dt.strftime("%Y-%m-%d %H:%M"))
