"""``doorkeeper-pipeline backtest``: the accesses that another set of ACLs would take or give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper_pipeline.cli import json_records, options, starting
from doorkeeper_pipeline.cli.engine import ChosenEngine, engine_options
from doorkeeper_pipeline.cli.failures import (
    CONTRADICTED,
    HELP,
    LOSES,
    STATUSES,
    printable,
    show,
)
from doorkeeper_pipeline.cli.json_records import show_record
from doorkeeper_pipeline.evaluation.evidence import NOTHING_ALLOWED
from doorkeeper_pipeline.evaluation.unread import describe_uncounted

ROWS_SHOWN = 50


@click.command("backtest", cls=Command, epilog=STATUSES, context_settings=HELP)
@options.out
@options.cluster
@named_option(
    "--proposal", required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@named_option("--acls", multiple=True)
@named_option("--limit", "rows", type=click.IntRange(0), default=ROWS_SHOWN, show_default=True)
@engine_options
@json_output(json_records.Backtest)
@click.pass_context
def command(
    context: click.Context,
    *,
    out: Path | str,
    cluster: str,
    proposal: Path,
    acls: tuple[str, ...],
    rows: int,
    chosen: ChosenEngine,
    output: str,
) -> None:
    """Evaluate the whole history with another set of ACLs.

    Every decision that would change is a row of the table backtest. The exit status is 1 when
    an access that was allowed would be denied, and 4 when the history is not enough evidence, so
    that it cannot tell.

    \b
    Examples:
      doorkeeper-pipeline backtest --tables access --proposal new-acls.yaml
      doorkeeper-pipeline backtest --tables access --proposal acls.csv || echo no
    """
    from doorkeeper_pipeline.jobs.agreement import evidence
    from doorkeeper_pipeline.jobs.backtest import backtest, unread_losses
    from doorkeeper_pipeline.jobs.history import history, keep, logs_of
    from doorkeeper_pipeline.sources.acl_sets import read_bindings

    with chosen.started() as (shown, engine):
        proposed = read_bindings(proposal)
        shown.tell(f"asking the history about {len(proposed):,} proposed ACLs")
        asked = history(out, engine, acls, cluster)
        proof = evidence(asked, asked.thresholds, starting.now(), logs_of(out))
        frame = backtest(asked, proposed)
    turned = frame.to_dicts()
    risks = (
        *proof.causes,
        *(f"not enough evidence: {reason}" for reason in proof.lacking),
        *describe_uncounted(asked.unread),
    )
    for risk in risks:
        click.echo(f"warning: {printable(risk)}", err=True)
    # First the answer: it took time, and what comes now may find a full disk.
    if output == "json":
        show_record(record_of(turned, allowed=proof.observed.allowed, risks=risks))
    else:
        show(text_of(turned, rows, allowed=proof.observed.allowed))
    keep(out, {"backtest": frame}, cluster)
    if any(row["turn"] == "ALLOW_TO_DENY" for row in turned):
        context.exit(LOSES)
    if proof.lacking or unread_losses(asked, proposed):
        context.exit(CONTRADICTED)


def record_of(
    turned: Sequence[dict[str, Any]], *, allowed: int, risks: Sequence[str]
) -> Mapping[str, Any]:
    return {
        "newly_denied": sum(row["count"] for row in turned if row["turn"] == "ALLOW_TO_DENY"),
        "newly_allowed": sum(row["count"] for row in turned if row["turn"] == "DENY_TO_ALLOW"),
        "allowed": allowed,
        "risks": list(risks),
        "decisions": list(turned),
    }


def text_of(turned: Sequence[dict[str, Any]], rows: int, *, allowed: int) -> str:
    """Return the summary: how many lose and gain access, and the most frequent rows.

    ``allowed`` is the number of allowed decisions of the history.
    """
    lines = []
    for turn, words in (
        ("ALLOW_TO_DENY", "would be denied that was allowed"),
        ("DENY_TO_ALLOW", "would be allowed that was denied"),
    ):
        changed = sorted(
            (row for row in turned if row["turn"] == turn),
            key=lambda row: (-row["count"], row["principal"], row["resource_name"]),
        )
        if turn == "ALLOW_TO_DENY" and not changed and not allowed:
            lines.append(NOTHING_ALLOWED)
            continue
        count = sum(row["count"] for row in changed)
        who = len({row["principal"] for row in changed})
        lines.append(f"{count:,} decisions ({len(changed):,} distinct, {who:,} principals) {words}")
        lines += [f"  {_row(row)}" for row in changed[:rows]]
        if len(changed) > rows > 0:
            lines.append(f"  and {len(changed) - rows:,} more")
    return "\n".join(lines)


def _row(row: dict[str, Any]) -> str:
    text = (
        f"{row['count']:>9,}  {row['principal']} from {row['host']}: {row['operation']}"
        f" {row['resource_type']} {row['resource_name']}, last {row['last_ts']:%Y-%m-%d %H:%M}"
    )
    return printable(text)
