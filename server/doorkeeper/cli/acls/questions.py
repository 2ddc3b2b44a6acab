"""``doorkeeper acls explain``, ``who-can`` and ``what-can``.

The answers are the engine's own; nothing is changed.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from doorkeeper.acl.access import Access
from doorkeeper.acl.access import what_can as what_one_can
from doorkeeper.acl.access import who_can as who_may
from doorkeeper.acl.bulk import load
from doorkeeper.acl.decision import Question
from doorkeeper.acl.explaining import ANY_HOST, changed, explanation
from doorkeeper.acl.formats.names import FormatError
from doorkeeper.acl.model import WILDCARD_PRINCIPAL, AclOperation, ResourceType
from doorkeeper.cli.acls.explanations import Told, lines_of, record_of, sentence
from doorkeeper.cli.acls.question_options import (
    host_option,
    operation_option,
    principal_option,
    resource_of,
    resource_option,
)
from doorkeeper.cli.acls.sources import (
    Source,
    SourceError,
    bindings_in,
    judging,
    policy_options,
    source_of,
    source_options,
)
from doorkeeper.cli.acls.texts import binding_of_row, row
from doorkeeper.cli.completing import files
from doorkeeper.cli.failures import fail
from doorkeeper.cli.options import output_option
from doorkeeper.cli.terminal import painted, printable, say, show, show_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from doorkeeper.acl.access import Power
    from doorkeeper.acl.model import AclBinding
    from doorkeeper.acl.snapshot import Snapshot
    from doorkeeper.cli.acls.sources import Judging

DENIED: Final = 3
"""The status of ``explain --exit-status`` where the answer is no."""

_STATUSES = """
\b
Exit statuses: 0 answered; 1 it cannot be, said on stderr; 2 wrong usage; 130 ended by Ctrl-C.
"""
_SOURCES = """
The ACLs are those of --file, of the servers at --bootstrap-server, or else of the store that
--config names (./data without it), whose server may run. What decides beside them is told
with the answer: --config says it, beside the others too, or --super-users and --allow-everyone
do; what nobody says is assumed.
"""


class State(NamedTuple):
    """The ACLs of a source, and what decides beside them."""

    source: Source
    judging: Judging
    snapshot: Snapshot

    def lines(self) -> list[str]:
        """Return where the answer comes from, for people."""
        lines = [f"ACLs: {len(self.snapshot)}, of {self.source.description}"]
        lines += self.judging.lines()
        return lines if self.source.note is None else [*lines, f"mind: {self.source.note}"]

    def record(self) -> dict[str, Any]:
        """Return the same for JSON."""
        return {
            "source": self.source.description,
            "acls": len(self.snapshot),
            "note": self.source.note,
            "policy": self.judging.record(),
        }


def state_of(options: dict[str, Any], *, failed: int = 1, bare_principals: bool = False) -> State:
    """Return what the options of a source and a policy lead to; what cannot be read ends it."""
    super_users, allow_everyone = options.pop("super_users"), options.pop("allow_everyone")
    try:
        source = source_of(options, bare_principals=bare_principals)
        bindings = asyncio.run(source.read())
    except SourceError as error:
        fail(error.problems, failed)
    decides = judging(source, super_users, allow_everyone=allow_everyone)
    return State(source, decides, snapshot_of(bindings))


def snapshot_of(bindings: Iterable[AclBinding]) -> Snapshot:
    """Return the state with these bindings; nobody asks for their ids."""
    return load(("", each) for each in bindings)


@click.command(
    epilog=f"""{_SOURCES}
An ACL is given as a row, as it is shown: KafkaPrincipal,ResourceType,PatternType,ResourceName,
Operation,PermissionType,Host.

\b
Exit statuses: 0 answered; 1 it cannot be, said on stderr; 2 wrong usage;
3 denied, with --exit-status; 130 ended by Ctrl-C.

\b
Examples:
  doorkeeper acls explain --principal User:alice --operation Read --topic orders
  doorkeeper acls explain --principal User:alice --operation Read --topic orders \\
                          --host 10.0.0.7 --file acls.txt --super-users 'User:admin'
  doorkeeper acls explain --principal User:alice --operation Write --topic orders \\
                          --with 'User:alice,TOPIC,PREFIXED,ord,WRITE,ALLOW,*'
