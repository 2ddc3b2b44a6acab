"""``doorkeeper-pipeline propose``: a smaller set of ACLs, and the decisions that it changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper_pipeline.bindings import word
from doorkeeper_pipeline.cli import json_records, options, starting
from doorkeeper_pipeline.cli.engine import ChosenEngine, engine_options
from doorkeeper_pipeline.cli.failures import HELP, STATUSES, printable, show
from doorkeeper_pipeline.cli.json_records import show_record
from doorkeeper_pipeline.errors import Conflicting, PipelineError
from doorkeeper_pipeline.evaluation.evidence import NO_THRESHOLDS
from doorkeeper_pipeline.evaluation.unread import NOTHING_UNREAD, describe_uncounted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.acls.formats.choosing import Format
    from doorkeeper_pipeline.evaluation.evidence import Evidence
    from doorkeeper_pipeline.jobs.propose import Proposal

LEAST_PRIVILEGE = "least-privilege"
KINDS = (LEAST_PRIVILEGE, "unused", "overbroad")


@click.command("propose", cls=Command, epilog=STATUSES, context_settings=HELP)
@options.out
@options.cluster
@named_option("--out", "to", type=click.Path(dir_okay=False, path_type=Path))
@named_option("--changes", type=click.Path(dir_okay=False, path_type=Path))
@named_option(
    "--method",
    "kinds",
    multiple=True,
    type=click.Choice(KINDS),
    default=("unused",),
    show_default=True,
)
@named_option("--principal", "principals", multiple=True)
@named_option("--prefixes", is_flag=True)
@named_option("--allow-wider", is_flag=True)
@named_option("--acls", multiple=True)
@options.findings
@named_option("--accept-lost-access", is_flag=True)
@engine_options
@json_output(json_records.Proposed)
def command(
    *,
    out: Path | str,
    cluster: str,
    to: Path | None,
    changes: Path | None,
    kinds: tuple[str, ...],
    principals: tuple[str, ...],
    prefixes: bool,
    allow_wider: bool,
    acls: tuple[str, ...],
    findings: Path | None,
    accept_lost_access: bool,
    chosen: ChosenEngine,
    output: str,
) -> None:
    """Propose ACLs that allow only what is used, checked against the whole history.

    \b
    Examples:
      doorkeeper-pipeline propose --tables access --out proposal.yaml
      doorkeeper-pipeline propose --tables access --changes removal.json
      doorkeeper acls apply removal.json kafka://b:9092 --plan
      doorkeeper-pipeline propose --tables access --method least-privilege --principal User:alice
    """
    from doorkeeper_pipeline.jobs.agreement import evidence
    from doorkeeper_pipeline.jobs.causes import LeftOut
    from doorkeeper_pipeline.jobs.history import history, keep, logs_of
    from doorkeeper_pipeline.jobs.propose import ProposalOptions, propose

    check_targets(to, changes)
    left_out = LeftOut(accepted=starting.accepted_findings(findings, cluster))
    selection = ProposalOptions(
        prefixes=prefixes, principals=principals, kinds=kinds, wider=allow_wider
    )
    with chosen.started() as (shown, engine):
        asked = history(out, engine, acls, cluster)
        shown.tell("comparing recorded outcomes with the ACLs")
        proof = evidence(asked, asked.thresholds, starting.now(), logs_of(out))
        check_evidence(proof, kinds, accept_lost_access=accept_lost_access)
        shown.tell("looking for what was used, and what is redundant")
        risks = (*proof.causes, *proof.lacking, *asked.thresholds.lowered())
        if accept_lost_access:
            risks += tuple(describe_uncounted(asked.unread))
            asked = replace(asked, thresholds=NO_THRESHOLDS, unread=NOTHING_UNREAD)
        else:
            asked = replace(asked, proof=proof)
        selection = replace(selection, accepted=asked.acls.with_ids(left_out.accepted_bindings()))
        proposal = replace(propose(asked, selection), risks=risks, allowed=proof.observed.allowed)
    keep(out, {"backtest": proposal.backtest}, cluster)
    write_files(proposal, to, changes)
    if output == "json":
        show_record(record_of(proposal))
    else:
        show(text_of(proposal, to, changes))


def record_of(proposal: Proposal) -> Mapping[str, Any]:
    from doorkeeper.acls.formats.records import records
    from doorkeeper.acls.words import region_words
    from doorkeeper_pipeline.cli.backtest import record_of as record_of_backtest

    backtest = record_of_backtest(
        proposal.backtest.to_dicts(), allowed=proposal.allowed or 0, risks=proposal.risks
    )
    return {
        "acls": len(proposal.bindings),
        "added": list(records(proposal.added)),
        "removed": list(records(proposal.removed)),
        "newly_denied": backtest["newly_denied"],
        "newly_allowed": backtest["newly_allowed"],
        "wider": [region_words(region) for region in proposal.wider],
        "risks": backtest["risks"],
    }


def check_evidence(proof: Evidence, kinds: tuple[str, ...], *, accept_lost_access: bool) -> None:
    """Check that there are ACLs, and enough evidence.

    Raises:
        Conflicting: there is no ACL that could be removed.
        PipelineError: the evidence is not enough, and the risk was not accepted.

    """
    if not proof.observed.has_acls and LEAST_PRIVILEGE not in kinds:
        raise Conflicting(
            "the last run had no ACLs, so none can be removed. Give the listing of the"
            " cluster with --acls, here or to run, or propose ACLs from the history alone with"
            " --method least-privilege"
        )
    if proof.lacking and not accept_lost_access:
        raise PipelineError(refusal_of(proof))


def write_files(proposal: Proposal, to: Path | None, changes: Path | None) -> None:
    """Write the set and the changes, where they are wanted.

    Raises:
        PipelineError: the format of the set has no form for a name.

    """
    from doorkeeper.acls.formats.names import FormatError
    from doorkeeper_pipeline.proposals import file_of, plan_of, script_of
    from doorkeeper_pipeline.report.writing import replace_file

    if to is not None:
        try:
            text = file_of(proposal, format_of(to))
        except FormatError as error:
            raise PipelineError(f"{to}: {error}") from error
        replace_file(to, [text.encode()])
    if changes is not None:
        text = plan_of(proposal) if is_plan(changes) else script_of(proposal)
        replace_file(changes, [text.encode()])


def check_targets(to: Path | None, changes: Path | None) -> None:
    """Check the names of the files to write, before all the work.

    Raises:
        UsageError: both are one file.
        PipelineError: a name has no format, or there is no such folder.

    """
    if to is not None:
        format_of(to)
    if changes is not None:
        is_plan(changes)
    options.check_targets(to, changes)


def is_plan(changes: Path) -> bool:
    """Return whether a file of changes is a plan, by its name; else it is a script.

    Raises:
        PipelineError: the name says neither.

    """
    suffix = changes.suffix.lower()
    if suffix not in {".json", ".sh"}:
        raise PipelineError(
            f"{changes}: found no format for that name; allowed: .json (a plan), .sh (commands)"
        )
    return suffix == ".json"


def text_of(proposal: Proposal, to: Path | None, changes: Path | None) -> str:
    """Return the summary, with the changes if no file has them, or the next step with the file."""
    from doorkeeper_pipeline.proposals import changes_of, summary_of

    lines = [*summary_of(proposal), *([] if to or changes else changes_of(proposal))]
    if to is not None:
        lines.append(f"to review: doorkeeper acls diff LISTING {word(str(to))}")
    if changes is not None and is_plan(changes):
        lines.append(f"apply it with: doorkeeper acls apply {word(str(changes))} ADDRESS --plan")
    return "\n".join(map(printable, lines))


def refusal_of(proof: Evidence) -> str:
    """Return why nothing is proposed, and the remedy."""
    lines = [f"not enough evidence: {proof.summary()}"]
    lines += [f"  {reason}" for reason in (*proof.lacking, *proof.causes)]
    lines.append(
        "nothing was written; collect more logs, run with lower limits, or add --accept-lost-access"
    )
    return "\n".join(lines)


def format_of(to: Path) -> Format:
    """Return the format that a file's name says.

    Raises:
        PipelineError: no format has that suffix.

    """
    from doorkeeper.acls.formats.choosing import Format

    formats = {
        ".yaml": Format.YAML,
        ".yml": Format.YAML,
        ".json": Format.JSON,
        ".csv": Format.CSV,
        ".txt": Format.KAFKA,
    }
    how = formats.get(to.suffix.lower())
    if how is None:
        raise PipelineError(f"{to}: found no format for that name; allowed: {', '.join(formats)}")
    return how
