"""``doorkeeper users``: SCRAM users in the store of a stopped server, or of a live cluster."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from doorkeeper.acls.live_changes import Rule
from doorkeeper.base.credentials import DIGESTS, ITERATIONS_MAX, ITERATIONS_MIN
from doorkeeper.base.properties import KeptInput
from doorkeeper.cli.acls.addresses import take_location
from doorkeeper.cli.acls.change_rules import accept_option, own_credential, refusal_of
from doorkeeper.cli.addresses import AddressType
from doorkeeper.cli.interrupts import interruptible
from doorkeeper.cli.json_records.stores import Credential, Credentials, UserChange
from doorkeeper.cli.options import PATH, STATUSES, command_config_option, override_option
from doorkeeper.cli.repositories.addresses import STORES, AddressKind
from doorkeeper.cli.stores import STORE_ADDRESSES, settings_at
from doorkeeper.cli.terminal import NOTHING_CHANGED, columns, fail, printable, say, show_result
from doorkeeper.cli.users.live import alter, iterations_by_user, open_client
from doorkeeper.cli.users.passwords import new_password
from doorkeeper.cli.vocabulary.commands import Group
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import Decorated, named_option, with_options
from doorkeeper.client.errors import ClientError
from doorkeeper.client.scram import ScramDeletion, ScramPassword
from doorkeeper.server.state.store import StoreInUse

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from doorkeeper.cli.acls.addresses import Location
    from doorkeeper.client.admin import AdminClient
    from doorkeeper.client.identity import ScramLogin

Result = TypeVar("Result")

ADDRESSES: Final = f"""{STORE_ADDRESSES.rstrip()}
  kafka://host:9092          a live cluster, Kafka or Doorkeeper
