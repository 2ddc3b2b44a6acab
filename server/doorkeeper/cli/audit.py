"""``doorkeeper audit``: check and read the folder of an audit log."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from doorkeeper.cli.inspection import Examined, inspects
from doorkeeper.cli.interrupts import INTERRUPTED
from doorkeeper.cli.terminal import FAILED, fail, paint, printable, say, show, show_json
from doorkeeper.server.operations.audit.showing import format_event
from doorkeeper.server.operations.audit.tailing import Tail
from doorkeeper.server.operations.audit.verifying import Verdict, verify_log

T = TypeVar("T")

POLL_S: Final = 0.2
"""The interval of polls for new events; a poll lists a folder."""

_output_option = click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The format: text or JSON.",
)
_folder_argument = click.argument("folder", type=click.Path(path_type=Path))


@click.group(
    name="audit",
    epilog="""
\b
Exit statuses: 0 done; 1 the audit log is incomplete, or cannot be read; 2 wrong usage;
130 ended by Ctrl-C.

\b
Examples:
  doorkeeper audit verify /var/log/doorkeeper/audit
  doorkeeper audit tail /var/log/doorkeeper/audit --outcome DENIED
""",
)
def command() -> None:
    """Check and read an audit log (doorkeeper.audit.dir)."""


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
@_folder_argument
@_output_option
@inspects
def verify(folder: Path, output: str) -> None:
    """Check that FOLDER has every event: no gaps, no torn lines, in order."""
    verdict: Verdict = _or_fail(folder, lambda: verify_log(folder))
    examined = _examined(folder, verdict)
    if output == "json":
        show_json(verdict.as_json() | examined.record())
    else:
        show(_verdict_lines(folder, verdict))
    if not verdict.problems:
        examined.fail_if_nothing()
    if not verdict.is_whole:
        raise SystemExit(FAILED)


@command.command(
    epilog="""
\b
An event is printed if it matches every filter. A filter may be repeated, and
then matches any of its values.

\b
Exit statuses: 0 done; 1 the folder cannot be read; 2 wrong usage; 130 ended
by Ctrl-C.

\b
Examples:
  doorkeeper audit tail /var/log/doorkeeper/audit
  doorkeeper audit tail audit --outcome DENIED --lines 50
  doorkeeper audit tail audit --from-start --no-follow --output json
"""
)
@_folder_argument
@click.option(
    "--lines",
    "-n",
    default=10,
    show_default=True,
    type=click.IntRange(0),
    help="Begin with this many of the last events.",
)
@click.option(
    "--from-start", is_flag=True, help="Begin with the first event.  [default: the last --lines]"
)
@click.option("--follow/--no-follow", default=True, show_default=True, help="Wait for new events.")
@click.option(
    "--kind",
    multiple=True,
    help="Only events of this kind: decision, change, login, ...; may be repeated.",
)
@click.option(
    "--outcome",
    multiple=True,
    type=click.Choice(["ALLOWED", "DENIED", "SUCCEEDED", "FAILED"], case_sensitive=False),
    help="Only this outcome.",
)
@click.option(
    "--principal",
    multiple=True,
    help="Only events of this principal, such as User:alice; may be repeated.",
)
@click.option(
    "--resource",
    "resource_name",
    multiple=True,
    help="Only events on a resource of this name; may be repeated.",
)
@_output_option
def tail(
    folder: Path,
    *,
    lines: int,
    from_start: bool,
    follow: bool,
    output: str,
    **filters: tuple[str, ...],
) -> None:
    """Print the last events of FOLDER, and wait for new ones."""
    log_reader = Tail(folder)
    selected = {name: set(values) for name, values in filters.items() if values}
    out = _print_json if output == "json" else _print_text
    # A folder that does not exist would otherwise look like one without events.
    _or_fail(folder, lambda: sorted(folder.iterdir()))
    try:
        events = log_reader.new() if from_start else iter(_last(log_reader, selected, lines))
        while True:
            for event in events:
                if _matches(event, selected):
                    out(event)
            # For a reader behind a pipe: no event waits in a buffer for the next ones.
            sys.stdout.flush()
            _report_unreadable(log_reader)
            if not follow:
                return
            time.sleep(POLL_S)
            events = _or_fail(folder, log_reader.new)
    except KeyboardInterrupt:
        # The usual end of --follow: no message.
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        # As behind head: the reader has closed the pipe, and Click ends without a message.
        raise
    except OSError as error:
        fail([f"{error.filename or folder}: {error.strerror}"])


def _matches(event: dict[str, Any], filters: Mapping[str, set[str]]) -> bool:
    """Say whether an event has one of the values of each field."""
    for name, values in filters.items():
        actual = [event.get(name)]
        # A change has a list of resources where a decision has one.
        if name == "resource_name" and event.get("kind") == "change":
            acls = (*event.get("added", ()), *event.get("removed", ()))
            actual = [acl["resource_name"] for acl in acls]
            actual += [item["name"] for item in event.get("items", ())]
        if values.isdisjoint(actual):
            return False
    return True


def _last(log_reader: Tail, filters: Mapping[str, set[str]], lines: int) -> list[dict[str, Any]]:
    """Return the last events that match; with filters, every event must be read."""
    if not filters:
        return log_reader.last_lines(lines)
    events = [event for event in log_reader.new() if _matches(event, filters)]
    return events[len(events) - lines if lines < len(events) else 0 :]


def _print_json(event: dict[str, Any]) -> None:
    show_json(event, indent=None)


def _print_text(event: dict[str, Any]) -> None:
    event = {name: _clean(value) for name, value in event.items()}
    try:
        line = format_event(event, paint)
    except (KeyError, TypeError):
        # An event of a newer server, or of another program.
        line = json.dumps(event)
    show([line])


def _clean(value: object) -> object:
    """Return a value without control characters in its texts: names come from clients."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {name: _clean(item) for name, item in value.items()}
    return value


def _report_unreadable(log_reader: Tail) -> None:
    for name, why in log_reader.unreadable.items():
        say(f"{name}: {why}")
    log_reader.unreadable.clear()


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


def _or_fail(folder: Path, call: Callable[[], T]) -> T:
    try:
        return call()
    except OSError as error:
        fail([f"{error.filename or folder}: {error.strerror}"])
