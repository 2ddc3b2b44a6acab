"""What does the evaluator win over SQL when another set of ACLs is tried on a history?

    python benchmarks/pipeline_backtest.py [--quick | --full] [--kafka]

One world, one history, two sets of ACLs; asked is every distinct decision that the second set
turns. Each way runs in a process of its own, so that Spark's start is paid by each and told beside
the jobs; "cold" is its first job, "warm" the same again in the same session.

    spark raw        a join by (type, principal) over every event, as one would write it first
    spark prefixes   distinct questions, joined by (type, principal, pattern, name), once for each
                     length of prefixes that the principal has: the best SQL that we know
    spark index      distinct questions, then the index of doorkeeper_pipeline in each task
    local index      the same without a JVM: Polars and the index
    duckdb prefixes  the SQL of "spark prefixes" in DuckDB, on this machine alone

All answers are compared row for row. With --kafka Kafka's own authorizer is asked a sample of the
questions under both sets. Goals at --full (100,000 ACLs, 3 million events): the index is 10 times
as fast as the raw join and twice as fast as the prefix join.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import polars as pl

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.formats import records
from doorkeeper.acls.model import AclOperation, PatternType, ResourceType
from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.evaluation.literals import frame_of
from doorkeeper_pipeline.jobs.backtest import changes_by
from doorkeeper_pipeline.jobs.gold import GoldInput
from synthetic.grants import SUPER_USER, proposal_of
from synthetic.shape import Shape
from synthetic.tables import decisions_of
from synthetic.traffic import world_of
from testkit.acl_tables import bindings_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.acls.model import AclBinding

POLICY = Policy(super_users=frozenset({SUPER_USER}))
FILES = 24
KAFKA_SAMPLE = 4_000
SAMPLED_S = 0.2

SIZES = {
    "quick": (Shape(acls=2_000, questions=8_000, principals=400, topics=800, groups=200), 50_000),
    "default": (Shape(acls=20_000, questions=60_000), 500_000),
    "full": (Shape(acls=100_000, questions=240_000), 3_000_000),
}

MATCHES = """
    (a.host = '*' OR a.host = e.host)
    AND (a.operation IN ('ALL', e.operation)
         OR (a.permission_type = 'ALLOW' AND e.operation = 'DESCRIBE'
             AND a.operation IN ('READ', 'WRITE', 'DELETE', 'ALTER'))
         OR (a.permission_type = 'ALLOW' AND e.operation = 'DESCRIBE_CONFIGS'
             AND a.operation = 'ALTER_CONFIGS'))
"""
QUESTION = "principal, host, operation, resource_type, resource_name"
CHANGED = f"""
    SELECT {QUESTION}, CASE WHEN was THEN 'ALLOW_TO_DENY' ELSE 'DENY_TO_ALLOW' END AS turn,
           count, first_ts, last_ts
    FROM decided WHERE was <> becomes
"""

RAW = f"""
    WITH events AS (
        SELECT {QUESTION}, count, first_ts, last_ts, monotonically_increasing_id() AS event
        FROM decisions WHERE principal <> '{SUPER_USER}'
    ), asking AS (
        SELECT *, principal AS who FROM events
        UNION ALL SELECT *, 'User:*' AS who FROM events WHERE principal <> 'User:*'
    ), matched AS (
        SELECT e.event, a.version, a.permission_type
        FROM asking e JOIN acls a ON a.resource_type = e.resource_type AND a.principal = e.who
        WHERE {MATCHES} AND (
            (a.pattern_type = 'PREFIXED' AND startswith(e.resource_name, a.resource_name))
            OR (a.pattern_type = 'LITERAL' AND a.resource_name = e.resource_name)
            OR (a.pattern_type = 'LITERAL' AND a.resource_name = '*'
                AND NOT startswith(e.resource_name, '*')))
    ), answered AS (
        SELECT event,
               max(version = 'before' AND permission_type = 'ALLOW')
               AND NOT max(version = 'before' AND permission_type = 'DENY') AS was,
               max(version = 'after' AND permission_type = 'ALLOW')
               AND NOT max(version = 'after' AND permission_type = 'DENY') AS becomes
        FROM matched GROUP BY event
    ), decided AS (
        SELECT {QUESTION}, was, becomes, sum(count) AS count, min(first_ts) AS first_ts,
               max(last_ts) AS last_ts
        FROM events JOIN answered USING (event)
        GROUP BY {QUESTION}, was, becomes
    )
    {CHANGED}
