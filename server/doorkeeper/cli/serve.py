"""``doorkeeper serve``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from doorkeeper.base.config_errors import ConfigError
from doorkeeper.cli.options import PATH, override_option
from doorkeeper.cli.terminal import fail, say
from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper.server.config.environment import ignored_variables
from doorkeeper.server.config.loading import load
from doorkeeper.server.config.store_keys import DATA_DIR


@click.command(
    cls=Command,
    name="serve",
    epilog="""
\b
Without --config the server listens on localhost:9092, keeps its data in ./data, and every client
on this machine is a super user.

\b
SIGTERM and SIGINT: answer the requests in flight, then stop. A second one: stop at once.
SIGHUP: reload mechanisms, users, certificates, super users and log levels.

\b
Exit statuses: 0 stopped by a signal; 1 it cannot start, with each reason as a line on stderr;
2 wrong usage; 128 + n stopped at once by a second signal n.

\b
Examples:
  doorkeeper serve
  doorkeeper serve --config /etc/doorkeeper/server.properties
  doorkeeper serve --override listeners=PLAINTEXT://localhost:0 \\
                   --override doorkeeper.data.dir=/tmp/acls
""",
)
@named_option("--config", "-c", "file", type=PATH, default_text="no file")
@override_option
def command(file: Path | None, overrides: tuple[str, ...]) -> None:
    """Start the server and run until a signal."""
    if (text := ignored_variables(os.environ)) is not None:
        say(text)
    # Before the heavy imports: a configuration with errors is reported at once.
    try:
        loaded = load(file, overrides)
    except ConfigError as error:
        from doorkeeper.server.app.config_check import start_error_of

        refused = start_error_of(error)
        for warning in refused.warnings:
            say(f"warning: {warning}")
        fail(refused.problems)
    if sys.stderr.isatty():
        address = f"config:{file}" if file else f"store:{loaded.settings[DATA_DIR]}"
        say(f"to ask about its ACLs in a browser: doorkeeper console {address}")
    from doorkeeper.server.app.process import serve

    serve(file, overrides, loaded)
