"""``doorkeeper users``: SCRAM users in the store of a stopped server, or of a live cluster."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import Struct

from doorkeeper.acls.live_changes import Rule
from doorkeeper.base.credentials import DIGESTS, ITERATIONS_MAX, ITERATIONS_MIN
from doorkeeper.base.properties import KeptInput
from doorkeeper.cli.acls.change_rules import accept_option, own_credential, refusal_of
from doorkeeper.cli.addresses import address, complete_address
from doorkeeper.cli.json_records.stores import Credential, Credentials, UserChange
from doorkeeper.cli.options import (
    JAAS_FILE_KEY,
    PROPERTIES_FILE,
    STATUSES,
    override_option,
)
from doorkeeper.cli.repositories.addresses import STORES, Address, AddressKind
from doorkeeper.cli.stores import STORE_ADDRESSES, settings_at
from doorkeeper.cli.terminal import NOTHING_CHANGED, fail, printable, say, show_result
from doorkeeper.cli.users.passwords import new_password
from doorkeeper.cli.vocabulary.commands import Group
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import Decorated, named_option, with_options

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence
    from contextlib import AbstractAsyncContextManager

    from doorkeeper.base.properties import PropertiesFile
    from doorkeeper.cli.users.live import LiveUsers
    from doorkeeper.client.config import ClientConfig
    from doorkeeper.server.config.settings import Settings

ADDRESSES: Final = f"""{STORE_ADDRESSES.rstrip()}
  kafka://host:9092          a live cluster, Kafka or Doorkeeper
"""

MECHANISMS: Final = tuple(DIGESTS)

_NAME = re.compile(r"[\x01-\x7F]+")
"""A name with other characters could never log in: see ``security.scram``."""


class UsersLocation(Struct, frozen=True):
    """A store or a live cluster, and the options with which it is opened."""

    address: Address
    overrides: tuple[str, ...]
    command_config: PropertiesFile | None


@click.group(
    cls=Group,
    name="users",
    epilog=f"""{ADDRESSES}{STATUSES}
\b
Examples:
  doorkeeper users add config:server.properties admin
  doorkeeper users set-password kafka://localhost:9092 alice
  doorkeeper users list kafka://localhost:9092
""",
)
def command() -> None:
    """Manage SCRAM users.

    The users are changed in the store of a stopped server, for example to create the first
    administrator, or in a live cluster, like kafka-configs.sh does.
    """


def _users_address(text: str) -> Address:
    server = address(text)
    if not server.is_store and server.kind is not AddressKind.BROKERS:
        raise click.BadParameter(f"found {text!r}; expected: kafka://HOST:PORT, {STORES}")
    return server


_where_options = with_options(
    click.argument(
        "address", metavar="ADDRESS", type=_users_address, shell_complete=complete_address
    ),
    named_option("--command-config", type=PROPERTIES_FILE, default_text="none, for PLAINTEXT"),
    override_option,
)


def _mechanisms_option(default: str) -> Callable[[Decorated], Decorated]:
    return named_option(
        "--mechanism",
        "mechanisms",
        type=click.Choice(MECHANISMS),
        multiple=True,
        default_text=default,
    )


def _iterations_option(default: str) -> Callable[[Decorated], Decorated]:
    return named_option(
        "--iterations",
        type=click.IntRange(ITERATIONS_MIN, ITERATIONS_MAX),
        default_text=default,
    )


_THOSE_PRESENT: Final = "those that the user has"
_password_option = named_option(
    "--password-file", type=click.Path(path_type=Path), default_text="ask"
)


@command.command(
    epilog=f"""
The password is read from the terminal, or from the first line of a file or of standard input.
{STATUSES}
\b
Examples:
  doorkeeper users add config:server.properties admin
  doorkeeper users add kafka://localhost:9092 alice --command-config admin.properties
