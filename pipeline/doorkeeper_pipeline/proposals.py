"""A proposal as files: commands that a person reads and a shell runs, or a set of ACLs to apply.

    BOOTSTRAP=broker:9092 bash removal.sh --command-config admin.properties
    doorkeeper acls apply removal.json kafka://broker:9092 --plan

The script adds before it removes, so that no kept access is lost in between, and the tool asks
before it removes a DENY. A binding that no command can name is a comment; the file has everything.
If no command can add one, all removals are comments too: it may stand for what they take away.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import polars as pl

from doorkeeper.acls.formats import choosing
from doorkeeper.acls.formats.choosing import Format
from doorkeeper.acls.formats.records import record_of_changes
from doorkeeper.acls.model import AclBinding
from doorkeeper.acls.plan import Plan
from doorkeeper.acls.words import region_words
from doorkeeper_pipeline.amounts import amount, first
from doorkeeper_pipeline.bindings import text_of
from doorkeeper_pipeline.evaluation.evidence import NOTHING_ALLOWED, describe_doubt
from doorkeeper_pipeline.evaluation.literals import commands_of, frame_of
from doorkeeper_pipeline.evaluation.unread import describe_unread
from doorkeeper_pipeline.jobs.backtest import ALLOW_TO_DENY
from doorkeeper_pipeline.jobs.propose import Proposal

PREFIXES_LISTED = 20
PATTERNS_LISTED = 20

_HEAD = """\
#!/usr/bin/env bash
# BOOTSTRAP=host:port bash <this file> [--command-config FILE]
#
{summary}
set -euo pipefail
: "${{BOOTSTRAP:?is the address of a broker, host:port}}"
"""


def script_of(proposal: Proposal) -> str:
    """Return the changes as a script of ``kafka-acls.sh`` commands; its arguments go to each."""
    summary = "".join(f"# {line}\n" for line in summary_of(proposal)).rstrip("\n")
    lines = [_HEAD.format(summary=summary)]
    additions = list(_commands(proposal.added, remove=False))
    removals = list(_commands(proposal.removed, remove=True))
    if any(line.startswith("#") for line in additions):
        removals = [f"# {line}" for line in removals]
        removals.insert(0, "# not removed, since no command can add all of the above: use a plan\n")
    for title, bindings, commands in (
        ("add", proposal.added, additions),
        ("remove", proposal.removed, removals),
    ):
        if bindings:
            lines += [f"\n# {title}: {len(bindings):,}\n", *commands]
    return "".join(lines)


def plan_of(proposal: Proposal) -> str:
    """Return the changes as a plan of ``doorkeeper acls apply --plan``, for any address.

    ACLs that were created after the listing are in no set of the run. A plan leaves them alone;
    the difference between a newer listing and the proposed set would remove them.
    """
    unchanged = len(proposal.bindings) - len(proposal.added)
    plan = Plan(tuple(proposal.added), tuple(proposal.removed), unchanged, 0)
    return json.dumps(record_of_changes(plan), ensure_ascii=False, indent=1) + "\n"


def file_of(proposal: Proposal, how: Format) -> str:
    """Return the whole proposed set in one of the formats of ``doorkeeper.acls.formats``.

    YAML begins with a comment for each risk; the other formats have no comments.

    Raises:
        FormatError: the format has no form for one of the bindings, or is only read.

    """
    risks = _risks(proposal) if how is choosing.Format.YAML else []
    return "".join(f"# {risk}\n" for risk in risks) + choosing.write(proposal.bindings, how)


def summary_of(proposal: Proposal) -> list[str]:
    """Return in a few lines the changes, and the recorded decisions that they would change."""
    is_loss = pl.col("turn") == ALLOW_TO_DENY
    counts = proposal.backtest.group_by(is_loss).agg(pl.col("count").sum())
    forbids, allows = (dict(counts.iter_rows()).get(loss, 0) for loss in (True, False))
    turned = (
        f"of the whole history it newly forbids {forbids:,} decisions and newly allows {allows:,}"
    )
    if proposal.allowed == 0 and not forbids:
        turned = f"of the whole history it newly allows {allows:,} decisions; {NOTHING_ALLOWED}"
    before = len(proposal.bindings) - len(proposal.added) + len(proposal.removed)
    return [
        (
            f"{before:,} -> {len(proposal.bindings):,} ACLs: {len(proposal.added):,} added,"
            f" {len(proposal.removed):,} removed"
        ),
        turned,
        *_opening_of(proposal),
        *(
            ascii(f"removes ACLs of {principal}, unneeded only while it is in super.users")[1:-1]
            for principal in proposal.super_users
        ),
        *(f"kept, accepted until {day}: {text_of(binding)}" for binding, day in proposal.accepted),
        *_patterns(proposal),
        *_wider(proposal),
        *_covered_names(proposal),
        *(ascii(line)[1:-1] for line in describe_doubt(proposal.doubtful)),
        *(ascii(line)[1:-1] for line in describe_unread(proposal.unread)),
        *_risks(proposal),
    ]


def _opening_of(proposal: Proposal) -> list[str]:
    """Return a line about removals that open resources under another policy than the given."""
    if not proposal.closing:
        return []
    acls = amount(len(proposal.closing), "removed ACL")
    opened = f"it would open the resources of {acls} to everyone; then run with --allow-everyone"
    return [f"with allow.everyone.if.no.acl.found=true {opened}"]


def _risks(proposal: Proposal) -> list[str]:
    # ascii() escapes whatever could end a comment: names come from outside.
    return [f"RISK: principals may lose access: {ascii(risk)[1:-1]}" for risk in proposal.risks]


def changes_of(proposal: Proposal) -> list[str]:
    """Return a line for each change: + for an added ACL, - for a removed one."""
    return [
        *(f"+ {text_of(binding)}" for binding in proposal.added),
        *(f"- {text_of(binding)}" for binding in proposal.removed),
    ]


def _patterns(proposal: Proposal) -> list[str]:
    """Return a line for each grant that stays in place of literal ones."""
    lines = [
        ascii(f"keeps the pattern: {text_of(binding)}: {reason}")[1:-1]
        for binding, reason in proposal.patterns[:PATTERNS_LISTED]
    ]
    more = len(proposal.patterns) - PATTERNS_LISTED
    return [*lines, *([f"keeps the pattern: and of {more:,} more ACLs"] if more > 0 else [])]


def _wider(proposal: Proposal) -> list[str]:
    """Return a line for each region that the ACLs in force do not allow."""
    return [f"WIDER: newly allows {ascii(region_words(region))[1:-1]}" for region in proposal.wider]


def _covered_names(proposal: Proposal) -> list[str]:
    """Return a line for each proposed prefix that covers names which its principal did not use."""
    rows = [row for row in proposal.least_privilege.to_dicts() if row["covers"]]
    lines = []
    for row in rows[:PREFIXES_LISTED]:
        what = f"{row['operation']} on the prefix {row['resource_type']} {row['resource_name']}"
        names = f"{what} covers unused names too: {first(row['covers'])}"
        lines.append(f"newly covered: {row['principal']}: {names}")
    if len(rows) > PREFIXES_LISTED:
        lines.append(f"newly covered: and by {len(rows) - PREFIXES_LISTED:,} more prefixes")
    return [ascii(line)[1:-1] for line in lines]


def _commands(bindings: Sequence[AclBinding], *, remove: bool) -> Iterator[str]:
    commands = commands_of(frame_of(bindings), remove=remove, arguments='"$@"')
    for binding, command in zip(bindings, commands, strict=True):
        if command:
            yield f"{command}\n"
        else:
            # ascii() escapes whatever could end the comment or be obeyed by a terminal.
            verb = "remove" if remove else "add"
            yield f"# no command can {verb} this: {text_of(binding)!a}\n"
