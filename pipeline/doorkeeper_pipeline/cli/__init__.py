"""The command ``doorkeeper-pipeline``.

commands  the list of subcommands
options   the options that several of them have
failures  how a command that cannot go on says so, and the exit statuses
json_records  the JSON that commands print
engine    the engine of a command: its options and its start
starting  the policy, and the inputs of a job
run, backtest, propose, why, report, maintain, completion
          the subcommands; they import heavy modules when they are called
"""

from __future__ import annotations

from collections.abc import Sequence

from doorkeeper_pipeline.cli.commands import pipeline
from doorkeeper_pipeline.cli.failures import report_failures

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its status."""
    with report_failures():
        pipeline.main(arguments, prog_name="doorkeeper-pipeline")
