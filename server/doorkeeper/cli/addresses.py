"""Addresses on the command line, in the grammar of ``doorkeeper.cli.repositories.addresses``."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from doorkeeper.cli.completion import files, files_behind
from doorkeeper.cli.repositories.addresses import Address, AddressKind, parse_address
from doorkeeper.cli.repositories.errors import InvalidAddress


def address(value: str) -> Address:
    """Return the address that a word is; the type of parameters.

    Raises:
        click.BadParameter: the word is not an address.
    """
    try:
        return parse_address(value)
    except InvalidAddress as error:
        raise click.BadParameter(str(error)) from None


def complete_address(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete names of files, also after ``config:``, ``store:`` and ``backup:``."""
    for kind in (AddressKind.CONFIG, AddressKind.STORE, AddressKind.BACKUP):
        if incomplete.startswith(kind.value):
            return files_behind(kind.value, incomplete)
    return files(context, parameter, incomplete)
