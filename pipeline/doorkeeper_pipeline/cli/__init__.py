"""The command ``doorkeeper-pipeline``; subcommands import heavy modules when they are called."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from doorkeeper.base.standard_streams import fill_standard_descriptors

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its status."""
    fill_standard_descriptors()
    try:
        from doorkeeper_pipeline.cli.commands import pipeline
        from doorkeeper_pipeline.cli.failures import report_failures

        with report_failures():
            pipeline.main(arguments, prog_name="doorkeeper-pipeline")
    except KeyboardInterrupt:
        # Ctrl-C during an import: Lazy.invoke reports that of a running command.
        sys.stderr.write("doorkeeper-pipeline: interrupted\n")
        raise SystemExit(130) from None