"""

PREFIXES = f"""
    WITH asked AS (
        SELECT {QUESTION}, sum(count) AS count, min(first_ts) AS first_ts, max(last_ts) AS last_ts
        FROM decisions WHERE principal <> '{SUPER_USER}' GROUP BY {QUESTION}
    ), asking AS (
        SELECT *, principal AS who FROM asked
        UNION ALL SELECT *, 'User:*' AS who FROM asked WHERE principal <> 'User:*'
    ), lengths AS (
        SELECT DISTINCT resource_type, principal, length(resource_name) AS size
        FROM acls WHERE pattern_type = 'PREFIXED'
    ), probes AS (
        SELECT *, 'LITERAL' AS pattern_type, resource_name AS probe FROM asking
        UNION ALL SELECT *, 'LITERAL' AS pattern_type, '*' AS probe FROM asking
        WHERE NOT {{starts_with}}(resource_name, '*')
        UNION ALL SELECT asking.*, 'PREFIXED' AS pattern_type,
                         substr(asking.resource_name, 1, lengths.size) AS probe
        FROM asking JOIN lengths ON lengths.resource_type = asking.resource_type
            AND lengths.principal = asking.who AND lengths.size <= length(asking.resource_name)
    ), decided AS (
        SELECT e.principal, e.host, e.operation, e.resource_type, e.resource_name,
               e.count, e.first_ts, e.last_ts,
               {{any}}(a.version = 'before' AND a.permission_type = 'ALLOW')
               AND NOT {{any}}(a.version = 'before' AND a.permission_type = 'DENY') AS was,
               {{any}}(a.version = 'after' AND a.permission_type = 'ALLOW')
               AND NOT {{any}}(a.version = 'after' AND a.permission_type = 'DENY') AS becomes
        FROM probes e JOIN acls a ON a.resource_type = e.resource_type AND a.principal = e.who
            AND a.pattern_type = e.pattern_type AND a.resource_name = e.probe
        WHERE {MATCHES}
        GROUP BY e.principal, e.host, e.operation, e.resource_type, e.resource_name,
                 e.count, e.first_ts, e.last_ts
    )
    {CHANGED}
"""
SORTED_BY = ("principal", "host", "operation", "resource_type", "resource_name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One way: seconds of the start, of the first job and of the same again; CPU of the first."""

    way: str
    start_s: float
    cold_s: float
    cold_cpu_s: float
    warm_s: float
    peak_mb: int
    wall_s: float


def main() -> None:
    """Measure and print; a child process measures one way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2,000 ACLs, 50,000 events")
    parser.add_argument("--full", action="store_true", help="100,000 ACLs, 3 million events")
    parser.add_argument("--kafka", action="store_true", help="ask Kafka's authorizer a sample")
    parser.add_argument("--ways", default=",".join(WAYS), help="which of them, with commas")
    parser.add_argument("--child", nargs=2, metavar=("WAY", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.child[0], Path(given.child[1]))
        return
    shape, count = SIZES["full" if given.full else "quick" if given.quick else "default"]
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        make(folder, shape, count)
        found = [measured(way, folder) for way in given.ways.split(",")]
        report([each for each in found if each is not None])
        compare(folder)
        if given.kafka:
            ask_kafka(folder)


def make(folder: Path, shape: Shape, count: int) -> None:
    """Write the history and both sets."""
    world = world_of(shape)
    (folder / "decisions").mkdir()
    table = decisions_of(world, count)
    size = -(-len(table) // FILES)
    for number in range(FILES):
        part = table.slice(number * size, size)
        part.write_parquet(folder / "decisions" / f"{number:02}.parquet")
    proposed = proposal_of(world.bindings)
    versions = []
    for version, bindings in (("before", world.bindings), ("after", proposed)):
        (folder / f"{version}.json").write_text(records.write_json(bindings))
        acls = frame_of(bindings).with_row_index("binding")
        versions.append(acls.with_columns(binding_id=pl.lit(""), version=pl.lit(version)))
    pl.concat(versions).write_parquet(folder / "acls.parquet")
    print(
        f"{len(world.bindings):,} ACLs, {len(proposed):,} proposed; {count:,} events in"
        f" {len(table):,} rows, {world.questions.num_rows:,} distinct questions"
    )


def measured(way: str, folder: Path) -> Measured | None:
    """Run one way in a process of its own."""
    begin = time.perf_counter()
    command = [sys.executable, __file__, "--child", way, str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    peak = 0
    output: tuple[str, str] | None = None
    while output is None:
        try:
            output = process.communicate(timeout=SAMPLED_S)
        except subprocess.TimeoutExpired:
            peak = max(peak, tree(process.pid).resident_bytes)
    told, failed = output
    wall_s = time.perf_counter() - begin
    if process.returncode:
        last = (failed.strip().splitlines() or ["it failed"])[-1]
        print(f"{way:16} not measured: {last}")
        return None
    numbers = json.loads(told.strip().splitlines()[-1])
    return Measured(wall_s=wall_s, peak_mb=peak >> 20, **numbers)


class Tree(NamedTuple):
    """What a process and all below it hold and have used, Spark's JVM and workers too."""

    resident_bytes: int
    cpu_s: float


