"""Addresses on the command line, in the grammar of ``doorkeeper.cli.repositories.addresses``."""

from __future__ import annotations

from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

from doorkeeper.cli.completion import files, files_behind
from doorkeeper.cli.repositories.addresses import Address, AddressKind, parse_address


def address(value: str) -> Address:
    """Return the address that a word is; the type of parameters.

    Raises:
        click.BadParameter: the word is not an address.
    """
    try:
        return parse_address(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def address_of(accepts: Callable[[Address], bool], expected: str) -> Callable[[str], Address]:
    """Return the type of parameters that take some addresses and refuse others with a text."""

    def convert(value: str) -> Address:
        if not accepts(named := address(value)):
            raise click.BadParameter(f"found {value!r}; {expected}")
        return named

    return convert


def complete_address(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete names of files, also after ``config:``, ``store:`` and ``backup:``."""
    for kind in (AddressKind.CONFIG, AddressKind.STORE, AddressKind.BACKUP):
        if incomplete.startswith(kind.value):
            return files_behind(kind.value, incomplete)
    return files(context, parameter, incomplete)
