"""``doorkeeper-pipeline run``: from files to all tables."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from doorkeeper.acls.decision import Policy
from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper.cli.vocabulary.progress import Progress
from doorkeeper_pipeline.cli import json_records, options, starting
from doorkeeper_pipeline.cli.engine import ChosenEngine, engine_options
from doorkeeper_pipeline.cli.failures import (
    CONTRADICTED,
    HELP,
    STATUSES,
    printable,
    say,
    show,
)
from doorkeeper_pipeline.cli.json_records import show_record
from doorkeeper_pipeline.engines.contract import Engine
from doorkeeper_pipeline.errors import Busy, Unreadable
from doorkeeper_pipeline.evaluation.evidence import Thresholds
from doorkeeper_pipeline.jobs.request import MAX_QUARANTINED, RunRequest, RunSummary
from doorkeeper_pipeline.sources.recognising import SOURCES

FOLLOW_MAX_S = 86_400


@click.command("run", cls=Command, epilog=STATUSES, context_settings=HELP)
@named_option("--log", "inputs", multiple=True)
@named_option("--source", type=click.Choice(list(SOURCES)), default_text="recognised")
@named_option("--pattern", default="")
@named_option("--zone", type=options.zone, default="UTC", show_default=True)
@named_option("--acls", multiple=True)
@named_option(
    "--tables", "out", required=True, type=options.TablesPlace(file_okay=False, path_type=Path)
)
@named_option("--rebuild", is_flag=True)
@named_option(
    "--since",
    text="Report new access and changes of ACLs since this time, such as 2026-11-26T14:30Z.",
    type=options.moment,
    default_text="the last day of the logs",
)
@named_option("--max-quarantined", type=options.Number(0, 100), default_text="5; 100 with --follow")
@named_option("--follow", type=options.Number(0.1, FOLLOW_MAX_S))
@named_option(
    "--cluster-name",
    "cluster",
    text="The Kafka cluster that the logs belong to.",
    default="",
    type=options.utf8,
)
@named_option("--different-servers", is_flag=True)
@named_option("--sensitive", multiple=True)
@options.excluded
@options.findings
@named_option(
    "--command-config", type=click.Path(path_type=Path), default_text="none, for PLAINTEXT"
)
@options.policy
@options.evidence
@engine_options
@json_output(json_records.Run)
def command(
    *,
    inputs: tuple[str, ...],
    max_quarantined: float | None,
    follow: float | None,
    cluster: str,
    findings: Path | None,
    command_config: Path | None,
    super_users: tuple[str, ...],
    allow_everyone: bool,
    release: str,
    chosen: ChosenEngine,
    output: str,
    **given: Any,
) -> None:
    """Read logs and ACLs and update all tables.

    Files that were read already are not read again; a file that has grown replaces its earlier
    rows. If the run fails, the tables are unchanged.

    \b
    Examples:
      kafka-acls.sh --bootstrap-server b:9092 --list > acls.txt
      doorkeeper-pipeline run --log '/var/log/kafka/*authorizer*' --acls acls.txt --tables access
      doorkeeper-pipeline run --log kafka://b:9092/audit --command-config c.props --tables access
      doorkeeper-pipeline run --master spark://m:7077 --log /shared/logs --tables /shared/access
      doorkeeper-pipeline run --log data/audit --tables access --follow 10
    """
    options.check_inputs(inputs, command_config, is_spark=chosen.is_spark)
    if max_quarantined is None:
        # A batch is small, and one of bad lines must not stop what follows it.
        max_quarantined = MAX_QUARANTINED if follow is None else 100.0
    request = RunRequest(
        inputs=inputs,
        max_quarantined=max_quarantined,
        cluster=cluster,
        command_config=str(command_config.absolute()) if command_config else "",
        policy=Policy(super_users=frozenset(super_users), allow_everyone=allow_everyone),
        thresholds=Thresholds(**{name: given.pop(name) for name in Thresholds._fields}),
        accepted=starting.accepted_findings(findings, cluster),
        networks=options.RELEASES[release],
        **given,
    )
    with chosen.started() as (shown, engine):
        _run(request, engine, shown, follow, is_json=output == "json")


def _run(
    request: RunRequest,
    engine: Engine,
    shown: Progress,
    follow: float | None,
    *,
    is_json: bool,
) -> None:
    from doorkeeper_pipeline.jobs import seen

    is_full = is_json or follow is not None
    last = None if is_full else seen.unchanged(request, starting.version())
    if last is not None:
        show(
            f"nothing new since the run of {last.started}: the tables in {request.out} are up to"
            " date"
        )
        if last.contradicts:
            raise SystemExit(CONTRADICTED)
        return
    from doorkeeper_pipeline.jobs.run import run

    summary = run(request, starting.surroundings(engine, shown.tell))
    shown.close()
    if is_json:
        show_record(record_of(summary))
    else:
        show(as_text(summary, request.out))
    if follow is not None:
        _follow(request, engine, follow, is_json=is_json)
    elif summary.evidence.contradicts:
        raise SystemExit(CONTRADICTED)


def _follow(request: RunRequest, engine: Engine, every_s: float, *, is_json: bool) -> None:
    """Show what each further run did that found something new, until the process is told to end."""
    from doorkeeper_pipeline.jobs.run import run_if_new

    request = replace(request, rebuild=False)
    failure = ""
    with waiting() as wait:
        while wait(every_s):
            try:
                summary = run_if_new(request, starting.surroundings(engine, lambda _: None))
            except (Busy, Unreadable) as error:
                # The next look reads what this one could not; a reason is said once.
                if str(error) != failure:
                    say(str(error))
                failure = str(error)
                continue
            finally:
                gc.collect()
            failure = ""
            if summary is not None and is_json:
                show_record(record_of(summary))
            elif summary is not None:
                show(as_line(summary))


@contextmanager
def waiting() -> Iterator[Callable[[float], bool]]:
    """Give a function that sleeps, and says no more once the process was told to end."""
    ending = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: ending.set())
    try:
        yield lambda seconds: not ending.wait(seconds)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def record_of(summary: RunSummary) -> Mapping[str, object]:
    proof = summary.evidence
    return {
        "run": summary.run,
        "rows": summary.rows,
        "gone": list(summary.gone),
        "evidence": {
            "decisions": proof.observed.decisions,
            "first": proof.observed.first,
            "last": proof.observed.last,
            "days": round(proof.observed.span_days, 3),
            "coverage_percent": round(proof.observed.coverage, 1),
            "agreement_percent": proof.agreement,
            "causes": proof.causes,
            "lacking": proof.lacking,
            "doubtful_principals": sorted(proof.doubtful),
        },
        "findings": [group._asdict() for group in summary.findings],
        "unread": [{"reason": why, "count": count} for why, count in summary.unread],
    }


def as_line(summary: RunSummary) -> str:
    """Return what a run did that followed another one."""
    row = summary.run
    counts = ", ".join(f"{table} {summary.rows[table]:,}" for table in ("denied", "new_access"))
    quarantined = f", {row['quarantined']:,} lines in quarantine" if row["quarantined"] else ""
    return (
        f"{row['finished']:%Y-%m-%dT%H:%M:%SZ} {row['files_read']} files,"
        f" {row['decisions']:,} decisions{quarantined}; {counts}"
    )


def as_text(summary: RunSummary, out: Path | str) -> str:
    row = summary.run
    decided = row["lines"] - row["ignored"] - row["quarantined"]
    seconds = (row["finished"] - row["started"]).total_seconds()
    lines = [
        *([f"cluster: {printable(row['cluster'])}"] if row["cluster"] else []),
        (f"{row['files_read']} files read, {row['files_unchanged']} unchanged, in {seconds:.1f} s"),
        (
            f"{row['lines']:,} lines: {decided:,} with decisions, {row['ignored']:,} without one,"
            f" {row['quarantined']:,} in quarantine; {row['decisions']:,} decisions"
        ),
    ]
    lines += [f"  {count:,} in quarantine: {printable(why)}" for why, count in summary.unread]
    if row["copied"]:
        lines.append(f"{row['copied']:,} decisions are in several files and are counted once")
    lines.append(f"evidence: {summary.evidence.summary()}")
    if summary.gone:
        lines.append(f"{len(summary.gone)} files no longer exist; their decisions are kept")
    lines += [f"warning: {printable(warning)}" for warning in row["warnings"]]
    lines += [printable(line) for line in summary.lines]
    lines.append(f"tables in {out}:")
    lines += [f"  {name:<18} {count:>12,}" for name, count in summary.rows.items()]
    return "\n".join(lines)