"""
)
@_where_options
@click.argument("name")
@_mechanisms_option("both")
@_iterations_option(str(ITERATIONS_MIN))
@_password_option
@json_output(UserChange)
def add(
    name: str,
    mechanisms: tuple[str, ...],
    iterations: int | None,
    password_file: Path | None,
    output: str,
    **options: Any,
) -> None:
    """Add the user NAME; a store that does not exist yet is created."""
    where = _where(**options, takes_password=_is_stdin(password_file))
    _check_name(name)
    with _open(where, make_store=True) as users:
        has = users.iterations().get(name, {})
        chosen = mechanisms or MECHANISMS
        # Kafka's API would replace the password silently.
        there = [mechanism for mechanism in chosen if mechanism in has]
        if there:
            raise ValueError(
                f"{name} already has a password for {' and '.join(there)}; change it with"
                " doorkeeper users set-password"
            )
        # After the checks, so that no password is typed in vain.
        password = new_password(password_file)
        users.put(name, dict.fromkeys(chosen, iterations or ITERATIONS_MIN), password)
    _show_change(name, "added", chosen, output)
    _warn_of_unoffered(where, name, [*chosen] if mechanisms else [])


@command.command(
    epilog=f"""
Open connections continue; the next login requires the new password. If the user is the one in
--command-config, update that file too. The password is read from the terminal, or from the first
line of a file or of standard input.
{STATUSES}
\b
Examples:
  doorkeeper users set-password kafka://localhost:9092 alice
  pass show kafka/alice | doorkeeper users set-password config:server.properties alice \\
                              --password-file -
"""
)
@_where_options
@click.argument("name")
@_mechanisms_option(_THOSE_PRESENT)
@_iterations_option(f"those of the user, or {ITERATIONS_MIN}")
@_password_option
@json_output(UserChange)
def set_password(
    name: str,
    mechanisms: tuple[str, ...],
    iterations: int | None,
    password_file: Path | None,
    output: str,
    **options: Any,
) -> None:
    """Change the password of the user NAME."""
    with _open(_where(**options, takes_password=_is_stdin(password_file))) as users:
        has = users.iterations().get(name)
        if not has:
            raise ValueError(f"no user {name}; create it with doorkeeper users add")
        chosen = mechanisms or tuple(has)
        password = new_password(password_file)
        # The number of iterations stays, so that a new password is no weaker than the old one.
        users.put(
            name,
            {mechanism: iterations or has.get(mechanism, ITERATIONS_MIN) for mechanism in chosen},
            password,
        )
        login = users.login
    _show_change(name, "new password", chosen, output)
    if login is not None and login.user == name and login.mechanism in chosen:
        say("note: this login uses the changed password; update the file of --command-config")


@command.command(
    epilog=f"""
The user can no longer log in; open sessions continue until they authenticate again.
{STATUSES}
\b
Examples:
  doorkeeper users remove config:server.properties alice
  doorkeeper users remove kafka://localhost:9092 alice --mechanism SCRAM-SHA-256
"""
)
@_where_options
@click.argument("name")
@_mechanisms_option(_THOSE_PRESENT)
@accept_option("lock-out")
@json_output(UserChange)
def remove(
    name: str,
    mechanisms: tuple[str, ...],
    accepted: frozenset[Rule],
    output: str,
    **options: Any,
) -> None:
    """Remove the user NAME, or the credentials of NAME for a mechanism."""
    with _open(_where(**options)) as users:
        has = users.iterations().get(name)
        if not has:
            raise ValueError(f"no user {name}")
        # All are checked first, so that a typing error deletes nothing.
        absent = [mechanism for mechanism in mechanisms if mechanism not in has]
        if absent:
            raise ValueError(f"{name} has no credentials for {' and '.join(absent)}")
        gone = mechanisms or tuple(has)
        login = users.login
        is_own = login is not None and login.user == name and login.mechanism in gone
        if login is not None and is_own and Rule.LOCK_OUT not in accepted:
            fail([refusal_of(own_credential(login)), NOTHING_CHANGED])
        users.delete(name, gone)
    _show_change(name, "removed", gone, output)


@command.command(
    name="list",
    epilog=f"""
Neither passwords nor their hashes are shown.
{STATUSES}
\b
Examples:
  doorkeeper users list config:server.properties
  doorkeeper users list kafka://localhost:9092 --output json
