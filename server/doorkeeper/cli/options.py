"""The options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from doorkeeper.cli.completing import files
from doorkeeper.cli.failures import fail

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.config.loading import Loaded

Command = TypeVar("Command", bound="Callable[..., Any] | click.Command")

config_option = click.option(
    "--config",
    "-c",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A server.properties with Kafka's keys.",
)

JAAS_FILE_KEY = "doorkeeper.jaas.file"
_JAAS_FILE = "doorkeeper.cli.jaas_file"


def _keep_jaas_file(context: click.Context, _: click.Parameter, file: str | None) -> None:
    context.meta[_JAAS_FILE] = file


def _with_jaas_file(
    context: click.Context, _: click.Parameter, overrides: tuple[str, ...]
) -> tuple[str, ...]:
    file = context.meta.get(_JAAS_FILE)
    return (f"{JAAS_FILE_KEY}={file}", *overrides) if file else overrides


def override_option(command: Command) -> Command:
    """Give a command ``--override`` and what stands for one: ``--jaas-file``, its variable."""
    overrides = click.option(
        "--override",
        "overrides",
        metavar="KEY=VALUE",
        multiple=True,
        callback=_with_jaas_file,
        help="A key that replaces the file's; may be repeated.",
    )
    jaas_file = click.option(
        "--jaas-file",
        metavar="FILE",
        shell_complete=files,
        envvar="DOORKEEPER_JAAS_FILE",
        show_envvar=True,
        is_eager=True,
        expose_value=False,
        callback=_keep_jaas_file,
        help=f"A JAAS file with login modules; stands for {JAAS_FILE_KEY}.",
    )
    return overrides(jaas_file(command))


def options_of_resources(
    make: Callable[[str, str, str], Callable[[Command], Command]],
) -> tuple[Callable[[Command], Command], ...]:
    """Return the options that name resources, made of a name, a metavar and a text."""
    return (
        make("--topic", "NAME", "A topic"),
        make("--group", "NAME", "A group"),
        click.option("--cluster", is_flag=True, help="The cluster."),
        make("--transactional-id", "ID", "A transactional id"),
        make("--delegation-token", "ID", "A delegation token"),
        make("--user-principal", "USER", "A user whose tokens it is about"),
    )


def _table_or_json(text: str) -> Callable[[Command], Command]:
    return click.option(
        "--output",
        type=click.Choice(["table", "json"]),
        default="table",
        show_default=True,
        help=text,
    )


output_option = _table_or_json("Lines for people, or JSON.")
array_option = _table_or_json("Lines for people, or one JSON array.")


def utf8(value: str) -> str:
    """Return a text of the command line; the type of options whose texts messages carry.

    Raises:
        click.BadParameter: its bytes are no UTF-8.

    """
    try:
        value.encode()
    except UnicodeEncodeError as error:
        at = len(value[: error.start].encode())
        raise click.BadParameter(f"byte {at} is not UTF-8") from None
    return value


def load_or_fail(file: Path | None, overrides: Sequence[str]) -> Loaded:
    """Read the configuration; end the process with every error of it."""
    from doorkeeper.config.errors import ConfigError  # noqa: PLC0415  as the next, which is heavy
    from doorkeeper.config.loading import load  # noqa: PLC0415

    try:
        return load(file, overrides)
    except ConfigError as error:
        fail(error.problems)
