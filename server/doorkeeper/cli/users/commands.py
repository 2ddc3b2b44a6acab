"""``doorkeeper users add``, ``set-password``, ``delete`` and ``list``.

On the store of a stopped server, or over the wire with ``--bootstrap-server``.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

import click

from doorkeeper.authn.credentials import DIGESTS, ITERATIONS_MAX, ITERATIONS_MIN
from doorkeeper.cli.options import array_option, config_option, load_or_fail, override_option
from doorkeeper.cli.terminal import fail
from doorkeeper.cli.users.passwords import new_password

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Function = TypeVar("Function", bound="Callable[..., Any]")

MECHANISMS: Final = tuple(DIGESTS)

_NAME = re.compile(r"[\x01-\x7F]+")
"""Whoever logs in by SCRAM writes the name in ASCII: see ``authn.scram_messages``."""


class Users(Protocol):
    """The users of a store or of a server."""

    def iterations(self) -> Mapping[str, Mapping[str, int]]:
        """Return the iterations of each user by mechanism."""
        ...

    def put(self, user: str, iterations: Mapping[str, int], password: str) -> None:
        """Give a user a password."""
        ...

    def delete(self, user: str, mechanisms: Iterable[str]) -> None:
        """Delete credentials."""
        ...


class Where(NamedTuple):
    """The options that say whose users."""

    file: Path | None
    overrides: tuple[str, ...]
    bootstrap_server: str | None
    command_config: Path | None


_STATUSES = """
\b
Exit statuses: 0 done; 1 it cannot be done, said on stderr; 2 wrong usage;
130 ended by Ctrl-C.
"""


@click.group(
    name="users",
    epilog=f"""{_STATUSES}
\b
Examples:
  doorkeeper users add admin --config server.properties
  doorkeeper users set-password alice --bootstrap-server localhost:9092
  doorkeeper users list --bootstrap-server localhost:9092
""",
)
def command() -> None:
    """Manage users who log in by SCRAM.

    On the store of a stopped server, which is how the first administrator is made; or, with
    --bootstrap-server, on a server that runs. kafka-configs.sh does the same over the wire.
    """


def _where_options(function: Function) -> Function:
    for option in (
        click.option(
            "--command-config",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Properties of a Java client: security.protocol, sasl.mechanism, ...",
        ),
        click.option(
            "--bootstrap-server",
            metavar="HOST:PORT",
            help="A server that runs; without it, the store of a stopped one.",
        ),
        override_option,
        config_option,
    ):
        function = option(function)
    return function


_mechanisms_option = click.option(
    "--mechanism",
    "mechanisms",
    type=click.Choice(MECHANISMS),
    multiple=True,
    help="Only this one; may be repeated.",
)
_iterations_option = click.option(
    "--iterations",
    type=click.IntRange(ITERATIONS_MIN, ITERATIONS_MAX),
    help="How often the password is hashed.",
)
_password_option = click.option(
    "--password-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Its first line is the password; - is standard input. Else you are asked.",
)


@command.command(
    epilog=f"""
The password is never an argument: it would be in the shell's history. It is typed, or the first
line of a file or of standard input.
{_STATUSES}
\b
Examples:
  doorkeeper users add admin --config server.properties
  doorkeeper users add alice --bootstrap-server localhost:9092 --command-config admin.properties
"""
)
@click.argument("name")
@_mechanisms_option
@_iterations_option
@_password_option
@_where_options
def add(
    name: str,
    mechanisms: tuple[str, ...],
    iterations: int | None,
    password_file: Path | None,
    **options: Any,  # noqa: ANN401  those of Where
) -> None:
    """Make the user NAME, for both mechanisms; the store is made where there is none."""
    where = _where(**options)
    _check_name(name)
    with _opened(where, make_store=True) as users:
        has = users.iterations().get(name, {})
        wanted = mechanisms or MECHANISMS
        there = [each for each in wanted if each in has]
        if there:
            raise ValueError(
                f"{name} has a password for {' and '.join(there)};"
                " doorkeeper users set-password changes it"
            )
        password = new_password(password_file)
        users.put(name, dict.fromkeys(wanted, iterations or ITERATIONS_MIN), password)
    click.echo(f"{name}: added for {' and '.join(wanted)}")


@command.command(
    epilog=f"""
It counts at once for who logs in or authenticates again; open sessions go on. Without --mechanism
and --iterations, what the user has stays as it is. The password is typed, or the first line of
a file or of standard input.
{_STATUSES}
\b
Examples:
  doorkeeper users set-password alice --bootstrap-server localhost:9092
  pass show kafka/alice | doorkeeper users set-password alice --password-file - \\
                              --config server.properties