"""

MECHANISMS: Final = tuple(DIGESTS)

_NAME = re.compile(r"[\x01-\x7F]+")
"""A name with other characters could never log in: see ``security.scram``."""


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


_ADDRESS: Final = AddressType(
    lambda server: server.is_store or server.kind is AddressKind.BROKERS,
    f"expected: kafka://HOST:PORT, {STORES}",
)
_location_options = with_options(
    click.argument("address", metavar="ADDRESS", type=_ADDRESS),
    command_config_option,
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
_password_option = named_option("--password-file", type=PATH, default_text="ask")


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
@_location_options
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
    location = _take_location(options, password_file)
    if _NAME.fullmatch(name) is None:
        fail([f"{name!r}: a SCRAM user name must be ASCII"])
    chosen = mechanisms or MECHANISMS

    async def add_user() -> None:
        async with open_client(location, make_store=True) as (client, _):
            present = (await iterations_by_user(client)).get(name, {})
            # Kafka's API would replace the password silently.
            existing = [mechanism for mechanism in chosen if mechanism in present]
            if existing:
                raise ValueError(
                    f"{name} already has a password for {' and '.join(existing)}; change it with"
                    " doorkeeper users set-password"
                )
            # After the checks, so that no password is typed in vain.
            password = _ask_for_password(password_file)
            rounds = iterations or ITERATIONS_MIN
            await alter(
                client,
                [ScramPassword(name, mechanism, password, rounds) for mechanism in chosen],
            )

    _run(add_user())
    _show_change(name, "added", chosen, output)
    _warn_of_unoffered(location, name, [*chosen] if mechanisms else [])


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
@_location_options
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
    location = _take_location(options, password_file)

    async def set_new_password() -> tuple[Sequence[str], ScramLogin | None]:
        async with open_client(location) as (client, login):
            present = await _credentials_of(client, name, "; create it with doorkeeper users add")
            chosen = mechanisms or tuple(present)
            password = _ask_for_password(password_file)
            # The number of iterations stays, so that a new password is no weaker than the old one.
            changes = [
                ScramPassword(
                    name, mechanism, password, iterations or present.get(mechanism, ITERATIONS_MIN)
                )
                for mechanism in chosen
            ]
            await alter(client, changes)
            return chosen, login

    chosen, login = _run(set_new_password())
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
@_location_options
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
    location = _take_location(options)

    async def remove_user() -> Sequence[str]:
        async with open_client(location) as (client, login):
            present = await _credentials_of(client, name)
            # All are checked first, so that a typing error deletes nothing.
            absent = [mechanism for mechanism in mechanisms if mechanism not in present]
            if absent:
                raise ValueError(f"{name} has no credentials for {' and '.join(absent)}")
            chosen = mechanisms or tuple(present)
            is_own = login is not None and login.user == name and login.mechanism in chosen
            if login is not None and is_own and Rule.LOCK_OUT not in accepted:
                fail([refusal_of(own_credential(login)), NOTHING_CHANGED])
            await alter(client, [ScramDeletion(name, mechanism) for mechanism in chosen])
            return chosen

    _show_change(name, "removed", _run(remove_user()), output)


async def _credentials_of(client: AdminClient, name: str, hint: str = "") -> Mapping[str, int]:
    """Return the iterations of a user by mechanism.

    Raises:
        ValueError: there is no such user; the text ends with the hint.
    """
    present = (await iterations_by_user(client)).get(name)
    if not present:
        raise ValueError(f"no user {name}{hint}")
    return present


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
@_location_options
@json_output(Credentials)
def list_users(output: str, **options: Any) -> None:
    """List users with their mechanisms and iterations."""
    location = _take_location(options)

    async def list_credentials() -> dict[str, dict[str, int]]:
        async with open_client(location, changes=False) as (client, _):
            return await iterations_by_user(client)

    rows: list[Credential] = [
        {"user": user, "mechanism": mechanism, "iterations": iterations}
        for user, credentials in _run(list_credentials()).items()
        for mechanism, iterations in credentials.items()
    ]
    lines = columns(
        [(row["user"], row["mechanism"], f"{row['iterations']} iterations") for row in rows]
    )
    show_result(output, Credentials(users=rows), lines)


def _show_change(name: str, change: str, mechanisms: Sequence[str], output: str) -> None:
    record = UserChange(user=name, mechanisms=list(mechanisms))
    shown = printable(name)
    show_result(output, record, [f"{shown}: {change} for {' and '.join(mechanisms)}"])


def _warn_of_unoffered(location: Location, name: str, named: Sequence[str]) -> None:
    """Warn of mechanisms of a new user that no listener of the configuration offers.

    ``named`` are those of the command line; without any, one offered mechanism is enough.
    """
    # The listeners of a live cluster are not known here.
    if location.address.is_live:
        return
    listeners = settings_at(location.address, location.overrides).listeners
    offered = {mechanism.name for listener in listeners for mechanism in listener.mechanisms}
    missing = [mechanism for mechanism in named or MECHANISMS if mechanism not in offered]
    if missing and (named or len(missing) == len(MECHANISMS)):
        click.echo(
            f"warning: no listener offers {' or '.join(missing)}: {name} cannot log in with it"
            " until sasl.enabled.mechanisms of a SASL listener contains it",
            err=True,
        )


def _take_location(options: dict[str, Any], *password_files: Path | None) -> Location:
    """Return the location that options name; standard input may be one of its files."""
    location = take_location(options)
    takes_stdin = any(file is None or str(file) == "-" for file in password_files)
    if isinstance(location.command_config, KeptInput) and takes_stdin:
        raise click.UsageError(
            "standard input (-) can be given only once; with --command-config -, give"
            " --password-file FILE"
        )
    return location


def _ask_for_password(file: Path | None) -> str:
    with interruptible():
        return new_password(file)


def _run(work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of work with a client; an error ends the process."""
    try:
        return asyncio.run(work)
    except StoreInUse as error:
        # The server that has the store can do the same over the wire.
        fail([f"{error}; use the address of the running server: kafka://HOST:PORT"])
    except (ClientError, ValueError, OSError) as error:
        fail([error])
