"""The shelf of learned roles (``examples/roles``), and a stage on which a program of it runs once.

Each run has names of its own: the values of the file's grant with a number behind. So every run is
a first one, which makes its internal topics, and the parameters of the role are tried as well.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import TopicAlreadyExistsError

from doorkeeper.acls.formats.choosing import Format, read
from doorkeeper.acls.model import (
    WILDCARD,
    AclOperation,
    ResourcePattern,
    ResourceType,
)
from testkit.acl import LITERAL, PREFIXED, allow
from testkit.kafka_jars import PROJECT
from testkit.kafka_target import USERS
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from doorkeeper.acls.model import AclBinding
    from testkit.kafka_target import Target

SHELF = PROJECT / "examples" / "roles"
LIMIT_S = 120
RESOURCE_WORDS = {
    ResourceType.TOPIC: "Topic",
    ResourceType.GROUP: "Group",
    ResourceType.TRANSACTIONAL_ID: "TransactionalId",
}
"""The words of the broker's log."""

_GRANT_WORDS = ("role", "principal")
LEARNER = "bob"
MAY_ALL = [
    allow(LEARNER, AclOperation.ALL, ResourcePattern(kind, WILDCARD, LITERAL))
    for kind in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
]
"""Everything but the cluster: where a broker asks that first, the question behind is learned."""


class NotDone(Exception):
    """A program has not done its work; the text says what was missing."""


class Program(NamedTuple):
    """How a program of the shelf is run, and the files that it needs: one for each cluster.

    ``run`` returns when the work is done. A program whose output has ``gives_up`` does nothing
    more. Names in ``fixed`` are the program's own.
    """

    run: Callable[[Stage], None]
    files: Sequence[str]
    gives_up: str = "no such text"
    fixed: Sequence[str] = ()


class Role(NamedTuple):
    """A file of the shelf."""

    document: Mapping[str, Any]

    @property
    def learned(self) -> Mapping[str, Any]:
        """What its head says: program, releases, work."""
        head: Mapping[str, Any] = self.document["x-learned"]
        return head

    def names(self) -> dict[str, str]:
        """Return the names that its grant gives to the parameters."""
        (grant,) = self.document["grants"]
        return {word: name for word, name in grant.items() if word not in _GRANT_WORDS}

    def bindings(self, principal: str, names: Mapping[str, str]) -> list[AclBinding]:
        """Return its ACLs for a principal, with other names."""
        (grant,) = self.document["grants"]
        own = {word: names[word] for word in self.names()}
        grants = [{**grant, **own, "principal": principal}]
        return list(read(json.dumps({**self.document, "grants": grants}), Format.JSON))

    def spared(self, names: Mapping[str, str]) -> set[str]:
        """Return what the program asks for and does without, as ``OPERATION TYPE name``."""
        texts = self.learned.get("spared", ())
        return {re.sub(r"\$\{(\w+)\}", lambda match: names[match[1]], text) for text in texts}


def role(name: str) -> Role:
    """Return a file of the shelf by its name without the ending."""
    return Role(yaml.safe_load((SHELF / f"{name}.yaml").read_text(encoding="utf-8")))


class Cluster(NamedTuple):
    """A broker, and its ``kafka-authorizer.log`` with each decision."""

    target: Target
    log: Path

    def create_topics(self, *names: str) -> None:
        """Make topics that are not there."""
        with closing(KafkaAdminClient(bootstrap_servers=self.target.plain)) as admin:
            for name in names:
                with suppress(TopicAlreadyExistsError):
                    admin.create_topics([NewTopic(name, 1, 1)])

    def write(self, topic: str, *texts: str) -> None:
        """Write records."""
        with closing(KafkaProducer(bootstrap_servers=self.target.plain)) as producer:
            for text in texts:
                producer.send(topic, text.encode()).get(30)

    def offsets(self, topic: str) -> tuple[int, int]:
        """Return the first offset of a topic's only partition, and the next one."""
        with closing(KafkaConsumer(bootstrap_servers=self.target.plain)) as consumer:
            partition = TopicPartition(topic, 0)
            first = consumer.beginning_offsets([partition])[partition]
            return first, consumer.end_offsets([partition])[partition]

    def has(self, topic: str, number: int = 1, start: int = 0) -> bool:
        """Say whether a topic has so many committed records, from an offset of partition 0 on."""
        with closing(
            KafkaConsumer(bootstrap_servers=self.target.plain, isolation_level="read_committed")
        ) as consumer:
            numbers = consumer.partitions_for_topic(topic) or ()
            partitions = [TopicPartition(topic, number) for number in sorted(numbers)]
            if not partitions:
                return False
            consumer.assign(partitions)
            for each in partitions:
                consumer.seek(each, start if each.partition == 0 else 0)
            ends = consumer.end_offsets(partitions)
            found = 0
            while any(consumer.position(each) < end for each, end in ends.items()):
                found += sum(map(len, consumer.poll(500).values()))
            return found >= number

    def is_at(self, group: str, topic: str, offset: int) -> bool:
        """Say whether a group has committed this offset."""
        with closing(KafkaConsumer(bootstrap_servers=self.target.plain, group_id=group)) as reader:
            return bool(reader.committed(TopicPartition(topic, 0)) == offset)


