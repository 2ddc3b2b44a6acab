"""``doorkeeper audit``: ``verify`` and ``tail`` of an audit trail's folder."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from doorkeeper.audit.showing import format_event
from doorkeeper.audit.tailing import Tail
from doorkeeper.audit.verifying import Verdict, verify_log
from doorkeeper.cli.interrupts import INTERRUPTED
from doorkeeper.cli.terminal import FAILED, fail, paint, printable, say, show, show_json

if TYPE_CHECKING:
    from collections.abc import Iterable

POLL_S: Final = 0.2
"""How often a trail that is followed is looked at."""

_output_option = click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people, or JSON.",
)
_folder_argument = click.argument("folder", type=click.Path(path_type=Path))


@click.group(
    name="audit",
    epilog="""
\b
Exit statuses: 0 done; 1 the trail is not whole, or cannot be read; 2 wrong usage;
130 ended by Ctrl-C.

\b
Examples:
  doorkeeper audit verify /var/log/doorkeeper/audit
  doorkeeper audit tail /var/log/doorkeeper/audit --outcome DENIED
""",
)
def command() -> None:
    """Check and read an audit trail (doorkeeper.audit.dir)."""


@command.command(
    epilog="""
\b
Exit statuses: 0 the trail is whole; 1 it is not, or cannot be read; 2 wrong usage.

\b
Examples:
  doorkeeper audit verify /var/log/doorkeeper/audit
  doorkeeper audit verify audit --output json
"""
)
@_folder_argument
@_output_option
def verify(folder: Path, output: str) -> None:
    """Say whether FOLDER has every event: no gaps, no torn lines, in order."""
    verdict: Verdict = _or_fail(folder, lambda: verify_log(folder))
    if output == "json":
        show_json(verdict.as_json())
    else:
        show(_told(folder, verdict))
    if not verdict.is_whole:
        raise SystemExit(FAILED)


@command.command(
    epilog="""
\b
Each filter must be met; a filter that is given several times is met by any of
its values.

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
    help="How many events to begin with.",
)
@click.option("--from-start", is_flag=True, help="Begin with the first event.")
@click.option("--follow/--no-follow", default=True, show_default=True, help="Wait for what comes.")
@click.option("--kind", multiple=True, help="Only these: decision, change, login, ...")
@click.option(
    "--outcome",
    multiple=True,
    type=click.Choice(["ALLOWED", "DENIED", "SUCCEEDED", "FAILED"], case_sensitive=False),
    help="Only events with this outcome.",
)
@click.option("--principal", multiple=True, help="Only what this principal did: User:alice.")
@click.option("--resource", multiple=True, help="Only what is about a resource of this name.")
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
    """Print the last events of FOLDER, and those that come."""
    trail = Tail(folder)
    wanted = _Wanted(**filters)
    out = _print_json if output == "json" else _print_text
    _or_fail(folder, lambda: sorted(folder.iterdir()))
    try:
        events = trail.new() if from_start else iter(_last(trail, wanted, lines))
        while True:
            for event in events:
                if wanted.has(event):
                    out(event)
            sys.stdout.flush()
            _tell_unreadable(trail)
            if not follow:
                return
            time.sleep(POLL_S)
            events = _or_fail(folder, trail.new)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        raise  # whoever read it has seen enough; Click ends without a word
    except OSError as error:
        fail([f"{error.filename or folder}: {error.strerror}"])


class _Wanted:
    """Which events are printed."""

    def __init__(
        self,
        *,
        kind: tuple[str, ...],
        outcome: tuple[str, ...],
        principal: tuple[str, ...],
        resource: tuple[str, ...],
    ) -> None:
        self._allowed = {
            name: set(values)
            for name, values in (
                ("kind", kind),
                ("outcome", outcome),
                ("principal", principal),
                ("resource_name", resource),
            )
            if values
        }

    @property
    def everything(self) -> bool:
        return not self._allowed

    def has(self, event: dict[str, Any]) -> bool:
        return all(self._meets(event, name, values) for name, values in self._allowed.items())

    @staticmethod
    def _meets(event: dict[str, Any], name: str, values: set[str]) -> bool:
        if name == "resource_name" and event.get("kind") == "change":
            acls = (*event.get("added", ()), *event.get("removed", ()))
            names = [each["resource_name"] for each in acls]
            names += [each["name"] for each in event.get("items", ())]
            return not values.isdisjoint(names)
        return event.get(name) in values


def _last(trail: Tail, wanted: _Wanted, lines: int) -> list[dict[str, Any]]:
    """Return the last events that are wanted; with filters everything must be read for it."""
    if wanted.everything:
        return trail.last_lines(lines)
    found = [event for event in trail.new() if wanted.has(event)]
    return found[len(found) - lines if lines < len(found) else 0 :]


def _print_json(event: dict[str, Any]) -> None:
    show_json(event, indent=None)


def _print_text(event: dict[str, Any]) -> None:
    event = _clean(event)
    try:
        line = format_event(event, paint)
    except (KeyError, TypeError):
        # An event of a newer server, or of somebody else.
        line = json.dumps(event)
    show([line])


def _clean(value: Any) -> Any:  # noqa: ANN401 - what JSON may hold
    """Return a value whose texts move no cursor: names come from clients."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [_clean(each) for each in value]
    if isinstance(value, dict):
        return {name: _clean(each) for name, each in value.items()}
    return value


def _tell_unreadable(trail: Tail) -> None:
    for name, why in trail.unreadable.items():
        say(f"{name}: {why}")
    trail.unreadable.clear()


def _told(folder: Path, verdict: Verdict) -> Iterable[str]:
    for node in sorted(verdict.first):
        yield f"node {node}: events {verdict.first[node]} to {verdict.last[node]}"
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(verdict.events.items()))
    writing = f", {verdict.open_files} being written" if verdict.open_files else ""
    total = verdict.events.total()
    yield f"{verdict.files} files{writing}; {total} events: {kinds or 'none'}"
    if verdict.dropped:
        yield paint(f"{verdict.dropped} were dropped, as the trail says itself", "yellow")
    for problem in verdict.problems:
        place = problem.file if problem.line is None else f"{problem.file} line {problem.line}"
        colour = "yellow" if problem.kind == "clock" else "red"
        yield f"{paint(problem.kind, colour)}: {printable(f'{place}: {problem.text}')}"
    if (more := verdict.counts.total() - len(verdict.problems)) > 0:
        yield f"... and {more} more"
    if verdict.is_whole:
        yield paint(f"{folder}: the trail is whole", "green")
    else:
        yield paint(f"{folder}: the trail is not whole", "red", bold=True)


def _or_fail(folder: Path, call: Any) -> Any:  # noqa: ANN401 - whatever it returns
    try:
        return call()
    except OSError as error:
        fail([f"{error.filename or folder}: {error.strerror}"])
