"""``doorkeeper serve``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from doorkeeper.cli.failures import fail
from doorkeeper.cli.options import config_option, load_or_fail, override_option

if TYPE_CHECKING:
    from pathlib import Path


@click.command(
    name="serve",
    epilog="""
\b
Without --config it listens on localhost:9092, keeps its data in ./data, and everyone on this
machine is an administrator.

\b
SIGTERM and SIGINT: answer what is under way, then end. A second one: end at once.
SIGHUP: read the configuration's log levels, users and super users, and the catalog, again.

\b
Examples:
  doorkeeper serve
  doorkeeper serve --config /etc/doorkeeper/server.properties
  doorkeeper serve --override listeners=PLAINTEXT://localhost:0 \\
                   --override doorkeeper.data.dir=/tmp/acls
""",
)
@config_option
@override_option
def command(file: Path | None, overrides: tuple[str, ...]) -> None:
    """Start the server, and run until a signal ends it."""
    loaded = load_or_fail(file, overrides)
    from doorkeeper.app.errors import StartError  # noqa: PLC0415  errors of keys are told sooner
    from doorkeeper.app.process import serve  # noqa: PLC0415

    try:
        serve(file, overrides, loaded)
    except StartError as error:
        fail(error.problems)
