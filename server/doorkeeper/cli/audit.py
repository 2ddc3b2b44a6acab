"""``doorkeeper audit``: check the folder of an audit log."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from doorkeeper.cli.inspection import Examined
from doorkeeper.cli.json_records.stores import AuditVerdict
from doorkeeper.cli.options import PATH
from doorkeeper.cli.terminal import FAILED, fail, paint, printable, show_result
from doorkeeper.cli.vocabulary.commands import Group
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.progress import progress
from doorkeeper.server.operations.audit.verifying import Verdict, verify_log


@click.group(
    cls=Group,
    name="audit",
    epilog="""
\b
Exit statuses: 0 done; 1 the audit log is incomplete, or cannot be read; 2 wrong usage;
130 ended by Ctrl-C.

\b
Examples:
  doorkeeper audit verify /var/log/doorkeeper/audit
  doorkeeper audit verify audit --output json
""",
)
def command() -> None:
    """Check an audit log (doorkeeper.audit.dir)."""


@command.command(
    epilog="""
\b
Exit statuses: 0 complete; 1 incomplete, not readable, or there is no event; 2 wrong usage.

\b
Examples:
  doorkeeper audit verify /var/log/doorkeeper/audit
  doorkeeper audit verify audit --output json
"""
)
@click.argument("folder", type=PATH)
@json_output(AuditVerdict)
def verify(folder: Path, output: str) -> None:
    """Check that FOLDER has every event, in order: no gaps and no truncated lines."""
    try:
        with progress(f"reading {folder}"):
            verdict = verify_log(folder)
    except OSError as error:
        fail([f"{error.filename or folder}: {error.strerror}"])
    examined = _examined(folder, verdict)
    record = {**verdict.as_json(), "examined": examined.number}
    show_result(output, record, [*_verdict_lines(folder, verdict)])
    if not verdict.problems:
        examined.fail_if_nothing()
    if not verdict.is_whole:
        raise SystemExit(FAILED)


def _examined(folder: Path, verdict: Verdict) -> Examined:
    nothing = "no audit log in this folder (files audit-NODE-NUMBER.jsonl)"
    if verdict.files:
        nothing = f"no event in {verdict.files} files of the audit log"
    return Examined(verdict.events.total(), f"{folder}: {nothing}")


def _verdict_lines(folder: Path, verdict: Verdict) -> Iterable[str]:
    for node in sorted(verdict.first):
        yield f"node {node}: events {verdict.first[node]} to {verdict.last[node]}"
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(verdict.events.items()))
    writing = f", {verdict.open_files} being written" if verdict.open_files else ""
    total = verdict.events.total()
    yield f"{verdict.files} files{writing}; {total} events: {kinds or 'none'}"
    if verdict.dropped:
        yield paint(f"{verdict.dropped} events were dropped, as the log itself records", "yellow")
    for problem in verdict.problems:
        position = problem.file if problem.line is None else f"{problem.file} line {problem.line}"
        colour = "yellow" if problem.kind == "clock" else "red"
        yield f"{paint(problem.kind, colour)}: {printable(f'{position}: {problem.text}')}"
    if (more := verdict.counts.total() - len(verdict.problems)) > 0:
        yield f"... and {more} more"
    if verdict.is_whole:
        yield paint(f"{folder}: the audit log is complete", "green")
    elif verdict.events or verdict.problems:
        yield paint(f"{folder}: the audit log is incomplete", "red", bold=True)
