"""authorize() without a wire: ours in this interpreter's child, StandardAuthorizer in its own JVM.

Both get the same ACLs and the same questions, one action each, with nothing written for an answer;
the verdicts are compared. Ours runs in a process of its own too, so that a million ACLs do not
stay in the one that measures everything else:

    python -m versus.in_process ACLS WILDCARDS QUESTIONS ROUNDS ROUND_MS
"""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from doorkeeper.acls.model import AclOperation, PatternType, Principal, ResourcePattern
from doorkeeper.server.authorizer.contract import (
    Action,
    AuthorizationResult,
    AuthorizerServerInfo,
    Endpoint,
)
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.operations.logs.levels import LoggerThreshold
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.memory import MemoryStore
from versus import worlds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from doorkeeper.server.schema.kind import Kind
    from testkit.kafka_jars import Jars

QUESTIONS = 20_000
HEAP = "-Xmx4G"
PATIENCE_S = 300
AT_A_TIME = 500
HERE = Path(__file__).parent
JAVA_SOURCES = HERE / "java"


class Timed(NamedTuple):
    """What was measured; a number for each round."""

    load_ms: float
    authorize_us: list[float]
    by_type_us: list[float]
    heap_mb: float
    verdicts: str


class Pair(NamedTuple):
    """Both sides on one world."""

    ours: Timed
    kafka: Timed | None


def measure(jars: Jars | None, acls: int, *, wildcards: bool, rounds: int, round_ms: int) -> Pair:
    """Measure both sides.

    Raises:
        RuntimeError: they do not decide alike, or one of them fails.

    """
    sizes = [str(rounds), str(round_ms)]
    words = [sys.executable, "-m", "versus.in_process", str(acls), str(int(wildcards))]
    ours = _told([*words, str(QUESTIONS), *sizes])
    if jars is None:
        return Pair(ours, None)
    with tempfile.TemporaryDirectory() as folder:
        world, asked = Path(folder) / "acls", Path(folder) / "questions"
        worlds.write_world(world, list(worlds.bindings(acls, wildcards=wildcards)))
        worlds.write_questions(asked, worlds.questions(acls, QUESTIONS))
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
        java = ["java", HEAP, quiet, "-cp", jars.classpath, "AuthorizerBench"]
        kafka = _told([*java, str(world), str(asked), *sizes])
    both = min(len(ours.verdicts), len(kafka.verdicts))
    if not both or ours.verdicts[:both] != kafka.verdicts[:both]:
        raise RuntimeError(f"{acls} ACLs: the two authorizers do not decide alike")
    return Pair(ours, kafka)


def _told(command: list[str]) -> Timed:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=PATIENCE_S, cwd=HERE.parent
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {done.stderr[-2000:]}")
    return Timed(**json.loads(done.stdout))


# --- ours


class Silence:
    """An authorizer log that discards every line."""

    threshold = LoggerThreshold(100)

    def write(self, level: int, text: str) -> None:
        """Never called."""


class InMemory(MemoryStore):
    """A store whose ACLs are read once."""

    def __init__(self, stored: list[StoredBinding]) -> None:
        """Take what it holds."""
        super().__init__()
        self._stored = stored

    def rows(self, kind: Kind) -> Iterator[Any]:
        """Give each once, and keep none."""
        while kind is ACL and self._stored:
            yield self._stored.pop()


async def ours(acls: int, *, wildcards: bool, questions: int, rounds: int, round_ms: int) -> Timed:
    """Measure ours, in this process."""
    # Made first: behind a load they would lie in whatever holes it left in the memory.
    asked = [
        (
            AuthorizableRequestContext(
                "L", "PLAINTEXT", Principal.parse(each.principal), each.host, 3, 12, "bench", 1
            ),
            [
                Action(
                    each.operation,
                    ResourcePattern(worlds.TOPIC, each.name, PatternType.LITERAL),
                    1,
                    log_if_allowed=True,
                    log_if_denied=False,
                )
            ],
        )
        for each in worlds.questions(acls, questions)
    ]
    stored = [
        StoredBinding(f"{number:022}", binding)
        for number, binding in enumerate(worlds.bindings(acls, wildcards=wildcards))
    ]
    authorizer = StandardAuthorizer(authorizer_log=Silence())
    authorizer.configure({})
    authorizer.attach(StateLog(InMemory(stored)))
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "localhost", 9092)
    begun = time.perf_counter()
    info = AuthorizerServerInfo("c" * 22, 1, (endpoint,), endpoint, frozenset())
    await authorizer.start(info)[endpoint]
    load_ms = (time.perf_counter() - begun) * 1000
    gc.freeze()  # as the server does
    by_type_of, write = authorizer.authorize_by_resource_type, AclOperation.WRITE
    decisions, by_type = [], []
    for _ in range(rounds):
        single = [partial(authorizer.authorize, *each) for each in asked]
        decisions.append(_per_call_us(single, round_ms))
        some = [partial(by_type_of, context, write, worlds.TOPIC) for context, _ in asked]
        by_type.append(_per_call_us(some, round_ms // 2))
    allowed = AuthorizationResult.ALLOWED
    verdicts = "".join("01"[authorizer.authorize(*each)[0] is allowed] for each in asked)
    return Timed(load_ms, decisions, by_type, 0.0, verdicts)


def _per_call_us(calls: Sequence[Callable[[], object]], round_ms: int) -> float:
    """Return what a call takes, with the loop around it."""
    count = 0
    begun = time.perf_counter()
    while (took := time.perf_counter() - begun) * 1000 < round_ms:
        at = count % len(calls)
        some = calls[at : at + AT_A_TIME]
        for call in some:
            call()
        count += len(some)
    return took / count * 1e6


def main() -> None:
    """Measure ours for the process that asks, and print it."""
    acls, wildcards, questions, rounds, round_ms = map(int, sys.argv[1:])
    timed = asyncio.run(
        ours(
            acls,
            wildcards=bool(wildcards),
            questions=questions,
            rounds=rounds,
            round_ms=round_ms,
        )
    )
    print(json.dumps(timed._asdict()))


if __name__ == "__main__":
    main()