""",
)
@_where_options
@json_output(Credentials)
def list_users(output: str, **options: Any) -> None:
    """List users with their mechanisms and iterations."""
    with _open(_where(**options), changes=False) as users:
        rows: list[Credential] = [
            {"user": user, "mechanism": mechanism, "iterations": iterations}
            for user, has in users.iterations().items()
            for mechanism, iterations in has.items()
        ]
    width = max((len(printable(row["user"])) for row in rows), default=0)
    lines = [
        f"{printable(row['user']):{width}}  {row['mechanism']}  {row['iterations']} iterations"
        for row in rows
    ]
    show_result(output, Credentials(users=rows), lines)


def _show_change(name: str, change: str, mechanisms: Sequence[str], output: str) -> None:
    record = UserChange(user=name, mechanisms=list(mechanisms))
    shown = printable(name)
    show_result(output, record, [f"{shown}: {change} for {' and '.join(mechanisms)}"])


def _warn_of_unoffered(where: UsersLocation, name: str, named: Sequence[str]) -> None:
    """Warn of mechanisms of a new user that no listener of the configuration offers.

    ``named`` are those of the command line; without any, one offered mechanism is enough.
    """
    # The listeners of a live cluster are not known here.
    if where.address.is_live:
        return
    listeners = settings_at(where.address, where.overrides).listeners
    offered = {mechanism.name for listener in listeners for mechanism in listener.mechanisms}
    missing = [mechanism for mechanism in named or MECHANISMS if mechanism not in offered]
    if missing and (named or len(missing) == len(MECHANISMS)):
        click.echo(
            f"warning: no listener offers {' or '.join(missing)}: {name} cannot log in with it"
            " until sasl.enabled.mechanisms of a SASL listener contains it",
            err=True,
        )


def _is_stdin(password_file: Path | None) -> bool:
    return password_file is None or str(password_file) == "-"


def _where(
    address: Address,
    overrides: tuple[str, ...],
    command_config: PropertiesFile | None,
    *,
    takes_password: bool = False,
) -> UsersLocation:
    if command_config is not None and not address.is_live:
        raise click.UsageError("--command-config requires a live cluster: kafka://HOST:PORT")
    # DOORKEEPER_JAAS_FILE may be in the environment for a server.
    if address.is_live and any(
        not override.startswith(f"{JAAS_FILE_KEY}=") for override in overrides
    ):
        raise click.UsageError(
            "--override requires a stopped server; it cannot be combined with a live cluster"
        )
    if isinstance(command_config, KeptInput) and takes_password:
        raise click.UsageError(
            "standard input (-) can be given only once; with --command-config -, give"
            " --password-file FILE"
        )
    return UsersLocation(address, overrides, command_config)


def _check_name(name: str) -> None:
    if _NAME.fullmatch(name) is None:
        fail([f"{name!r}: a SCRAM user name must be ASCII"])


@contextmanager
def _open(
    where: UsersLocation, *, changes: bool = True, make_store: bool = False
) -> Iterator[LiveUsers]:
    """Give the users; an error ends the process."""
    from doorkeeper.cli.users.live import open_users
    from doorkeeper.client.errors import ClientError
    from doorkeeper.client.properties import client_config
    from doorkeeper.server.state.store import StoreInUse

    try:
        server: AbstractAsyncContextManager[ClientConfig]
        if where.address.is_live:
            server = nullcontext(client_config(where.address.target, where.command_config))
        else:
            server = _server(settings_at(where.address, where.overrides), changes, make_store)
        with open_users(server) as users:
            yield users
    except StoreInUse as error:
        # The server that has the store can do the same over the wire.
        fail([f"{error}; use the address of the running server: kafka://HOST:PORT"])
    except (ClientError, ValueError, OSError) as error:
        fail([error])


@asynccontextmanager
async def _server(
    settings: Settings, changes: bool, make_store: bool
) -> AsyncIterator[ClientConfig]:
    from doorkeeper.cli.single_user import client_config, start

    # Without the authorizer, which may be what keeps the server from starting.
    async with start(settings, changes=changes, authorizer=False, make_store=make_store) as server:
        yield client_config(server, "doorkeeper users")
