"""``doorkeeper config check``."""

from __future__ import annotations

from pathlib import Path

import click

from doorkeeper.cli.failures import fail
from doorkeeper.cli.options import load_or_fail, override_option


@click.group(name="config")
def command() -> None:
    """Check a configuration file."""


@command.command(
    epilog="""
\b
Example:
  doorkeeper config check server.properties
"""
)
@click.argument("file", type=click.Path(path_type=Path))
@override_option
def check(file: Path, overrides: tuple[str, ...]) -> None:
    """Print every error and warning of FILE.

    The authorizer and the catalog that it names are looked at too. The status is 1 where the
    server would not start with it.
    """
    loaded = load_or_fail(file, overrides)
    from doorkeeper.app.checking import check_named  # noqa: PLC0415  errors of keys are told sooner
    from doorkeeper.app.errors import StartError  # noqa: PLC0415

    try:
        check_named(loaded.settings)
    except StartError as error:
        fail(error.problems)
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}")
    click.echo(f"{file}: the server can start with it")
