"""The subcommands, each imported when it is called: ``--help`` answers at once."""

from __future__ import annotations

import importlib

import click

from doorkeeper.cli.vocabulary.commands import Group
from doorkeeper_pipeline.cli.failures import HELP, STATUSES, ended_by_others

COMMANDS = ("run", "backtest", "propose", "why", "report", "maintain", "completion")


class Lazy(Group):
    """A group whose commands are modules of this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order in which people need them."""
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,
        cmd_name: str,
    ) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"doorkeeper_pipeline.cli.{cmd_name}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Call a command; convert each way to end into its exit status."""
        with ended_by_others():
            return super().invoke(ctx)


@click.group(cls=Lazy, epilog=STATUSES, context_settings=HELP)
@click.version_option(package_name="doorkeeper", prog_name="doorkeeper-pipeline")
def pipeline() -> None:
    """Analyze authorizer logs: which ACLs are unused or too wide, which requests were
    denied, and who would lose access with other ACLs.

    \b
    Examples:
      doorkeeper-pipeline run --log '/var/log/kafka/*authorizer*' --acls acls.txt --tables access
      doorkeeper-pipeline run --log 'logs/*.gz' --zone Europe/Prague --tables access
      doorkeeper-pipeline backtest --tables access --proposal new-acls.yaml
      doorkeeper-pipeline propose --tables access --out proposal.yaml --changes removal.json
      doorkeeper-pipeline why --tables access --principal User:alice
      doorkeeper-pipeline report --tables access --out report.html
      doorkeeper-pipeline maintain --tables access --keep 400
      doorkeeper-pipeline run --log data/audit --tables access --follow 10
    """  # noqa: D205  click's own form: \b keeps the lines
