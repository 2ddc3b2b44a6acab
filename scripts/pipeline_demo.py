"""Show the whole way: traffic at a running Doorkeeper, its audit log, the tables, the report.

Several principals log in with a real client and do their work; some of it is refused. It ends with
the address of a page for a browser.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kafka.admin import (
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    NewTopic,
    ResourcePatternFilter,
    ResourceType,
)
from kafka.errors import KafkaError

from doorkeeper.acls.formats import choosing
from doorkeeper.testing import DoorkeeperProcess

if TYPE_CHECKING:
    from collections.abc import Callable

PEOPLE = ("admin", "orders", "billing", "analyst", "intruder")
TOPICS = ("orders.placed", "orders.paid", "billing.invoices", "billing.refunds")
ACLS = """\
KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host
User:orders,TOPIC,PREFIXED,orders.,ALL,ALLOW,*
User:billing,TOPIC,PREFIXED,billing.,ALL,ALLOW,*
User:billing,TOPIC,LITERAL,orders.paid,READ,ALLOW,*
User:analyst,TOPIC,LITERAL,*,DESCRIBE,ALLOW,*
User:analyst,TOPIC,LITERAL,*,DESCRIBE_CONFIGS,ALLOW,*
User:analyst,TOPIC,LITERAL,billing.refunds,ALL,DENY,*
User:orders,TOPIC,PREFIXED,legacy.,ALL,ALLOW,*
User:billing,CLUSTER,LITERAL,kafka-cluster,DESCRIBE,ALLOW,*
User:*,GROUP,LITERAL,*,DESCRIBE,ALLOW,*
"""
EVERY_ACL = ACLFilter(
    None,
    "*",
    ACLOperation.ANY,
    ACLPermissionType.ANY,
    ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY),
)


def main() -> None:
    """Do it all in a folder; the report is the last line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/pipeline-demo"))
    parser.add_argument("--engine", choices=("spark", "local"), default="local")
    asked = parser.parse_args()
    folder = asked.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    acls = folder / "acls.csv"
    acls.write_text(ACLS, encoding="utf-8")
    trail = folder / "audit"
    say(f"a Doorkeeper with {len(PEOPLE)} users, its audit log in {trail}")
    with DoorkeeperProcess(
        users={name: f"{name}-secret" for name in PEOPLE},
        super_users=("User:admin",),
        acls=choosing.read(ACLS, name=acls.name),
        properties={"doorkeeper.audit.dir": str(trail), "doorkeeper.audit.file.ms": "1000"},
    ) as server:
        refused = traffic(server)
        say(f"{refused} requests were refused")
    tables = folder / "tables"
    page = folder / "report.html"
    common = (
        *("--engine", asked.engine, "--super-user", "User:admin", "--tables", str(tables)),
        # The history of this demonstration is seconds long.
        *("--min-days", "0"),
    )
    pipeline("run", "--log", str(trail), "--acls", str(acls), *common)
    pipeline(
        *("propose", "--out", str(folder / "proposal.yaml")),
        *("--changes", str(folder / "proposal.sh"), *common),
    )
    pipeline("report", "--tables", str(tables), "--out", str(page), "--title", "pipeline-demo")
    say(f"open {page.as_uri()}")


def traffic(server: DoorkeeperProcess) -> int:
    """Have everybody do their work, some of which they may not do; return what was refused."""
    refused = 0
    for name in PEOPLE:
        config = server.client_config(name, mechanism="SCRAM-SHA-512").kafka_python()
        client = KafkaAdminClient(**config)
        for work in work_of(name, client):
            try:
                work()
            except KafkaError:
                refused += 1
        client.close()
    return refused


def work_of(name: str, client: KafkaAdminClient) -> list[Callable[[], object]]:
    """Return what somebody does; everybody looks around, only some of it is allowed."""
    look: list[Callable[[], object]] = [
        client.list_topics,
        client.list_groups,
        lambda: client.describe_topics(list(TOPICS)),
        lambda: client.describe_acls(EVERY_ACL),
    ]
    create: list[Callable[[], object]] = [
        lambda topic=topic: client.create_topics([NewTopic(topic, 1, 1)])  # type: ignore[misc]
        for topic in TOPICS
        if name == "admin" or topic.startswith((f"{name}.", "billing.refunds"))
    ]
    return create + look * 3


def pipeline(*arguments: str) -> None:
    """Call doorkeeper-pipeline."""
    say("doorkeeper-pipeline " + " ".join(arguments))
    subprocess.run([sys.executable, "-m", "doorkeeper_pipeline", *arguments], check=True)


def say(text: str) -> None:
    """Tell what is being done."""
    sys.stdout.write(f"pipeline-demo: {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
