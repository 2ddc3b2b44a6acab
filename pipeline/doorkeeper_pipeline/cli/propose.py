"""``doorkeeper-pipeline propose``: a smaller set of ACLs, with proof of what it would turn."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from doorkeeper_pipeline.cli import options, starting
from doorkeeper_pipeline.cli.failures import STATUSES
from doorkeeper_pipeline.cli.progress import Progress
from doorkeeper_pipeline.errors import PipelineError

if TYPE_CHECKING:
    from doorkeeper_pipeline.jobs.gold import Proposal

KINDS = ("least-privilege", "unused", "overbroad")


@click.command("propose", epilog=STATUSES)
@options.out
@click.option(
    "--to",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the whole proposed set: .yaml, .json, .csv or .txt (as kafka-acls.sh --list).",
)
@click.option(
    "--script",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the changes as kafka-acls.sh commands; stdout where neither is given.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(KINDS),
    default=("least-privilege", "unused"),
    show_default=True,
    help="What is proposed. May be repeated.",
)
@click.option(
    "--principal",
    "principals",
    multiple=True,
    help="For whom, such as User:alice; for all where it is not given. May be repeated.",
)
@click.option(
    "--prefixes",
    is_flag=True,
    help="Propose prefixes too that cover names nobody used yet; the table least_privilege"
    " lists what of the history each would cover.",
)
@click.option("--acls", multiple=True, metavar="PATH", help="The set in force, as for backtest.")
@options.policy
@options.engine
def command(  # noqa: PLR0913  one for each option
    *,
    out: Path,
    to: Path | None,
    script: Path | None,
    kinds: tuple[str, ...],
    principals: tuple[str, ...],
    prefixes: bool,
    acls: tuple[str, ...],
    super_users: tuple[str, ...],
    allow_everyone: bool,
    engine_name: str,
    master: str,
    quiet: bool,
) -> None:
    r"""Propose ACLs that allow what was used and no more, proved by the whole history.

    \b
    Examples:
      doorkeeper-pipeline propose --out access --to proposal.yaml --script proposal.sh
      doorkeeper-pipeline propose --engine local --out access --kind unused
      doorkeeper acls plan proposal.yaml --bootstrap-server b:9092
    """
    from doorkeeper_pipeline.jobs.gold import ProposalOptions  # noqa: PLC0415  heavy
    from doorkeeper_pipeline.jobs.history import history, keep  # noqa: PLC0415  heavy
    from doorkeeper_pipeline.jobs.propose import propose  # noqa: PLC0415  heavy
    from doorkeeper_pipeline.proposals import script_of, summary_of  # noqa: PLC0415  heavy

    tell = Progress(time.monotonic, quiet=quiet)
    wanted = ProposalOptions(prefixes=prefixes, principals=principals, kinds=kinds)
    policy = starting.policy(super_users, allow_everyone=allow_everyone)
    with starting.engine(engine_name, master, tell) as engine:
        tell("looking for what was used, and what nobody would miss")
        proposal = propose(history(out, engine, policy, acls), wanted)
    tables = {"least_privilege": proposal.least_privilege, "backtest": proposal.backtest}
    keep(out, starting.run_id(starting.now()), tables)
    if to is not None:
        write_set(to, proposal)
    if script is not None:
        script.write_text(script_of(proposal), encoding="utf-8")
    if to is None and script is None:
        click.echo(script_of(proposal), nl=False)
    else:
        click.echo("\n".join(summary_of(proposal)))


def write_set(to: Path, proposal: Proposal) -> None:
    """Write the proposed set in the format that the file's name says.

    Raises:
        PipelineError: no format has that suffix, or it has no form for a name.

    """
    from doorkeeper.acl.formats.choosing import Format  # noqa: PLC0415  as above
    from doorkeeper.acl.formats.names import FormatError  # noqa: PLC0415  as above
    from doorkeeper_pipeline.proposals import file_of  # noqa: PLC0415  as above

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
    try:
        to.write_text(file_of(proposal, how), encoding="utf-8", newline="")
    except FormatError as error:
        raise PipelineError(f"{to}: {error}") from error
