"""``doorkeeper examples``: list the examples that are installed, and copy one."""

from __future__ import annotations

from pathlib import Path

import click

from doorkeeper.cli.files import write_whole
from doorkeeper.cli.json_records.stores import ExampleFiles, InstalledExamples
from doorkeeper.cli.options import PATH
from doorkeeper.cli.sample_files import EXAMPLES, files_of
from doorkeeper.cli.terminal import columns, fail, show_result
from doorkeeper.cli.vocabulary.commands import Group
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import named_option


@click.group(
    cls=Group,
    name="examples",
    epilog="""
\b
Exit statuses: 0 done; 1 failed, with the reason on stderr; 2 wrong usage;
130 ended by Ctrl-C.

\b
Examples:
  doorkeeper examples list
  doorkeeper examples copy grafana ./grafana
""",
)
def command() -> None:
    """List and copy the examples, JSON schemas and dashboards of this version."""


@command.command(
    name="list",
    epilog="""
\b
Exit statuses: 0 listed; 2 wrong usage.

\b
Examples:
  doorkeeper examples list
  doorkeeper examples list teams
""",
)
@click.argument("name", required=False, type=click.Choice(list(EXAMPLES)), metavar="[NAME]")
@json_output(InstalledExamples, ExampleFiles)
def list_(name: str | None, output: str) -> None:
    """Print all examples, or the files of one."""
    if name is not None:
        paths = [path for path, _ in files_of(EXAMPLES[name])]
        show_result(output, ExampleFiles(files=paths), paths)
        return
    record: InstalledExamples = {
        "examples": [
            {"name": name, "summary": example.summary} for name, example in EXAMPLES.items()
        ]
    }
    lines = columns([(name, example.summary) for name, example in EXAMPLES.items()])
    show_result(output, record, lines)


@command.command(
    epilog="""
DIR is created if it does not exist.

\b
Exit statuses: 0 copied; 1 a file is there already, or cannot be written; 2 wrong usage.

\b
Examples:
  doorkeeper examples copy systemd .
  doorkeeper examples copy schemas ./schemas --overwrite
"""
)
@click.argument("name", type=click.Choice(list(EXAMPLES)), metavar="NAME")
@click.argument("folder", type=PATH, metavar="DIR")
@named_option("--overwrite", is_flag=True)
@json_output(ExampleFiles)
def copy(name: str, folder: Path, output: str, *, overwrite: bool) -> None:
    """Copy the files of the example NAME into the folder DIR, and print their paths."""
    files = [(folder / path, source) for path, source in files_of(EXAMPLES[name])]
    # Found before the first is written, so that a refusal changes nothing.
    present = [target for target, _ in files if target.exists()]
    if present and not overwrite:
        fail(f"{target}: the file exists; to replace it, add --overwrite" for target in present)
    for target, source in files:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, source.read_bytes())
        except OSError as error:
            fail([f"{target}: cannot write: {error.strerror}"])
    paths = [str(target) for target, _ in files]
    show_result(output, ExampleFiles(files=paths), paths)
