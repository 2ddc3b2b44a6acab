"""``doorkeeper learn``: the least ACLs of a command, found by running it, or of a log."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.effective_changes import DecisionState
from doorkeeper.acls.host_sets import contains
from doorkeeper.acls.model import ANONYMOUS, WILDCARD_PRINCIPAL, AclOperation
from doorkeeper.acls.recorded_access import least_acls, unneeded_acls
from doorkeeper.cli.acls.addresses import Location, check_command_config, read_contents
from doorkeeper.cli.acls.printing import row
from doorkeeper.cli.addresses import ADDRESS
from doorkeeper.cli.files import write_text
from doorkeeper.cli.inspection import Examined
from doorkeeper.cli.json_records.sets import Learnt
from doorkeeper.cli.learn.present import NOT_COMPARED, new_regions, read_present, refuse
from doorkeeper.cli.learn.printing import OUTPUTS, lines_of, record_of
from doorkeeper.cli.options import PATH, command_config_option
from doorkeeper.cli.repositories.addresses import Address, AddressKind
from doorkeeper.cli.terminal import FAILED, fail, json_text, printable, say, show, show_json
from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.json_output import has_json
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper.cli.vocabulary.progress import progress

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.recorded_access import NeededAcl, RecordedAccess
    from doorkeeper.base.properties import PropertiesFile
    from doorkeeper.cli.learn.server import Run
    from doorkeeper.cli.repositories.repository import AclContents

LOOPBACK = "127.0.0.1"
"""The address from which COMMAND connects."""

_SHOWN_MAX = 10
"""The number of principals in the sentence on a log without requests of the wanted one."""

_NOT_STARTED = 127
"""The status of a command that cannot be started, as in a shell."""


class _Report(Struct, frozen=True):
    """The options that select and print ACLs.

    ``present`` are the ACLs in force; None where they were not given.
    """

    output: str
    out_file: Path | None
    include_optional: bool
    present: DecisionState | None
    allow_wider: bool

    def counts(self, access: RecordedAccess) -> bool:
        return access.reported or self.include_optional

    def write_compared(self, recorded: Sequence[RecordedAccess]) -> list[NeededAcl]:
        """Print the least ACLs for accesses, with what they newly allow, and return them.

        The process ends where they allow more than the ACLs in force, unless that is permitted.
        """
        needed = least_acls(recorded)
        if not recorded:
            say(
                "note: the refusal of these requests would only shorten responses;"
                " --include-optional lists their ACLs"
            )
        regions: list[str] | None = None
        if self.present is None:
            say(NOT_COMPARED)
        else:
            regions = new_regions(self.present, (acl.binding for acl in needed))
            if not self.allow_wider:
                refuse(regions)
        self.write(needed, regions)
        return needed

    def write(self, needed: Sequence[NeededAcl], regions: Sequence[str] | None = None) -> None:
        """Print ACLs with their reasons, after the regions that they newly allow."""
        if self.output == "json":
            record = record_of(needed, regions)
            if self.out_file is None:
                show_json(record)
                return
            lines = [json_text(record)]
        else:
            head = (f"# newly allows: {region}" for region in regions or ())
            lines = [*head, *lines_of(needed, self.output)]
        if self.out_file is None:
            if lines:
                show(lines)
            return
        write_text(self.out_file, "".join(f"{line}\n" for line in lines))


@click.command(
    cls=Command,
    name="learn",
    epilog="""
\b
The server is in memory, on a free port of the loopback interface. COMMAND finds its address
(127.0.0.1:PORT, without TLS and login) in these environment variables:
  KAFKA_BOOTSTRAP_SERVERS, BOOTSTRAP_SERVERS, DOORKEEPER_BOOTSTRAP_SERVERS

\b
Everything is allowed, and the ACLs are printed when COMMAND has ended. With --check, exactly the
ACLs of a file are enforced instead; missing ACLs are printed, and unneeded ones are listed on
stderr.
Signals are passed on to COMMAND.

\b
With --acls, the result is compared with the ACLs in force: if it would allow more, the additional
requests are printed, and nothing is written without --allow-wider.

\b
With --log, nothing is run: the ACLs are derived from the allowed requests in a log, which is an
audit log or a kafka-authorizer.log with level DEBUG. Further arguments are more files.

\b
Exit statuses: 0 done; 1 with --check: a request was denied; with --acls: more would be
allowed; or there is no request to learn from, the server does not start, or a file cannot be
read; 2 wrong usage; 127 COMMAND cannot be started; otherwise the status of COMMAND, 128 + n if
signal n ended it.

\b
Examples:
  doorkeeper learn --principal User:svc -- pytest -m integration
  doorkeeper learn --principal User:svc --output yaml --out acls.yaml -- ./my-service
  doorkeeper learn --check acls.yaml -- ./my-service
  doorkeeper learn --principal User:svc --log /var/log/kafka/kafka-authorizer.log*
  doorkeeper learn --principal User:svc --acls acls.txt --allow-wider -- ./my-service
