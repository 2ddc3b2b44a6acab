"""Topics of a real broker as inputs: both engines read each committed record once.

The log lines are written by Kafka's own producer in every compression, and by transactions that are
committed or aborted.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaProducer

from doorkeeper_pipeline.tables import delta
from testkit.certificates import PASSWORD, trust_store, world
from testkit.kafka_broker import KafkaBroker
from testkit.kafka_jars import jars
from testkit.kafka_tools import KafkaTools
from testkit.load import scaled
from testkit.or_skip import or_skip
from testkit.pipeline_runs import silver_and_gold
from testkit.spark_cluster import kill_session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.slow]

TOPIC = "audit-lines"
TO_FOLLOW = "followed-lines"
PARTITIONS = 3
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
EACH = 400
SECRET = "reader-secret"
SPARK = ("--master", "local[2]")
PATIENCE_S = 300.0


def line(name: str, number: int) -> str:
    """Return a line of kafka-authorizer.log."""
    time_of = f"2026-11-22 {number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02},000"
    return (
        f"[{time_of}] INFO Principal = User:alice is Denied operation = READ from host = 10.0.0.7"
        f" on resource = Topic:LITERAL:{name} for request = Fetch with resourceRefCount = 1"
        " based on rule DefaultDeny (kafka.authorizer.logger)"
    )


class Site:
    """A broker, its tools, and a file with the properties of a user who may read."""

    def __init__(self, broker: KafkaBroker, tools: KafkaTools, folder: Path) -> None:
        """Create the topic and the ACL."""
        self.broker = broker
        self.address = f"kafka://localhost:{broker.sasl_port}/{TOPIC}"
        self.config = folder / "reader.properties"
        trusted = trust_store(folder / "trusted.p12", "PKCS12", world().authority)
        self.config.write_text(
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
            f"ssl.truststore.location={trusted}\nssl.truststore.type=PKCS12\n"
            f"ssl.truststore.password={PASSWORD}\n"
            "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required"
            f' username="reader" password="{SECRET}";\n'
        )
        self._tools = tools
        self.create(TOPIC)

    def create(self, topic: str) -> None:
        """Create a topic that the reader may read."""
        self.tool("kafka-topics", f"--create --topic {topic} --partitions {PARTITIONS}")
        self.tool(
            "kafka-acls", f"--add --allow-principal User:reader --operation Read --topic {topic}"
        )

    def tool(self, name: str, words: str) -> str:
        """Run a tool of Kafka's."""
        plain = f"localhost:{self.broker.plain_port}"
        done = self._tools.run(name, "--bootstrap-server", plain, *words.split())
        assert done.status == 0, done
        return done.stdout

    def produce(self, compression: str, lines: list[str], topic: str = TOPIC) -> None:
        """Write lines by Kafka's own producer."""
        command = ["java", "-cp", jars("4.3.1").classpath, "org.apache.kafka.tools.ConsoleProducer"]
        command += ["--bootstrap-server", f"localhost:{self.broker.plain_port}", "--topic", topic]
        command += ["--compression-codec", compression]
        text = "".join(f"{each}\n" for each in lines)
        subprocess.run(
            command, input=text, text=True, check=True, capture_output=True, timeout=scaled(120)
        )

    def transaction(self, lines: list[str], topic: str = TOPIC, *, commits: bool = True) -> None:
        """Write lines in a transaction."""
        settings = {"bootstrap_servers": f"localhost:{self.broker.plain_port}"}
        with closing(KafkaProducer(**settings, transactional_id="writer")) as producer:
            producer.init_transactions()
            producer.begin_transaction()
            for number, each in enumerate(lines):
                producer.send(topic, each.encode(), partition=number % PARTITIONS)
            producer.flush()
            if commits:
                producer.commit_transaction()
            else:
                producer.abort_transaction()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Run a broker with a topic that has records of each kind."""
    release = or_skip(lambda: jars("4.3.1"))
    users = {"admin": "admin-secret", "reader": SECRET, "stranger": "stranger-secret"}
    folder = tmp_path_factory.mktemp("site")
    (folder / "server.p12").write_bytes(world().server.pkcs12())
    secure = {
        "listener.security.protocol.map": (
            "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL:SASL_SSL"
        ),
        "ssl.keystore.location": str(folder / "server.p12"),
        "ssl.keystore.password": PASSWORD,
    }
    broker = KafkaBroker(release, users=users, overrides=secure)
    tools = KafkaTools(release)
    try:
        broker.start()
        found = Site(broker, tools, folder)
        found.create(TO_FOLLOW)
        for compression in COMPRESSIONS:
            found.produce(compression, [line(compression, number) for number in range(EACH)])
        found.transaction([line("committed", number) for number in range(30)])
        found.transaction([line("aborted", number) for number in range(30)], commits=False)
        found.transaction([line("later", number) for number in range(30)])
        yield found
    finally:
        tools.close()
        broker.stop()


WANTED = Counter({**dict.fromkeys(COMPRESSIONS, EACH), "committed": 30, "later": 30})


def command(site: Site, out: Path, *options: str, address: str = "") -> list[str]:
    """Return the words of a run."""
    words = [sys.executable, "-m", "doorkeeper_pipeline", "run", "--output", "json", "--quiet"]
    words += ["--log", address or site.address, "--command-config", str(site.config)]
    return [*words, "--tables", str(out), *options]


def ran(
    site: Site, out: Path, *options: str, address: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    words = command(site, out, *options, address=address)
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=scaled(400))


def counts(out: Path) -> Counter[str]:
    """Return how often each name was refused."""
    rows = delta.Tables(out).read("decisions").select("resource_name", "count").rows()
    found: Counter[str] = Counter()
    for name, count in rows:
        found[name] += count
    return found


def test_both_engines(site: Site, tmp_path: Path) -> None:
    """Each committed record counts once, in every compression; the engines give the same rows."""
    events = tmp_path / "events"
    events.mkdir()
    kept = ("--conf", "spark.eventLog.enabled=true", "--conf", f"spark.eventLog.dir={events}")
    for name, options in (("local", ()), ("spark", (*SPARK, *kept))):
        done = ran(site, tmp_path / name, *options)

        assert done.returncode in (0, 4), done.stderr[-3000:]
        assert counts(tmp_path / name) == WANTED
        summary = json.loads(done.stdout)["run"]
        assert (summary["lines"], summary["quarantined"]) == (WANTED.total(), 0)
        assert SECRET not in done.stdout + done.stderr
    assert silver_and_gold(tmp_path / "local") == silver_and_gold(tmp_path / "spark")
    ranges = [
        delta.Tables(tmp_path / name).read("files").drop("run_id", "options").to_dicts()
        for name in ("local", "spark")
    ]
    assert ranges[0] == ranges[1]
    # Plans and settings are in the events; the password is in none, nor in a table.
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.is_relative_to(events) for path in files)
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_topic_errors(site: Site, tmp_path: Path, engine: str) -> None:
    options = SPARK if engine == "spark" else ()
    unknown = ran(site, tmp_path, *options, address=site.address.replace(TOPIC, "nothing"))
    no_broker = ran(site, tmp_path, *options, address=f"kafka://localhost:9/{TOPIC}")
    text = site.config.read_text()
    try:
        site.config.write_text(text.replace("reader", "stranger"))
        refused = ran(site, tmp_path, *options)
    finally:
        site.config.write_text(text)

    for done in (unknown, no_broker, refused):
        assert done.returncode == 3
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert "kafka://localhost:" in done.stderr
        assert "secret" not in done.stderr
    # To users who may not see it, a broker does not say whether a topic is there.
    assert "not authorized; READ and DESCRIBE on the topic are required" in unknown.stderr
    assert "not authorized; READ and DESCRIBE on the topic are required" in refused.stderr


@pytest.mark.timeout(7200)  # at the function: one of the module gives way to that of the folder
def test_killed_followers(
    site: Site, tmp_path: Path, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    """``run --follow`` is killed while records come in; then the engines take turns.

    Every other time the driver alone is killed, whose JVM lives on for a while. Of both every other
    one is killed before its first run has ended, the others in the next one, or shortly before or
    after.
    """
    drawn = random.Random(21)
    address = site.address.replace(TOPIC, TO_FOLLOW)
    words = [sys.executable, "-m", "doorkeeper_pipeline", "run", "--log", address]
    words += ["--command-config", str(site.config), "--tables", str(tmp_path)]
    wanted: Counter[str] = Counter()
    died = {"before": 0, "after": 0}
    usual_s = 0.0
    for number in range(pytestconfig.getoption("--spark-kills")):
        there = len(delta.Tables(tmp_path).read("runs"))
        with following([*words, *SPARK], tmp_path / "stderr") as process:
            name = f"followed-{number}"
            site.transaction([line(name, each) for each in range(50)], TO_FOLLOW)
            wanted[name] = 50
            if number % 4 < 2:
                usual_s = wait_for_run(process, tmp_path, there)
                site.transaction([line(name, each) for each in range(50, 100)], TO_FOLLOW)
                wanted[name] = 100
                time.sleep(drawn.uniform(0, 2))
            else:
                time.sleep(drawn.uniform(0, usual_s))
            assert process.poll() is None, (tmp_path / "stderr").read_text()[-3000:]
            if number % 2:
                process.kill()
                process.wait(scaled(30))
        died["after" if len(delta.Tables(tmp_path).read("runs")) > there else "before"] += 1
        # The tables can be read, and nothing is in them twice.
        assert counts(tmp_path) <= wanted

    for turn, engine in enumerate((SPARK, (), SPARK)):
        name = f"turn-{turn}"
        site.transaction([line(name, each) for each in range(50)], TO_FOLLOW)
        wanted[name] = 50
        done = subprocess.run(
            [*words, *engine], capture_output=True, text=True, check=False, timeout=400
        )
        assert done.returncode in (0, 4), done.stderr[-3000:]
        assert counts(tmp_path) == wanted
        assert SECRET not in done.stderr
    assert SECRET not in (tmp_path / "stderr").read_text()
    with capsys.disabled():
        killed = ", ".join(f"{count} {moment}" for moment, count in died.items())
        sys.stdout.write(f"\nfollowers killed {killed} a run of theirs\n")
    assert died["after"] > 0


@contextmanager
def following(words: list[str], stderr: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Follow the topic; at the end kill the driver with its JVM, if it was not killed before."""
    with stderr.open("ab") as told:
        process = subprocess.Popen(
            [*words, "--follow", "0.5"], start_new_session=True, stderr=told, stdout=told
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            kill_session(process)


def wait_for_run(process: subprocess.Popen[bytes], out: Path, there: int) -> float:
    """Wait until there are more runs than there were, or the process has ended; return the time."""
    begin_s = time.monotonic()
    deadline_s = begin_s + scaled(PATIENCE_S)
    while process.poll() is None and len(delta.Tables(out).read("runs")) <= there:
        assert time.monotonic() < deadline_s, "the follower stands still"
        time.sleep(0.05)
    return time.monotonic() - begin_s
