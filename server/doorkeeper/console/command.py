"""``doorkeeper console``: starts the HTTP server of the console."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from doorkeeper.cli.acls.addresses import ADDRESSES, Location
from doorkeeper.cli.acls.question_options import policy_options, release_option
from doorkeeper.cli.addresses import ADDRESS
from doorkeeper.cli.options import PATH, PROPERTIES_FILE
from doorkeeper.cli.repositories.addresses import Address
from doorkeeper.cli.terminal import fail, say
from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.options import named_option

PORT: Final = 9480
FILE: Final = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command(
    cls=Command,
    name="console",
    epilog=f"""
The console has a page for each question about ACLs: who can, why, what if, since when, by whom. The
settings of the server given here apply to all addresses. The console requires the extra console:
pip install 'doorkeeper[console]'.
{ADDRESSES}
\b
Exit statuses: 0 stopped by a signal; 1 it cannot start, with the reason on stderr; 2 wrong usage.

\b
Examples:
  doorkeeper console acls.yaml
  doorkeeper console kafka://localhost:9092 --command-config admin.properties
  doorkeeper console config:server.properties acls.yaml --super-user User:admin
  doorkeeper console acls.yaml --bind 0.0.0.0 --url https://acls.example.com:9480 \\
                     --tls-certificate server.pem --tls-key server.key --viewers users.txt
""",
)
@click.argument("addresses", metavar="[ADDRESS ...]", nargs=-1, type=ADDRESS)
@named_option("--port", type=click.IntRange(1, 65535), default=PORT, show_default=True)
@named_option("--bind", default="localhost", show_default=True)
@named_option("--url", default_text="http://localhost:PORT")
@named_option("--tls-certificate", type=FILE)
@named_option("--tls-key", type=FILE)
@named_option("--viewers", type=FILE)
@named_option("--operators", type=FILE)
@named_option("--oidc-issuer")
@named_option("--oidc-client")
@named_option("--oidc-secret", type=FILE)
@named_option("--oidc-ca", type=FILE)
@named_option("--oidc-viewer", multiple=True)
@named_option("--oidc-operator", multiple=True)
@named_option("--command-config", type=PROPERTIES_FILE, default_text="none, for PLAINTEXT")
@named_option("--config", "-c", "file", type=PATH)
@named_option("--assert", "rules", type=PATH)
@named_option("--advice", type=click.Path(path_type=Path, file_okay=False, exists=True))
@named_option("--findings", type=click.Path(path_type=Path, dir_okay=False))
@named_option("--allow-changes", is_flag=True)
@policy_options
@release_option
def command(addresses: tuple[Address, ...], **options: Any) -> None:
    """Answer questions about the ACLs of ADDRESS in a browser, at http://localhost:9480.

    On localhost no login is required. An address that other machines reach requires TLS and a
    login: user names and passwords from a file, or OpenID Connect.
    """
    try:
        from doorkeeper.console.serving import serve
    except ModuleNotFoundError as error:
        fail([f"{error.name} is not installed: pip install 'doorkeeper[console]'"])
    for one in addresses:
        if one.is_stdin:
            raise click.UsageError(
                "standard input (-) can be given only once; give the name of a file"
            )
    command_config = options["command_config"]
    locations = [
        Location(one, command_config if one.is_live else None) for one in dict.fromkeys(addresses)
    ]
    if not locations:
        say("no address: only the questions that need no ACLs can be asked")
    serve(locations, options)