"""
)
@click.argument("name")
@_mechanisms_option
@_iterations_option
@_password_option
@_where_options
def set_password(
    name: str,
    mechanisms: tuple[str, ...],
    iterations: int | None,
    password_file: Path | None,
    **options: Any,  # noqa: ANN401  those of Where
) -> None:
    """Give the user NAME another password."""
    with _opened(_where(**options)) as users:
        has = users.iterations().get(name)
        if not has:
            raise ValueError(f"there is no user {name}; doorkeeper users add makes one")
        wanted = mechanisms or tuple(has)
        password = new_password(password_file)
        users.put(
            name,
            {each: iterations or has.get(each, ITERATIONS_MIN) for each in wanted},
            password,
        )
    click.echo(f"{name}: new password for {' and '.join(wanted)}")


@command.command(
    epilog=f"""
It counts at once for who logs in or authenticates again; open sessions go on.
{_STATUSES}
\b
Examples:
  doorkeeper users delete alice --config server.properties
  doorkeeper users delete alice --mechanism SCRAM-SHA-256 --bootstrap-server localhost:9092
"""
)
@click.argument("name")
@_mechanisms_option
@_where_options
def delete(
    name: str,
    mechanisms: tuple[str, ...],
    **options: Any,  # noqa: ANN401  those of Where
) -> None:
    """Delete the user NAME, or what NAME has for a mechanism."""
    with _opened(_where(**options)) as users:
        has = users.iterations().get(name)
        if not has:
            raise ValueError(f"there is no user {name}")
        absent = [each for each in mechanisms if each not in has]
        if absent:
            raise ValueError(f"{name} has nothing for {' and '.join(absent)}")
        gone = mechanisms or tuple(has)
        users.delete(name, gone)
    click.echo(f"{name}: deleted for {' and '.join(gone)}")


@command.command(
    name="list",
    epilog=f"""
Neither passwords nor what is stored of them are shown.
{_STATUSES}
\b
Examples:
  doorkeeper users list --config server.properties
  doorkeeper users list --bootstrap-server localhost:9092 --output json
""",
)
@array_option
@_where_options
def list_users(output: str, **options: Any) -> None:  # noqa: ANN401  those of Where
    """Print users, their mechanisms and iterations."""
    with _opened(_where(**options)) as users:
        rows = [
            {"user": user, "mechanism": mechanism, "iterations": iterations}
            for user, has in users.iterations().items()
            for mechanism, iterations in has.items()
        ]
    if output == "json":
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    width = max((len(str(row["user"])) for row in rows), default=0)
    for row in rows:
        click.echo(f"{row['user']!s:{width}}  {row['mechanism']}  {row['iterations']} iterations")


def _where(
    file: Path | None,
    overrides: tuple[str, ...],
    bootstrap_server: str | None,
    command_config: Path | None,
) -> Where:
    if bootstrap_server is None and command_config is not None:
        raise click.UsageError("--command-config needs --bootstrap-server")
    if bootstrap_server is not None and (file is not None or overrides):
        raise click.UsageError("--config is for a stopped server; --command-config for a running")
    return Where(file, overrides, bootstrap_server, command_config)


def _check_name(name: str) -> None:
    if _NAME.fullmatch(name) is None:
        fail([f"{name!r}: a user of SCRAM has a name of ASCII characters; nobody else can log in"])


@contextmanager
def _opened(where: Where, *, make_store: bool = False) -> Iterator[Users]:
    """Give the users; what cannot be done ends the process with a line."""
    try:
        if where.bootstrap_server is None:
            with _of_store(where, make_store=make_store) as users:
                yield users
        else:
            with _of_server(where.bootstrap_server, where.command_config) as users:
                yield users
    except (ValueError, OSError) as error:
        fail([error])


@contextmanager
def _of_store(where: Where, *, make_store: bool) -> Iterator[Users]:
    from doorkeeper.app.errors import StartError  # noqa: PLC0415  with the next, which is heavy
    from doorkeeper.offline.users import offline_users  # noqa: PLC0415
    from doorkeeper.state.store import StorageError  # noqa: PLC0415  as above

    settings = load_or_fail(where.file, where.overrides).settings
    try:
        with offline_users(settings, make_store=make_store) as users:
            yield users
    except StorageError as error:
        running = " in use by " in str(error)
        hint = "; ask the server that uses it: --bootstrap-server" if running else ""
        fail([f"{error}{hint}"])
    except StartError as error:
        fail(error.problems)


@contextmanager
def _of_server(addresses: str, file: Path | None) -> Iterator[Users]:
    from doorkeeper.cli.users.live import open_users  # noqa: PLC0415  it is heavy
    from doorkeeper.client.errors import ClientError  # noqa: PLC0415  as above
    from doorkeeper.client.properties import client_config  # noqa: PLC0415  as above
    from doorkeeper.config.errors import ConfigError  # noqa: PLC0415  as above

    try:
        with open_users(client_config(addresses, file)) as users:
            yield users
    except ConfigError as error:
        fail(error.problems)
    except ClientError as error:
        fail([error])
