"""``doorkeeper acls lint``: ACLs without effect and likely mistakes, with reasons and fixes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from doorkeeper.acls.formats.choosing import Format, write
from doorkeeper.acls.formats.names import FormatError
from doorkeeper.acls.formats.records import records
from doorkeeper.acls.lint import CODES, Finding, KnownNames, Severity
from doorkeeper.acls.lint import lint as findings_of
from doorkeeper.acls.model import ANY_BINDING, AclBinding
from doorkeeper.acls.search import find
from doorkeeper.acls.snapshot import Snapshot
from doorkeeper.cli.acls.addresses import Location
from doorkeeper.cli.acls.command_lines import commands_of, record_of_commands
from doorkeeper.cli.acls.printing import row
from doorkeeper.cli.acls.questions import POLICY_HELP, state_options, take_state
from doorkeeper.cli.completion import several_of
from doorkeeper.cli.files import read_text, write_text
from doorkeeper.cli.inspection import Examined
from doorkeeper.cli.json_records.questions import Finding as FindingRecord
from doorkeeper.cli.json_records.questions import Findings
from doorkeeper.cli.options import PATH
from doorkeeper.cli.terminal import fail, paint, printable, say, show_result
from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper.cli.vocabulary.progress import progress

PAGE: Final = "docs/reference/lint-rules.md"

FOUND: Final = 1
FAILED: Final = 2
"""As in other linters: a failure must not look like a finding."""

_FORMATS = {
    ".json": Format.JSON,
    ".csv": Format.CSV,
    ".txt": Format.KAFKA,
    ".yaml": Format.YAML,
    ".yml": Format.YAML,
}
_CODES = "\n".join(f"  {code}  {title}" for code, title in CODES.items())


def _codes(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> frozenset[str]:
    """Return the codes that begin with one of the texts."""
    starts = [start.strip() for text in values for start in text.split(",") if start.strip()]
    for start in starts:
        if not any(code.startswith(start.upper()) for code in CODES):
            raise click.BadParameter(f"found {start!r}; allowed: {', '.join(CODES)}, E, W")
    beginnings = tuple(start.upper() for start in starts)
    return frozenset(code for code in CODES if code.startswith(beginnings))


@click.command(
    cls=Command,
    epilog=f"""
Errors (E) are redundant ACLs: removing all of them changes no decision. Warnings (W) are likely
mistakes or risks.
{POLICY_HELP}
\b
Codes:
{_CODES}

\b
Exit statuses: 0 no findings; 1 findings; 2 wrong usage, the ACLs cannot be read, or there are
none; 130 ended by Ctrl-C.

\b
Examples:
  doorkeeper acls lint acls.yaml
  doorkeeper acls lint config:server.properties --select E --fix-file lean.yaml
  doorkeeper acls lint acls.csv --ignore W006,W007 --output json
  kafka-topics.sh --bootstrap-server localhost:9092 --list > topics.txt
  doorkeeper acls lint kafka://localhost:9092 --known-topics topics.txt