"""
)
@principal_option
@operation_option
@resource_option
@host_option
@click.option(
    "--with",
    "added",
    metavar="ROW|FILE",
    multiple=True,
    shell_complete=files,
    help="What if this ACL, or those of a file, were there too; may be repeated.",
)
@click.option(
    "--without",
    "removed",
    metavar="ROW|FILE",
    multiple=True,
    shell_complete=files,
    help="What if this ACL, or those of a file, were not there; may be repeated.",
)
@source_options
@policy_options
@output_option
@click.option("--exit-status", is_flag=True, help=f"End with {DENIED} where the answer is no.")
def explain(
    principal: str,
    operation: AclOperation,
    host: str,
    added: tuple[str, ...],
    removed: tuple[str, ...],
    output: str,
    *,
    exit_status: bool,
    **options: Any,  # noqa: ANN401  those of resource, source and policy
) -> None:
    """Say whether one may do a thing, why, and what would turn the answer round."""
    resource = resource_of(options, operation)
    state = state_of(options)
    question = Question(principal, host, operation, *resource)
    before = after = _told(state, state.snapshot, question)
    if added or removed:
        after = _told(state, _what_if(state.snapshot, added, removed), question)
    if output == "json":
        found = record_of(after) | state.record()
        if added or removed:
            found["before"] = record_of(before)
        show_json(found)
    else:
        head = [f"before: {sentence(before.explanation)}", "what if:"] if added or removed else []
        show([*head, *lines_of(after), *state.lines()])
    if exit_status and not after.explanation.decision.allowed:
        raise SystemExit(DENIED)


def _told(state: State, snapshot: Snapshot, question: Question) -> Told:
    policy = state.judging.policy
    return Told(explanation(policy, snapshot, question), policy, snapshot, state.source)


def _what_if(snapshot: Snapshot, added: Sequence[str], removed: Sequence[str]) -> Snapshot:
    try:
        going = [each for text in removed for each in _given(text)]
        coming = [each for text in added for each in _given(text)]
    except SourceError as error:
        fail(error.problems)
    for each in going:
        if each not in snapshot:
            say(f"--without: there is no ACL {row(each)}")
    return changed(snapshot, coming, going)


def _given(text: str) -> list[AclBinding]:
    """Return the bindings of a file, where there is one of this name, or else of a row."""
    if "," not in text or os.path.exists(text):  # noqa: PTH110  a row may be too long for a Path
        return bindings_in(text)
    try:
        return [binding_of_row(text)]
    except FormatError as error:
        raise SourceError(f"{text}: neither a file nor a row: {error}") from error


@click.command(
    name="who-can",
    epilog=f"""
User:* stands for everybody whom no ACL names.
{_SOURCES}{_STATUSES}
\b
Examples:
  doorkeeper acls who-can --operation Write --topic orders
  doorkeeper acls who-can --operation Alter --cluster --file acls.csv --output json
  doorkeeper acls who-can --operation Read --topic orders \\
                          --bootstrap-server broker:9092 --command-config admin.properties
""",
)
@operation_option
@resource_option
@source_options
@policy_options
@output_option
def who_can(operation: AclOperation, output: str, **options: Any) -> None:  # noqa: ANN401  as above
    """Say who may do a thing, and from where."""
    resource = resource_of(options, operation)
    state = state_of(options)
    found = who_may(state.judging.policy, state.snapshot, operation, *resource)
    if output == "json":
        rows = [
            {
                "principal": each.principal,
                "everywhere": each.everywhere,
                "hosts": list(each.hosts),
                "notFrom": list(each.not_from),
                "superUser": each.principal in state.judging.policy.super_users,
            }
            for each in found
        ]
        show_json({"who": rows, **state.record()})
        return
    show([*(_who(each, state.judging) for each in found), *_end(found, "nobody"), *state.lines()])


def _who(access: Access, decides: Judging) -> str:
    note = "  (super user)" if access.principal in decides.policy.super_users else ""
    return f"{painted(printable(access.principal), 'green')}  {_where(access)}{note}"


def _end(found: Sequence[object], nothing: str) -> list[str]:
    return [""] if found else [nothing, ""]


def _where(access: Access) -> str:
    if not access.everywhere:
        return f"from {', '.join(access.hosts)}"
    if access.not_from:
        return f"from everywhere but {', '.join(access.not_from)}"
    return "from everywhere"


_TYPES = [each.name.lower().replace("_", "-") for each in ResourceType if each > ResourceType.ANY]


@click.command(
    name="what-can",
    epilog=f"""
The operations of a row hold for what its pattern covers and no narrower row does.
{_SOURCES}{_STATUSES}
\b
Examples:
  doorkeeper acls what-can --principal User:alice
  doorkeeper acls what-can --principal User:alice --host 10.0.0.7 --resource-type topic
""",
)
@principal_option
@host_option
@click.option(
    "--resource-type",
    "resource_types",
    type=click.Choice(_TYPES),
    multiple=True,
    help="Only on these; may be repeated.",
)
@source_options
@policy_options
@output_option
def what_can(
    principal: str,
    host: str,
    resource_types: tuple[str, ...],
    output: str,
    **options: Any,  # noqa: ANN401  those of source and policy
) -> None:
    """Say what one may do, pattern by pattern."""
    state = state_of(options)
    kinds = [ResourceType[each.upper().replace("-", "_")] for each in resource_types]
    found = [
        each
        for kind in dict.fromkeys(kinds or [ResourceType.ANY])
        for each in what_one_can(state.judging.policy, state.snapshot, principal, host, kind)
    ]
    if output == "json":
        show_json({"can": _rows(found), **state.record()})
        return
    where = "" if host == ANY_HOST else f" from {host}"
    who = "everybody else" if principal == WILDCARD_PRINCIPAL else printable(principal)
    lines = [*map(_power, found), *_end(found, "nothing")]
    show([*lines, f"so for {who}{where}", *state.lines()])


def _power(power: Power) -> str:
    (kind, name, how), operations = power
    words = ", ".join(each.name for each in operations) or "nothing"
    return f"{kind.name} {how.name} {painted(printable(name), 'cyan')}  {words}"


def _rows(powers: Iterable[Power]) -> list[dict[str, Any]]:
    return [
        {
            "resourceType": kind.name,
            "name": name,
            "patternType": how.name,
            "operations": [each.name for each in operations],
        }
        for (kind, name, how), operations in powers
    ]
