"""Sets of ACLs against running servers: a broker, Doorkeeper, and one against the other."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from doorkeeper.acl.formats.choosing import Format, read, write
from doorkeeper.acl.model import AclBinding, AclOperation, ResourceType
from testkit.acl import PREFIXED, READ, WRITE, allow, deny, group, topic
from testkit.kafka_jars import Unavailable, cannot
from testkit.kafka_target import Target, doorkeeper_target, kafka_target

WORLD = sorted(
    [
        *(allow(f"user-{number}", READ, topic(f"topic-{number}")) for number in range(300)),
        allow("ä b,c", WRITE, topic("t", PREFIXED), "10.0.0.1"),
        deny("User:*", AclOperation.ALL, group("g")),
        allow("admin", AclOperation.ALTER, topic("x")._replace(
            resource_type=ResourceType.CLUSTER, name="kafka-cluster"
        )),
    ]
)  # fmt: skip


@contextmanager
def started(make: Callable[[], Target]) -> Iterator[Target]:
    """Give a server of a kind."""
    try:
        target = make()
    except Unavailable as missing:
        cannot(str(missing))
    try:
        yield target
    finally:
        target.close()


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a line of ``doorkeeper acls``."""
    return subprocess.run(
        [sys.executable, "-m", "doorkeeper", "acls", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def settled(place: str, world: list[AclBinding]) -> list[AclBinding]:
    """Return what a place has; a broker's own view follows its answers a little later."""
    found: list[AclBinding] = []
    for _ in range(40):
        found = read(run("export", place).stdout, Format.YAML)
        if found == world:
            break
        time.sleep(0.25)
    return found


@pytest.mark.parametrize("make", [kafka_target, doorkeeper_target])
def test_from_nothing_to_a_set_and_to_another(make: Callable[[], Target], tmp_path: Path) -> None:
    """import, export, plan, apply: each leads where it says, and a second time to nothing."""
    wanted, fewer = tmp_path / "wanted.yaml", tmp_path / "fewer.csv"
    wanted.write_text(write(WORLD, Format.YAML))
    fewer.write_text(write(WORLD[50:], Format.CSV))
    with started(make) as target:
        place = f"kafka://{target.plain}"

        imported = run("import", wanted, place)
        assert (imported.returncode, imported.stderr) == (
            0,
            f"doorkeeper: {len(WORLD)} added, 0 removed\n",
        )
        assert settled(place, WORLD) == WORLD
        assert run("plan", wanted, place, "--whole").returncode == 0

        planned = run("plan", fewer, place, "--whole")
        assert planned.returncode == 3
        assert planned.stdout.endswith(
            f"Plan: 0 to add, 50 to remove; {len(WORLD) - 50} unchanged.\n"
        )
        applied = run("apply", fewer, place, "--whole", "--yes")
        assert applied.stderr.endswith("doorkeeper: 0 added, 50 removed\n")
        assert settled(place, WORLD[50:]) == WORLD[50:]


def test_one_cluster_against_another(tmp_path: Path) -> None:
    """diff says what they have not in common; what is exported from one is applied to the other."""
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    one.write_text(write(WORLD[:20], Format.YAML))
    other.write_text(write(WORLD[10:30], Format.YAML))
    with started(kafka_target) as kafka, started(doorkeeper_target) as ours:
        places = f"kafka://{kafka.plain}", f"kafka://{ours.plain}"
        assert run("import", one, places[0]).returncode == 0
        assert run("import", other, places[1]).returncode == 0
        assert settled(places[0], WORLD[:20]) == WORLD[:20]

        differing = run("diff", *places)
        assert differing.returncode == 3
        assert differing.stdout.endswith("Plan: 10 to add, 10 to remove; 10 unchanged.\n")

        exported = tmp_path / "exported.txt"
        assert run("export", places[0], "--format", "kafka", "--out", exported).returncode == 0
        assert run("apply", exported, places[1], "--whole", "--yes").returncode == 0
        assert run("diff", *places).returncode == 0