""",
)
@state_options
@named_option(
    "--select", multiple=True, callback=_codes, shell_complete=several_of(CODES), default_text="all"
)
@named_option(
    "--ignore",
    multiple=True,
    callback=_codes,
    shell_complete=several_of(CODES),
    default_text="none",
)
@named_option("--implied", is_flag=True)
@named_option("--known-users", type=PATH, default_text="the SCRAM users of a store, else unknown")
@named_option("--known-topics", type=PATH, default_text="the topics of a store, else unknown")
@json_output(Findings)
@named_option("--fix-file", type=click.Path(path_type=Path, dir_okay=False))
def lint(
    select: frozenset[str],
    ignore: frozenset[str],
    output: str,
    fix_file: Path | None,
    known_users: Path | None,
    known_topics: Path | None,
    *,
    implied: bool,
    **options: Any,
) -> None:
    """Find redundant ACLs and likely mistakes, each with a reason and a fix."""
    if fix_file is not None and fix_file.suffix.lower() not in _FORMATS:
        raise click.UsageError(f"--fix-file: found {fix_file}; allowed: {', '.join(_FORMATS)}")
    state = take_state(options, status=FAILED)
    # Codes are selected before the analysis, not after it: an ACL that stays may be the reason
    # for which another one is not redundant.
    codes = (select or frozenset(CODES)) - ignore
    today = datetime.fromtimestamp(time.time_ns() // 1_000_000_000, UTC).date()
    contents = state.contents
    accepted = [acceptance for _, acceptance in contents.accepted if acceptance.until >= today]

    def accepts(code: str, binding: AclBinding) -> bool:
        return any(acceptance.accepts(code, binding) for acceptance in accepted)

    known = KnownNames(
        contents.users if known_users is None else _names_in(known_users),
        contents.topics if known_topics is None else _names_in(known_topics),
    )
    with progress("looking for findings"):
        findings = findings_of(
            state.policy.policy,
            state.snapshot,
            codes,
            implied=implied,
            accepts=accepts if accepted else None,
            known=known,
        )
    report: Findings = {
        "findings": [_record(finding, state.location) for finding in findings],
        **state.record(),
    }
    lines = [line for finding in findings for line in _lines(finding, state.location)]
    show_result(output, report, lines)
    if output != "json":
        # On stderr, so that stdout has findings only.
        for line in state.lines():
            say(line)
    if fix_file is not None:
        _write(fix_file, state.snapshot, findings)
    for position, past in contents.accepted:
        if past.until < today:
            expiry = f"the acceptance of {past.code} expired on {past.until}"
            say(f"note: {position}: {expiry}: {past.reason}")
    certain = sum(finding.severity is Severity.ERROR for finding in findings)
    state.examined.fail_if_nothing(FAILED)
    say(f"{len(findings)} findings: {certain} redundant, {len(findings) - certain} likely mistakes")
    if findings:
        say(f"for the meaning of the codes see {PAGE}")
        raise SystemExit(FOUND)


def _names_in(path: Path) -> frozenset[str]:
    """Return the names in a file; none end the process.

    A list that failed leaves an empty file: every ACL would seem to be for something that is gone.
    """
    lines = read_text(path, FAILED).splitlines()
    names = frozenset(line.strip() for line in lines if line.strip())
    Examined(len(names), f"{path}: found no name; expected: one per line").fail_if_nothing(FAILED)
    return names


def _lines(finding: Finding, location: Location) -> list[str]:
    odd, *others = finding.bindings
    colour = "red" if finding.severity is Severity.ERROR else "yellow"
    head = paint(f"{finding.code} {finding.title}", colour, bold=True)
    lines = [f"{head}: {printable(finding.reason)}", f"  {row(odd)}"]
    lines += [f"    beside {row(binding)}" for binding in others]
    fix = finding.fix
    lines.append(f"  fix: {printable(fix.words)}")
    kafkas, ours = commands_of(fix.added, fix.removed, location)
    # A fix without a command would look like a fix that needs none.
    if fix.removed and len(kafkas) < len(fix.added) + len(fix.removed):
        leaves = "; --fix-file omits it" if finding.severity is Severity.ERROR else ""
        lines.append(f"  kafka-acls.sh cannot remove it{leaves}")
    return lines + [f"  $ {line}" for line in (*kafkas, *ours)]


def _record(finding: Finding, location: Location) -> FindingRecord:
    fix = finding.fix
    return {
        "code": finding.code,
        "page": f"{PAGE}#{finding.code.lower()}",
        "title": finding.title,
        "severity": finding.severity.value,
        "reason": finding.reason,
        "bindings": list(records(finding.bindings)),
        "fix": {
            "words": fix.words,
            **record_of_commands(fix.added, fix.removed, location),
        },
    }


def _write(path: Path, snapshot: Snapshot, findings: Sequence[Finding]) -> None:
    redundant = {
        binding
        for finding in findings
        if finding.severity is Severity.ERROR
        for binding in finding.fix.removed
    }
    left = [binding for binding in find(snapshot, ANY_BINDING) if binding not in redundant]
    try:
        text = write(left, _FORMATS[path.suffix.lower()])
    except FormatError as error:
        fail([f"{path}: {error}"], FAILED)
    write_text(path, text, FAILED)
    say(f"{path}: {len(left)} ACLs, without {len(redundant)} redundant ones")