""",
)
@named_option(
    "--principal",
    default_text=f"{ANONYMOUS}; with --check, the only one in the file; with --log, all",
)
@named_option("--output", type=click.Choice(OUTPUTS), default=OUTPUTS[0], show_default=True)
@has_json(Learnt)
@named_option("--out", "out_file", type=PATH, default_text="standard output")
@named_option("--check", "acl_file", type=PATH)
@named_option(
    "--log",
    "first_log",
    text="Doorkeeper's audit log, or a kafka-authorizer.log with level DEBUG.",
    type=PATH,
)
@named_option(
    "--topics", "topic_file", type=PATH, default_text="none; topics are created when used"
)
@named_option("--include-optional", is_flag=True)
@named_option(
    "--acls",
    "present",
    type=ADDRESS,
    default_text="none; nothing is compared",
)
@command_config_option
@named_option("--allow-wider", is_flag=True)
@click.argument("words", metavar="COMMAND...", nargs=-1, type=click.UNPROCESSED)
def command(
    words: tuple[str, ...],
    *,
    principal: str | None,
    acl_file: Path | None,
    first_log: Path | None,
    topic_file: Path | None,
    **options: Any,
) -> None:
    """Run COMMAND with a temporary server, and print the minimal ACLs that it needs."""
    _check_usage(words, acl_file, first_log, topic_file)
    options["present"] = _present(acl_file, options)
    if principal is not None and ":" not in principal:
        raise click.BadParameter(
            f"{principal!r}: expected: type:name, such as User:svc", param_hint="--principal"
        )
    report = _Report(**options)
    if first_log is not None:
        # A shell writes them all behind the option: --log kafka-authorizer.log*
        logs = [first_log, *map(Path, words)]
        _learn_from_logs(logs, principal, report)
        return
    enforced = None if acl_file is None else _read_file(acl_file).bindings
    if enforced is not None:
        principal = principal or _only_principal(enforced)
    name = principal or str(ANONYMOUS)
    own = None if enforced is None else _rename(enforced, name, str(ANONYMOUS))
    run = _observe(words, own, topic_file)
    _end_without_requests(run)
    accesses = _of_principal(run.accesses, name)
    counted = [
        access
        for access in accesses
        if access.allowed == (enforced is None) and report.counts(access)
    ]
    if enforced is None:
        if run.status:
            say(
                f"note: COMMAND ended with status {run.status}: what it would have done otherwise"
                " is not known"
            )
        _report_created_topics(report.write_compared(counted))
        raise SystemExit(run.status)
    needed = least_acls(counted)
    report.write(needed)
    _report_created_topics(needed)
    relevant = _relevant(enforced, name)
    here = [acl for acl in relevant if contains(acl.entry.host, LOOPBACK, networks=True)]
    if len(here) < len(relevant):
        say(
            f"note: {len(relevant) - len(here)} ACLs for hosts other than {LOOPBACK} cannot apply"
            " here, and were not checked"
        )
    _report_check(needed, unneeded_acls(here, accesses))
    # Not "if needed": no ACL can grant some requests, such as those for a topic called "*".
    raise SystemExit(FAILED if counted else run.status)


def _check_usage(
    words: Sequence[str],
    acl_file: Path | None,
    first_log: Path | None,
    topic_file: Path | None,
) -> None:
    own = acl_file is not None or topic_file is not None
    if first_log is not None and own:
        raise click.UsageError(
            "--check and --topics require a COMMAND and cannot be combined with --log"
        )
    if not words and first_log is None:
        raise click.UsageError("expected a COMMAND, or --log FILE")


def _present(acl_file: Path | None, options: dict[str, Any]) -> DecisionState | None:
    """Return the ACLs of --acls, and take the options that only they need."""
    present: Address | None = options.pop("present")
    command_config: PropertiesFile | None = options.pop("command_config")
    if acl_file is not None and present is not None:
        raise click.UsageError("--check and --acls cannot be combined")
    if present is None and (options["allow_wider"] or command_config is not None):
        raise click.UsageError("--allow-wider and --command-config require --acls")
    if present is None:
        return None
    check_command_config(command_config, (present,))
    # Before COMMAND runs: a wrong address is found at once.
    return read_present(present, command_config)


def _end_without_requests(run: Run) -> None:
    """End the process if there is nothing to learn from; COMMAND's own failure comes first."""
    nothing = (
        "nothing was learned: the server received no request that needs an ACL. Do the clients"
        " use the address in KAFKA_BOOTSTRAP_SERVERS?"
    )
    uses = sum(access.uses for access in run.accesses)
    Examined(uses, nothing).fail_if_nothing(run.status or FAILED)


def _numbers_by_principal(accesses: Iterable[RecordedAccess]) -> str:
    """Return the principals with the most requests, each with its number; empty without any."""
    uses: Counter[str] = Counter()
    for access in accesses:
        uses[access.question.principal] += access.uses
    shown = [f"{number} of {printable(name)}" for name, number in uses.most_common(_SHOWN_MAX)]
    if len(uses) > _SHOWN_MAX:
        shown.append(f"those of {len(uses) - _SHOWN_MAX} more principals")
    return ", ".join(shown)