def tree(root: int) -> Tree:
    """Look at a process and all below it, as /proc tells it."""
    parents, found = {}, {}
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            _, _, rest = (folder / "stat").read_text().rpartition(")")
            pages = int((folder / "statm").read_text().split()[1])
        except OSError:
            continue
        fields = rest.split()
        parents[int(folder.name)] = int(fields[1])
        # Of children that have ended, too.
        found[int(folder.name)] = Tree(pages * page, sum(map(int, fields[11:15])) / ticks)
    below = {root}
    while more := {each for each, parent in parents.items() if parent in below} - below:
        below |= more
    there = [found[each] for each in below if each in found]
    return Tree(sum(each.resident_bytes for each in there), sum(each.cpu_s for each in there))


def child(way: str, folder: Path) -> None:
    """Measure one way, keep its answer, and print the numbers as JSON."""
    begin = time.perf_counter()
    run, close = WAYS[way](folder)
    used = tree(os.getpid()).cpu_s
    started = time.perf_counter()
    answer = run()
    cold = time.perf_counter()
    used = tree(os.getpid()).cpu_s - used
    # The raw join takes minutes: once is enough.
    if way != "spark raw":
        run()
    warm = time.perf_counter()
    answer.sort(SORTED_BY).write_parquet(folder / f"{way}.answer")
    close()
    numbers = {
        "way": way,
        "start_s": started - begin,
        "cold_s": cold - started,
        "cold_cpu_s": used,
        "warm_s": warm - cold,
    }
    print(json.dumps(numbers))


Way = tuple["Callable[[], pl.DataFrame]", "Callable[[], None]"]


def spark_sql(folder: Path, query: str) -> Way:
    """Return a query over the history in Spark."""
    engine = _spark()
    session = engine.session
    session.read.parquet(str(folder / "decisions")).createOrReplaceTempView("decisions")
    session.read.parquet(str(folder / "acls.parquet")).createOrReplaceTempView("acls")

    def run() -> pl.DataFrame:
        found = pl.from_arrow(session.sql(query).toArrow())
        assert isinstance(found, pl.DataFrame)
        return found

    return run, engine.close


def by_index(folder: Path, engine: Engine) -> Way:
    """Return the job of the pipeline."""
    # As the command does.
    gc.disable()
    before, after = (_bindings(folder / f"{version}.json") for version in ("before", "after"))
    in_force = bindings_table(before)

    def run() -> pl.DataFrame:
        # Made each time: it keeps the index of the set in force.
        asked = GoldInput(
            engine=engine,
            decisions=tuple(sorted(map(str, (folder / "decisions").glob("*.parquet")))),
            bindings=in_force,
            policy=POLICY,
        )
        found = changes_by(asked, after)
        return found.select(*SORTED_BY, "turn", "count", "first_ts", "last_ts")

    return run, engine.close


