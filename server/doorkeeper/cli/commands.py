"""The list of subcommands. Each is imported when it is called, so that --version is quick."""

from __future__ import annotations

from importlib import import_module

import click

from doorkeeper.version import __version__

_MODULES = {
    "serve": "doorkeeper.cli.serve",
    "acls": "doorkeeper.cli.acls",
    "users": "doorkeeper.cli.users",
    "store": "doorkeeper.cli.store",
    "config": "doorkeeper.cli.config",
    "users-file": "doorkeeper.cli.users_file",
}
"""Where the command of each name stands, under the name ``command``."""

_SUMMARIES = {
    "serve": "Start the server.",
    "acls": "Add, remove and list ACLs while the server is stopped.",
    "users": "Manage users who log in by SCRAM.",
    "store": "Back up and restore the embedded store.",
    "config": "Check a configuration file, and show what counts.",
    "users-file": "Keep the users of PLAIN in a file of salted hashes.",
}


class _Lazy(click.Group):
    """A group whose members are imported when they are asked for."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name not in _MODULES:
            return None
        command = import_module(_MODULES[name]).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_SUMMARIES.items()))


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""
\b
Exit statuses: 0 done; 1 it cannot be done, said on stderr; 2 wrong usage;
128 + n ended at once by a second signal n.

\b
Examples:
  doorkeeper serve
  doorkeeper serve --config server.properties
  doorkeeper serve --override listeners=PLAINTEXT://localhost:0
  doorkeeper store backup acls.backup --data-dir /var/lib/doorkeeper
""",
)
@click.version_option(__version__, message="doorkeeper %(version)s")
def doorkeeper() -> None:
    """Serve Kafka's access control lists: a server for kafka-acls.sh and every admin client."""