def _learn_from_logs(paths: Sequence[Path], principal: str | None, report: _Report) -> None:
    """Print the least ACLs of the allowed requests in logs; end the process if there are none."""
    # Imported here: help and completion read no logs.
    from doorkeeper.cli.learn.log_files import LoggedRequests

    logged = LoggedRequests()
    for path in paths:
        with progress(f"reading {path}"):
            logged.read(path)
    if logged.unreadable:
        say(
            f"note: {logged.unreadable} lines could not be read; the first:"
            f" {logged.first_unreadable}"
        )
    logged_accesses = logged.accesses()
    accesses = [
        access for access in logged_accesses if principal in (None, access.question.principal)
    ]
    allowed = [access for access in accesses if access.allowed]
    refused = sum(access.uses for access in accesses if not access.allowed and access.reported)
    examined = Examined(
        len(allowed), _nothing_learned(logged_accesses, principal, logged.lines, refused)
    )
    # Before anything is written: a file without ACLs would look like an answer.
    examined.fail_if_nothing()
    report.write_compared([access for access in allowed if report.counts(access)])
    if refused:
        say(f"note: {refused} denied requests in the log are omitted")


def _nothing_learned(
    accesses: Sequence[RecordedAccess], principal: str | None, lines: int, refused: int
) -> str:
    """Return the sentence for logs without an allowed request of a principal, or of any."""
    of_principal = "" if principal is None else f" of {printable(principal)}"
    nothing = f"no request{of_principal} in {lines} lines"
    if refused:
        return (
            f"no allowed request{of_principal} in {lines} lines; {refused} were denied. Kafka logs"
            " allowed requests at level DEBUG"
        )
    if principal is not None and accesses:
        return f"{nothing}; there are {_numbers_by_principal(accesses)}"
    return nothing


def _observe(
    words: Sequence[str], acls: Iterable[AclBinding] | None, topic_file: Path | None
) -> Run:
    # Imported here: help and completion need no server.
    from doorkeeper.cli.learn.server import observe

    entities = () if topic_file is None else _read_file(topic_file).entities.entities
    try:
        return observe(words, acls=acls, entities=entities)
    except ValueError as error:
        fail([f"{topic_file}: {error}"])
    except OSError as error:
        fail([f"{words[0]}: {error.strerror}"], _NOT_STARTED)


def _read_file(path: Path) -> AclContents:
    return read_contents(Location(Address(AddressKind.FILE, str(path))))


def _only_principal(bindings: Iterable[AclBinding]) -> str:
    principals = sorted({binding.entry.principal for binding in bindings} - {WILDCARD_PRINCIPAL})
    if len(principals) > 1:
        raise click.UsageError(
            f"the file has ACLs of {len(principals)} principals: {', '.join(principals)}; select"
            " one with --principal"
        )
    return principals[0] if principals else str(ANONYMOUS)


def _rename(bindings: Iterable[AclBinding], old: str, new: str) -> list[AclBinding]:
    """Return the bindings of one principal with another name, and those of all users."""
    return [
        binding._replace(entry=binding.entry._replace(principal=new))
        if binding.entry.principal == old
        else binding
        for binding in _relevant(bindings, old)
    ]


def _relevant(bindings: Iterable[AclBinding], principal: str) -> list[AclBinding]:
    return [
        binding
        for binding in bindings
        if binding.entry.principal in (principal, WILDCARD_PRINCIPAL)
    ]


def _of_principal(accesses: Iterable[RecordedAccess], principal: str) -> list[RecordedAccess]:
    """Return the accesses with a principal: on the wire everyone is ANONYMOUS."""
    return [
        replace(access, question=access.question._replace(principal=principal))
        for access in accesses
    ]


def _report_created_topics(needed: Iterable[NeededAcl]) -> None:
    created = [
        acl.binding.pattern.name
        for acl in needed
        if acl.binding.entry.operation is AclOperation.CREATE
        and any(reason.api == "Metadata" for reason in acl.reasons)
    ]
    if created:
        say(
            f"note: CREATE is needed because these topics did not exist: {', '.join(created)}; if"
            " they exist in the target cluster, list them in a file for --topics"
        )


def _report_check(missing: Sequence[NeededAcl], unneeded: Sequence[AclBinding]) -> None:
    if missing:
        say(f"missing ACLs: {len(missing)}")
    if any(acl.binding.entry.operation is AclOperation.IDEMPOTENT_WRITE for acl in missing):
        say(
            "note: IDEMPOTENT_WRITE is listed because a producer was denied before it named a"
            " topic; WRITE on its topic, which it needs anyway, is sufficient"
        )
    when = "not needed until the refusal" if missing else "never needed"
    for binding in unneeded:
        say(f"{when}: {row(binding)}")
