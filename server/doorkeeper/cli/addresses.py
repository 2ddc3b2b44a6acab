"""Addresses on the command line, in the grammar of ``doorkeeper.cli.repositories.addresses``."""

from __future__ import annotations

from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

from doorkeeper.cli.completion import files, files_behind
from doorkeeper.cli.repositories.addresses import Address, AddressKind, parse_address


class AddressType(click.ParamType):  # type: ignore[type-arg]  # generic in new releases alone
    """The type of parameters that are addresses: all, or some; it refuses others with a text."""

    name = "address"

    def __init__(
        self, accepts: Callable[[Address], bool] = lambda _: True, expected: str = ""
    ) -> None:
        self._accepts = accepts
        self._expected = expected

    def convert(
        self, value: str, parameter: click.Parameter | None, context: click.Context | None
    ) -> Address:
        """Return the address that a word is; a ``BadParameter`` if it is none of these."""
        try:
            address = parse_address(value)
        except ValueError as error:
            self.fail(str(error), parameter, context)
        if not self._accepts(address):
            self.fail(f"found {value!r}; {self._expected}", parameter, context)
        return address

    def shell_complete(
        self, context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Complete names of files, also after ``config:``, ``store:`` and ``backup:``."""
        for kind in (AddressKind.CONFIG, AddressKind.STORE, AddressKind.BACKUP):
            if incomplete.startswith(kind.value):
                return files_behind(kind.value, incomplete)
        return files(context, parameter, incomplete)


ADDRESS = AddressType()
