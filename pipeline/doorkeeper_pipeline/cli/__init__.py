"""The command ``doorkeeper-pipeline``; subcommands import heavy modules when they are called."""

from __future__ import annotations

from collections.abc import Sequence

from doorkeeper_pipeline.cli.commands import pipeline
from doorkeeper_pipeline.cli.failures import report_failures

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its status."""
    with report_failures():
        pipeline.main(arguments, prog_name="doorkeeper-pipeline")
