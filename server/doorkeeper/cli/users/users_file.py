"""``doorkeeper users-file``: PLAIN users in a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from doorkeeper.cli.json_records.stores import FileUser, FileUsers
from doorkeeper.cli.options import STATUSES
from doorkeeper.cli.terminal import fail, show_result
from doorkeeper.cli.users.passwords import new_password
from doorkeeper.cli.vocabulary.commands import Group
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper.server.security.password_records import SALT_BYTES
from doorkeeper.server.security.users_file import delete_user, set_user, user_names

T = TypeVar("T")

_file = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
_name = click.argument("name")


@click.group(
    cls=Group,
    name="users-file",
    epilog=f"""{STATUSES}
\b
Examples:
  doorkeeper users-file set-password users.txt alice
  doorkeeper users-file list users.txt
""",
)
def command() -> None:
    """Manage PLAIN users in a file of salted hashes."""


@command.command(
    name="set-password",
    epilog=f"""
\b
The password is read from the terminal, or from the first line of a file or of standard input. FILE
is created if it does not exist. A server with this doorkeeper.sasl.plain.users.file reads the
change within seconds.
{STATUSES}
\b
Examples:
  doorkeeper users-file set-password users.txt alice
  pass show kafka/alice | doorkeeper users-file set-password users.txt alice
""",
)
@_file
@_name
@named_option(
    "--password-file",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    default_text="ask",
)
@json_output(FileUser)
def set_password(file: Path, name: str, password_file: Path | None, output: str) -> None:
    """Set the password of the user NAME in FILE."""
    password = _or_fail(lambda: new_password(password_file))
    is_new = _or_fail(lambda: set_user(file, name, password, os.urandom(SALT_BYTES)))
    _show(file, name, "added" if is_new else "has a new password", output)


@command.command(
    epilog=f"""{STATUSES}
\b
Examples:
  doorkeeper users-file remove users.txt alice
  doorkeeper users-file remove /etc/doorkeeper/users.txt alice
"""
)
@_file
@_name
@json_output(FileUser)
def remove(file: Path, name: str, output: str) -> None:
    """Remove the user NAME from FILE."""
    _or_fail(lambda: delete_user(file, name))
    _show(file, name, "removed", output)


@command.command(
    name="list",
    epilog=f"""{STATUSES}
\b
Examples:
  doorkeeper users-file list users.txt
  doorkeeper users-file list /etc/doorkeeper/users.txt
""",
)
@_file
@json_output(FileUsers)
def list_names(file: Path, output: str) -> None:
    """List the names of the users in FILE."""
    names = list(_or_fail(lambda: user_names(file)))
    show_result(output, FileUsers(users=names), names)


def _show(file: Path, name: str, change: str, output: str) -> None:
    record = FileUser(file=str(file), user=name, added=change == "added")
    show_result(output, record, [f"{file}: {name} {change}"])


def _or_fail(do: Callable[[], T]) -> T:
    try:
        return do()
    except ValueError as error:
        fail([error])
