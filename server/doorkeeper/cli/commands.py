"""The list of subcommands. Each is imported when it is called, so that --version is fast."""

from __future__ import annotations

import click
from click.shell_completion import add_completion_class

from doorkeeper.base.version import __version__
from doorkeeper.cli.completion import JoinedBash, LastingZsh
from doorkeeper.cli.interrupts import end_interrupted, is_interrupt
from doorkeeper.cli.lazy import LazyGroup, Member

_MEMBERS = {
    "serve": Member("doorkeeper.cli.serve:command", "Start the server."),
    "console": Member(
        "doorkeeper.console.command:command", "Answer questions about ACLs in a browser."
    ),
    "acls": Member("doorkeeper.cli.acls.edit:command", "Manage ACLs, and explain decisions."),
    "whoami": Member(
        "doorkeeper.cli.whoami.command:command", "Show which principal a broker sees, and why."
    ),
    "users": Member("doorkeeper.cli.users.commands:command", "Manage SCRAM users."),
    "store": Member(
        "doorkeeper.cli.store.commands:command",
        "Create, back up, restore, check and copy stores; choose Kafka's release.",
    ),
    "history": Member(
        "doorkeeper.cli.history.commands:command", "List and verify the changes of a store."
    ),
    "watch": Member(
        "doorkeeper.cli.history.watch:command", "Print the changes of a store as they are made."
    ),
    "clusters": Member("doorkeeper.cli.clusters:command", "Compare Kafka clusters with a store."),
    "learn": Member(
        "doorkeeper.cli.learn.commands:command", "Find the minimal ACLs that a command needs."
    ),
    "audit": Member("doorkeeper.cli.audit:command", "Check that an audit log is complete."),
    "config": Member(
        "doorkeeper.cli.config:command",
        "Write, check, show and reset a configuration.",
    ),
    "examples": Member(
        "doorkeeper.cli.examples:command", "List and copy examples, JSON schemas and dashboards."
    ),
    "users-file": Member(
        "doorkeeper.cli.users.users_file:command",
        "Manage PLAIN users in a file of salted hashes.",
    ),
    "completion": Member(
        "doorkeeper.cli.completion:command", "Print the completion script of a shell."
    ),
}


# Click's own classes for these shells have faults that ours work around.
for _shell in (JoinedBash, LastingZsh):
    add_completion_class(_shell)


class Root(LazyGroup):
    """The group of all commands; it reports that Ctrl-C or an expected error has ended one."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command of the first word."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            end_interrupted()
        except click.Abort as abort:
            # Click aborts a question at Ctrl-C and at the end of standard input alike.
            if not is_interrupt(abort):
                raise
            end_interrupted()
        except Exception as error:
            # Imported here: few commands fail.
            from doorkeeper.cli.failures import report

            report(error)
            raise


@click.group(
    cls=Root,
    members=_MEMBERS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""
\b
Exit statuses: 0 done; 1 failed, with the reason on stderr; 2 wrong usage;
130 ended by Ctrl-C; of serve: 128 + n stopped at once by a second signal n.

Operations that take longer than two seconds report their progress on stderr if it is a terminal.

\b
Examples:
  doorkeeper serve
  doorkeeper config init
  doorkeeper serve --config server.properties
  doorkeeper serve --override listeners=PLAINTEXT://localhost:0
  doorkeeper acls explain store:data --principal User:alice --operation Read --topic orders
  doorkeeper store backup store:/var/lib/doorkeeper acls.backup
""",
)
@click.version_option(__version__, message="doorkeeper %(version)s")
def doorkeeper() -> None:
    """Serve Kafka's access control lists: a server for kafka-acls.sh and every admin client."""
