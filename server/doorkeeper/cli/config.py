"""``doorkeeper config check``, ``show`` and ``reset``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from doorkeeper.cli.options import array_option, config_option, load_or_fail, override_option
from doorkeeper.cli.terminal import fail
from doorkeeper.config.origins import origins_of

NS_PER_MS = 1_000_000


@click.group(
    name="config",
    epilog="""
\b
Exit statuses: 0 done; 1 the configuration is wrong, or it cannot be done, said on stderr;
2 wrong usage; 130 ended by Ctrl-C.

\b
Examples:
  doorkeeper config check server.properties
  doorkeeper config show --config server.properties
  doorkeeper config reset super.users --config server.properties
""",
)
def command() -> None:
    """Check a configuration file, and show what counts."""


@command.command(
    epilog="""
\b
Exit statuses: 0 the server can start with it; 1 it cannot, each error is a line on stderr;
2 wrong usage.

\b
Examples:
  doorkeeper config check server.properties
  doorkeeper config check server.properties --override listeners=PLAINTEXT://localhost:0
"""
)
@click.argument("file", type=click.Path(path_type=Path))
@override_option
def check(file: Path, overrides: tuple[str, ...]) -> None:
    """Print every error and warning of FILE.

    What it names is looked at too: the authorizer, the catalog, login modules, certificates,
    keytabs, users files, classes of others. They are made, configured and closed, not started, and
    no other server is asked. The status is 1 where the server would not start with it.
    """
    from doorkeeper.app.config_check import check_configuration  # noqa: PLC0415  it is heavy
    from doorkeeper.app.errors import StartError  # noqa: PLC0415

    try:
        loaded = check_configuration(file, overrides)
    except StartError as error:
        fail(error.problems)
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}")
    click.echo(f"{file}: the server can start with it")


@command.command(
    epilog="""
Passwords are hidden, and so are values of keys that only plug-ins know; of a JAAS file, nothing but
its name is shown. Values that were given
while a server runs are in its store: kafka-configs.sh --describe tells them.

\b
Exit statuses: 0 shown; 1 the configuration is wrong, each error is a line on stderr;
2 wrong usage.

\b
Examples:
  doorkeeper config show
  doorkeeper config show --config server.properties --output json
"""
)
@config_option
@override_option
@array_option
def show(file: Path | None, overrides: tuple[str, ...], output: str) -> None:
    """Print every value that counts, and where it comes from."""
    rows = origins_of(load_or_fail(file, overrides).settings)
    if output == "json":
        click.echo(json.dumps([row._asdict() for row in rows], indent=2, ensure_ascii=False))
        return
    for key, value, source, has_effect in rows:
        note = "" if has_effect else "; no effect"
        click.echo(f"{key}={'' if value is None else value}  ({source}{note})")


@command.command(
    epilog="""
The server must be stopped. Afterwards the file's values count again.

\b
Exit statuses: 0 done, also where there was nothing to forget; 1 it cannot be done, said on stderr;
2 wrong usage.

\b
Examples:
  doorkeeper config reset super.users --config server.properties
  doorkeeper config reset --all --config server.properties
"""
)
@click.argument("keys", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Forget the values of all keys.")
@config_option
@override_option
def reset(
    keys: tuple[str, ...], file: Path | None, overrides: tuple[str, ...], *, every: bool
) -> None:
    """Forget the values of KEYS that were given while a server ran."""
    if bool(keys) == every:
        raise click.UsageError("give either keys or --all")
    from doorkeeper.app.errors import StartError  # noqa: PLC0415  with the next, which is heavy
    from doorkeeper.offline.config_reset import forget  # noqa: PLC0415
    from doorkeeper.state.store import StorageError  # noqa: PLC0415

    settings = load_or_fail(file, overrides).settings
    try:
        forgotten = forget(settings, None if every else keys)
    except StorageError as error:
        fail([error])
    except StartError as error:
        fail(error.problems)
    for broker, name, _ in forgotten:
        click.echo(f"forgotten: {name} of {f'broker {broker}' if broker else 'the cluster'}")
    if not forgotten:
        click.echo("nothing to forget")