class Stage:
    """A place for one run of a program: clusters, a login, names, a folder of its own.

    If an ACL is missing, the run ends ``grace_s`` after the first refusal of its resource.
    """

    def __init__(
        self,
        clusters: Sequence[Cluster],
        user: str,
        names: Mapping[str, str],
        folder: Path,
        *,
        gives_up: str,
        missing: AclBinding | None = None,
        grace_s: float = 0,
    ) -> None:
        self.clusters = clusters
        self.user = user
        self.names = names
        self.folder = folder
        folder.mkdir(parents=True)
        self._gives_up = gives_up
        self._missing = missing
        self._grace_s = grace_s
        self._end_s = time.monotonic() + scaled(LIMIT_S)
        self._lengths = [cluster.log.stat().st_size for cluster in clusters]
        self._processes: list[tuple[subprocess.Popen[bytes], Path]] = []

    def login(self, at: int = 0, user: str | None = None) -> dict[str, str]:
        """Return the properties of a Java client of the program, or of another user."""
        return self.clusters[at].target.config(user or self.user)

    @property
    def password(self) -> str:
        """The password of the program's user."""
        return USERS[self.user]

    def properties(self, name: str, **values: str) -> Path:
        """Write a file of properties, the values of ``values`` by their keys."""
        path = self.folder / name
        path.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
        return path

    @contextmanager
    def running(self, *words: str, **environment: str) -> Iterator[None]:
        """Run a program until the end of the block."""
        log = self.folder / f"output-{len(self._processes)}.txt"
        with log.open("wb") as output:
            process = subprocess.Popen(
                words,
                cwd=self.folder,
                env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self._processes.append((process, log))
        try:
            yield
        finally:
            self._processes.remove((process, log))
            process.terminate()
            try:
                process.wait(scaled(20))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def until(self, what: str, is_so: Callable[[], object]) -> None:
        """Wait until something is so.

        Raises:
            NotDone: a program ended, or the time is over.
        """
        while not is_so():
            for process, log in self._processes:
                ended = process.poll() is not None
                given_up = self._gives_up in log.read_text("utf-8", "replace")
                # Its last work may be there only now.
                if (ended or given_up) and not is_so():
                    raise NotDone(f"{what}: it has ended: {_tail(log)}")
            if self._is_over():
                raise NotDone(f"{what}: {[_tail(log) for _, log in self._processes]}")
            time.sleep(0.2)

    def log(self, at: int) -> str:
        """Return what a broker's authorizer has decided since this run began."""
        with self.clusters[at].log.open("rb") as file:
            file.seek(self._lengths[at])
            return file.read().decode()

    def refusals(self) -> list[tuple[str, str, str]]:
        """Return what was refused to the program in this run: operation, type and name."""
        denied = rf"Principal = User:{self.user} is Denied operation = (\w+) from host = \S+"
        line = denied + r" on resource = (\w+):LITERAL:(.*) for request = "
        return [
            refusal
            for at in range(len(self.clusters))
            for refusal in re.findall(line, self.log(at))
        ]

    def was_refused(self, acl: AclBinding) -> bool:
        """Say whether what an ACL allows was refused; DESCRIBE may be asked for before."""
        (resource_type, wanted, pattern_type), entry = acl
        return any(
            operation in (entry.operation.name, "DESCRIBE")
            and kind == RESOURCE_WORDS[resource_type]
            and (name == wanted or (pattern_type is PREFIXED and name.startswith(wanted)))
            for operation, kind, name in self.refusals()
        )

    def _is_over(self) -> bool:
        now_s = time.monotonic()
        if self._missing is not None and self.was_refused(self._missing):
            self._end_s = min(self._end_s, now_s + self._grace_s)
            self._missing = None
        return now_s > self._end_s


def _tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-1500:]


def learned(stage: Stage, at: int) -> list[AclBinding]:
    """Return what ``doorkeeper learn`` makes of a broker's log of a run."""
    file = stage.folder / f"kafka-authorizer-{at}.log"
    file.write_text(stage.log(at), encoding="utf-8")
    words = ("learn", "--principal", f"User:{stage.user}", "--output", "yaml", "--log", str(file))
    done = subprocess.run(
        [sys.executable, "-m", "doorkeeper", *words], capture_output=True, text=True, check=True
    )
    return list(read(done.stdout, Format.YAML))