def by_duckdb(folder: Path) -> Way:
    """Return the prefix join in DuckDB."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for name, path in (("decisions", "decisions/*.parquet"), ("acls", "acls.parquet")):
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM '{folder / path}'")
    query = PREFIXES.format(starts_with="starts_with", any="bool_or")

    def run() -> pl.DataFrame:
        found = pl.from_arrow(connection.sql(query).to_arrow_table())
        assert isinstance(found, pl.DataFrame)
        return found

    return run, connection.close


def _spark() -> Any:
    # Half a second, and only the ways that need it.
    from doorkeeper_pipeline.engines.spark import SparkEngine

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    engine = SparkEngine("local[*]")
    engine.session.range(1).count()
    return engine


def _bindings(path: Path) -> tuple[AclBinding, ...]:
    return tuple(records.read_json(path.read_text()).bindings)


WAYS: dict[str, Callable[[Path], Way]] = {
    "spark raw": lambda folder: spark_sql(folder, RAW),
    "spark prefixes": lambda folder: spark_sql(
        folder, PREFIXES.format(starts_with="startswith", any="max")
    ),
    "spark index": lambda folder: by_index(folder, _spark()),
    "local index": lambda folder: by_index(folder, Engine()),
    "duckdb prefixes": by_duckdb,
}


def report(found: list[Measured]) -> None:
    """Print a table; ratios are to the job of the pipeline on Spark, by its first run."""
    reference = next((each for each in found if each.way == "spark index"), None)
    columns = ("start s", "cold s", "CPU s", "warm s", "wall s")
    print(f"{'':16}" + "".join(f"{each:>9}" for each in columns) + "     MB  of index, by CPU")
    for each in found:
        start = f"{each.start_s:9.1f}" if each.way.startswith("spark") else f"{'':9}"
        warm = f"{each.warm_s:9.1f}" if each.way != "spark raw" else f"{'':9}"
        line = (
            f"{each.way:16}{start}{each.cold_s:9.1f}{each.cold_cpu_s:9.1f}{warm}{each.wall_s:9.1f}"
        )
        line += f"{each.peak_mb:7}"
        if reference is not None:
            line += f"{each.cold_s / reference.cold_s:9.1f}x"
            line += f"{each.cold_cpu_s / reference.cold_cpu_s:7.1f}x"
        print(line)


def compare(folder: Path) -> None:
    """Print whether all answers are the same rows.

    Raises:
        SystemExit: two of them differ.

    """
    answers = {path.stem: pl.read_parquet(path) for path in sorted(folder.glob("*.answer"))}
    (first, expected), *others = answers.items()
    for name, answer in others:
        if not answer.select(expected.columns).cast(expected.schema).equals(expected):
            raise SystemExit(f"{name} and {first} differ: {answer.height} and {expected.height}")
    turns = dict(expected.group_by("turn").agg(pl.col("count").sum()).iter_rows())
    print(
        f"the same {expected.height:,} rows by all {len(answers)};"
        f" events allow to deny {turns.get('ALLOW_TO_DENY', 0):,},"
        f" deny to allow {turns.get('DENY_TO_ALLOW', 0):,}"
    )


def ask_kafka(folder: Path) -> None:
    """Ask Kafka's authorizer the turned questions and as many others, under both sets.

    Raises:
        SystemExit: it answers otherwise.

    """
    from testkit.oracle_authorizer import AuthorizerOracle
    from testkit.oracle_worlds import kafka_is_lost

    turned = pl.read_parquet(folder / "local index.answer")
    asked = pl.scan_parquet(folder / "decisions" / "*.parquet").select(SORTED_BY).unique().collect()
    sample = pl.concat(
        [turned.select(SORTED_BY), asked.sort(SORTED_BY).sample(KAFKA_SAMPLE, seed=1)]
    )
    sample = sample.unique(maintain_order=True).head(KAFKA_SAMPLE)
    turns = dict(zip(turned.select(SORTED_BY).rows(), turned["turn"], strict=True))
    oracle = AuthorizerOracle("4.3.1")
    answers = []
    for version in ("before", "after"):
        acls = [_oracle_row(each) for each in _bindings(folder / f"{version}.json")]
        questions = [_oracle_question(row) for row in sample.rows()]
        lost = [kafka_is_lost(acls, each) for each in questions]
        world = {
            "configs": {"super.users": SUPER_USER},
            "acls": acls,
            "added": [],
            "removed": [],
            "questions": [
                each for each, is_lost in zip(questions, lost, strict=True) if not is_lost
            ],
            "by_type": [],
            "filters": [],
        }
        given = iter(oracle.answer(world)["questions"])
        answers.append([None if is_lost else next(given)[0] == "ALLOWED" for is_lost in lost])
    oracle.close()
    wrong = answered = 0
    for row, was, becomes in zip(sample.rows(), *answers, strict=True):
        if was is None or becomes is None:
            continue
        answered += 1
        expected = {(True, False): "ALLOW_TO_DENY", (False, True): "DENY_TO_ALLOW"}
        wrong += turns.get(row) != expected.get((was, becomes))
    print(f"Kafka's authorizer: {answered:,} questions under both sets, {wrong} other answers")
    if wrong:
        raise SystemExit(1)


def _oracle_row(binding: AclBinding) -> list[Any]:
    (resource_type, name, pattern_type), entry = binding
    return [
        int(resource_type),
        name,
        int(pattern_type),
        entry.principal,
        entry.host,
        int(entry.operation),
        int(entry.permission_type),
    ]


def _oracle_question(row: tuple[str, ...]) -> list[Any]:
    principal, host, operation, resource_type, name = row
    kind, _, who = principal.partition(":")
    what, where = AclOperation[operation], ResourceType[resource_type]
    return [
        kind,
        who,
        host,
        int(what),
        int(where),
        name,
        int(PatternType.LITERAL),
        1,
        1,
        True,
        True,
    ]


if __name__ == "__main__":
    main()
