"""The options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from doorkeeper.cli.failures import fail
from doorkeeper.config.errors import ConfigError
from doorkeeper.config.loading import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.config.loading import Loaded

config_option = click.option(
    "--config",
    "-c",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A server.properties with Kafka's keys.",
)

override_option = click.option(
    "--override",
    "overrides",
    metavar="KEY=VALUE",
    multiple=True,
    help="A key that replaces the file's; may be repeated.",
)


def load_or_fail(file: Path | None, overrides: Sequence[str]) -> Loaded:
    """Read the configuration; end the process with every error of it."""
    try:
        return load(file, overrides)
    except ConfigError as error:
        fail(error.problems)
