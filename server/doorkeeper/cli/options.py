"""Options of several commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from doorkeeper.acls.model import Principal, ResourceType
from doorkeeper.base.properties import KeptInput
from doorkeeper.cli.completion import files
from doorkeeper.cli.interrupts import interruptible
from doorkeeper.cli.vocabulary.options import Decorated, named_option, with_options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


STATUSES: Final = """
\b
Exit statuses: 0 done; 1 failed, with the reason on stderr; 2 wrong usage;
130 ended by Ctrl-C.
"""
"""The part of help texts that explains exit statuses, where a command has no others."""

CHANGE_STATUSES: Final = """
\b
Exit statuses: 0 done, or nothing to do; 1 failed, or the answer was no, with the reason on
stderr; 2 wrong usage; 130 ended by Ctrl-C.
"""
"""That of commands that ask before a change."""


PATH: Final = click.Path(path_type=Path)


class _PropertiesFile(click.Path):
    """The path of a properties file, or the bytes of standard input."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, allow_dash=True)

    def convert(
        self,
        value: str | os.PathLike[str],
        parameter: click.Parameter | None,
        context: click.Context | None,
    ) -> Any:  # noqa: ANN401  click's type has only paths
        if value != "-":
            return super().convert(value, parameter, context)
        if context is not None and _STDIN in context.meta:
            self.fail("standard input (-) can be given only once", parameter, context)
        elif context is not None:
            context.meta[_STDIN] = True
        # Kept, because a command may open several connections.
        with interruptible():
            return KeptInput(sys.stdin.buffer.read())


PROPERTIES_FILE = _PropertiesFile()

command_config_option = named_option(
    "--command-config", type=PROPERTIES_FILE, default_text="none, for PLAINTEXT"
)

_STDIN = "doorkeeper.cli.stdin"
JAAS_FILE_KEY = "doorkeeper.jaas.file"
_JAAS_FILE = "doorkeeper.cli.jaas_file"


def _keep_jaas_file(context: click.Context, _: click.Parameter, file: str | None) -> None:
    context.meta[_JAAS_FILE] = file


def _with_jaas_file(
    context: click.Context, _: click.Parameter, overrides: tuple[str, ...]
) -> tuple[str, ...]:
    # Options are processed in no fixed order, but eager ones come first: the file is known here.
    file = context.meta.get(_JAAS_FILE)
    return (f"{JAAS_FILE_KEY}={file}", *overrides) if file else overrides


override_option = with_options(
    named_option("--override", "overrides", multiple=True, callback=_with_jaas_file),
    named_option(
        "--jaas-file",
        shell_complete=files,
        envvar="DOORKEEPER_JAAS_FILE",
        show_envvar=True,
        is_eager=True,
        expose_value=False,
        callback=_keep_jaas_file,
    ),
)
"""``--override``, and ``--jaas-file``, which is shorthand for one of its values."""


def has_overrides(overrides: Sequence[str]) -> bool:
    """Say whether --override is given: DOORKEEPER_JAAS_FILE may be in the environment alone."""
    return any(not override.startswith(f"{JAAS_FILE_KEY}=") for override in overrides)


RESOURCES: Final = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional_id": ResourceType.TRANSACTIONAL_ID,
    "delegation_token": ResourceType.DELEGATION_TOKEN,
    "user_principal": ResourceType.USER,
}
"""The parameters of ``options_of_resources`` but the cluster, which has no name."""


def options_of_resources(*, multiple: bool) -> tuple[Callable[[Decorated], Decorated], ...]:
    """Return the options that name resources, one or several of each type."""
    return (
        named_option("--topic", type=utf8, multiple=multiple),
        named_option("--group", type=utf8, multiple=multiple),
        named_option("--cluster", is_flag=True),
        named_option("--transactional-id", type=utf8, multiple=multiple),
        named_option("--delegation-token", type=utf8, multiple=multiple),
        named_option("--user-principal", type=utf8, multiple=multiple),
    )


# Linux passes arguments as bytes, and Python decodes others than UTF-8 to lone surrogates, which
# no message can carry.
def utf8(value: str) -> str:
    """Return a text of the command line; the type of options that are sent in messages.

    Raises:
        click.BadParameter: its bytes are not UTF-8.
    """
    try:
        value.encode()
    except UnicodeEncodeError as error:
        at = len(value[: error.start].encode())
        raise click.BadParameter(f"byte {at} is not UTF-8") from None
    return value


def principal(value: str) -> str:
    """Return a principal with its type; the type of options.

    Raises:
        click.BadParameter: it has no type: no ACL and no request has such a principal.
    """
    try:
        return str(Principal.parse(utf8(value)))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
