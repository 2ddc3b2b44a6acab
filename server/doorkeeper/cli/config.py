"""``doorkeeper config``: write a sample; check, show and reset a configuration."""

from __future__ import annotations

import asyncio
import os
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from doorkeeper.base.config_errors import ConfigError
from doorkeeper.base.values import KeyType, without_login
from doorkeeper.cli.files import write_whole
from doorkeeper.cli.json_records.stores import (
    BrokerCheck,
    ConfigCheck,
    ConfigValue,
    ConfigValues,
    ForgottenValues,
)
from doorkeeper.cli.options import JAAS_FILE_KEY, PATH, override_option
from doorkeeper.cli.sample_files import SAMPLE_CONFIGURATION, sample_file
from doorkeeper.cli.stores import STORE_ADDRESSES, settings_at, store_argument
from doorkeeper.cli.terminal import fail, printable, say, show_result
from doorkeeper.cli.vocabulary.commands import Group
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper.server.config.keys import KEYS
from doorkeeper.server.config.loading import load
from doorkeeper.server.config.naming import find_key
from doorkeeper.server.config.settings import Settings, default_of, meaning_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from doorkeeper.cli.repositories.addresses import Address
    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.schema.declared import StoredConfig
    from doorkeeper.server.state.state import State


RELEASES: Final = ("3.9", "4.0", "4.1", "4.2", "4.3", "4.4")
"""The releases of Kafka of which the rules for brokers are known."""


@click.group(
    cls=Group,
    name="config",
    epilog="""
\b
Exit statuses: 0 done; 1 failed, with the reason on stderr;
2 wrong usage; 130 ended by Ctrl-C.

\b
Examples:
  doorkeeper config init
  doorkeeper config check server.properties
  doorkeeper config check --broker broker.properties controller.properties
  doorkeeper config show server.properties
  doorkeeper config reset config:server.properties super.users
""",
)
def command() -> None:
    """Write a sample, check a configuration, show its values, and reset dynamic ones."""


@command.command(
    epilog="""
A new file is readable only by its owner, because it contains passwords. If the argument is a
folder, the file server.properties is written into it.

\b
Exit statuses: 0 written; 1 the file is there already, or cannot be written; 2 wrong usage.

\b
Examples:
  doorkeeper config init
  doorkeeper config init /etc/doorkeeper/server.properties --overwrite
  doorkeeper config init --container
"""
)
@click.argument("target", type=PATH, default=".", metavar="[DIR|FILE]")
@named_option("--overwrite", text="Replace the file if it exists.", is_flag=True)
@named_option("--container", "in_container", is_flag=True)
def init(target: Path, *, overwrite: bool, in_container: bool) -> None:
    """Write a sample server.properties with comments, into the working directory by default."""
    file = target / "server.properties" if target.is_dir() else target
    # The file is created here, with its mode, and not by another process in between.
    flags = os.O_WRONLY | os.O_CREAT | (0 if overwrite else os.O_EXCL)
    try:
        os.close(os.open(file, flags, 0o600))
        text = sample_file(SAMPLE_CONFIGURATION).read_text("utf-8")
        write_whole(file, (for_container(text) if in_container else text).encode())
    except FileExistsError:
        fail([f"{file}: the file exists; to replace it, add --overwrite"])
    except OSError as error:
        fail([f"{file}: cannot write: {error.strerror}"])
    then = f"doorkeeper serve --config {file}"
    if in_container:
        then = f"chown {_CONTAINER_USER} {file}, and mount it as docs/how-to/docker.md says"
    click.echo(f"wrote {file}; change its passwords, then run: {then}")


_CONTAINER_USER = 10001
"""The user of the image; nobody else may read the file."""

_CONTAINER_LINES = {
    "# --- where it listens; only this machine can reach these addresses -": (
        "# --- where it listens; clients dial the advertised addresses, which are published -"
    ),
    "listeners=SASL://localhost:9092,CONTROLLER://localhost:9093\n": (
        "listeners=SASL://0.0.0.0:9092,CONTROLLER://0.0.0.0:9093\n"
        "advertised.listeners=SASL://localhost:9092\n"
    ),
    "doorkeeper.data.dir=./data\n": (
        "doorkeeper.data.dir=/var/lib/doorkeeper\ndoorkeeper.http.listener=http://127.0.0.1:9404\n"
    ),
}


def for_container(text: str) -> str:
    """Return the sample for the image; the lines that differ are in a table."""
    for line, other in _CONTAINER_LINES.items():
        assert line in text, line
        text = text.replace(line, other)
    return text


@command.command(
    epilog="""
With --broker the files are those of brokers and controllers of one cluster of Kafka, and only
security settings are checked; docs/reference/config-rules.md lists the rules. An error prevents a
node from starting.

\b
Exit statuses: 0 the server, or the brokers, can start with it; 1 they cannot, each error is a line,
or there are warnings and --strict is given; 2 wrong usage.

\b
Examples:
  doorkeeper config check server.properties
  doorkeeper config check server.properties --strict
  doorkeeper config check server.properties --override listeners=PLAINTEXT://localhost:0
  doorkeeper config check --broker broker.properties controller.properties --jaas-file jaas.conf
  doorkeeper config check --broker --compose compose.yaml --output sarif
"""
)
@click.argument("files", type=PATH, nargs=-1, metavar="FILE...")
@override_option
@named_option("--strict", is_flag=True)
@named_option("--broker", is_flag=True)
@named_option("--no-jaas-file", "no_jaas", is_flag=True)
@named_option("--no-stores", is_flag=True)
@named_option("--compose", "environment", type=PATH)
@named_option("--kafka", "release", type=click.Choice(RELEASES), default="4.3", show_default=True)
@json_output(ConfigCheck, BrokerCheck, others=("sarif",))
def check(
    files: tuple[Path, ...],
    overrides: tuple[str, ...],
    *,
    strict: bool,
    broker: bool,
    no_jaas: bool,
    no_stores: bool,
    environment: Path | None,
    release: str,
    output: str,
) -> None:
    """Print every error and warning of a Doorkeeper or Kafka broker configuration.

    For a configuration of Doorkeeper, everything that it refers to is checked too: authorizer,
    login modules, certificates, keytabs, users files and plug-ins. They are loaded and configured
    but not started, and no connection to another server is made.
    """
    if broker:
        jaas, others = _take_jaas_file(overrides)
        if others:
            raise click.UsageError("--override cannot be combined with --broker")
        if not files and environment is None:
            raise click.UsageError("give the files of the nodes, or --compose")
        from doorkeeper.cli.broker_check import check_brokers
        from doorkeeper.server.config import jaas_file

        known = jaas_file.NO_FILE if no_jaas else None
        check_brokers(
            files,
            jaas=known if jaas is None else jaas_file.read(jaas),
            environment=environment,
            release=release,
            output=output,
            strict=strict,
            reads_stores=not no_stores,
        )
    if no_jaas or no_stores or environment is not None or output == "sarif":
        raise click.UsageError(
            "--no-jaas-file, --no-stores, --compose and --output sarif require --broker"
        )
    if len(files) != 1:
        raise click.UsageError("give one FILE, or --broker")
    _check_own(files[0], overrides, strict=strict, output=output)


def _take_jaas_file(overrides: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the file of --jaas-file, and the other overrides."""
    key = f"{JAAS_FILE_KEY}="
    named = [override.removeprefix(key) for override in overrides if override.startswith(key)]
    return named[0] if named else None, [
        override for override in overrides if not override.startswith(key)
    ]


def _check_own(file: Path, overrides: tuple[str, ...], *, strict: bool, output: str) -> None:
    from doorkeeper.server.app.config_check import check_configuration
    from doorkeeper.server.app.errors import StartError

    errors: Sequence[str] = ()
    try:
        warnings = check_configuration(file, overrides).warnings
    except (ConfigError, StartError) as error:
        errors, warnings = (
            [str(problem) for problem in error.problems],
            getattr(error, "warnings", ()),
        )
    record = ConfigCheck(file=str(file), errors=list(errors), warnings=list(warnings))
    show_result(output, record, [f"warning: {printable(warning)}" for warning in warnings])
    if errors:
        fail(errors)
    if strict and warnings:
        fail([f"{file}: {len(warnings)} warnings, which --strict treats as errors"])
    if output == "text":
        click.echo(f"{file}: the server can start with it")


@command.command(
    epilog="""
Passwords are hidden, and so are the values of keys that Doorkeeper does not know (plug-ins may read
them). A JAAS file is shown by name only. Dynamic values are in the store: kafka-configs.sh
--describe prints them.

\b
Exit statuses: 0 shown; 1 the configuration has errors, each a line on stderr;
2 wrong usage.

\b
Examples:
  doorkeeper config show
  doorkeeper config show server.properties --output json
"""
)
@click.argument("file", type=PATH, required=False)
@override_option
@json_output(ConfigValues)
def show(file: Path | None, overrides: tuple[str, ...], output: str) -> None:
    """Print every value and its source, of the configuration FILE or of the defaults."""
    # Values that have no effect are listed too: a file may be shared with brokers.
    rows = origins_of(load(file, overrides).settings)
    lines = [
        f"{row['key']}={row['value'] or ''}"
        f"  ({row['source']}{'' if row['hasEffect'] else '; no effect'})"
        for row in rows
    ]
    show_result(output, ConfigValues(values=rows), lines)


HIDDEN = "(hidden)"
DEFAULT = "default"

# DescribeConfigs hides undeclared keys such as super.users as a broker does, but the operator of
# this machine may see them.
_SHOWN_ALTHOUGH_UNDECLARED = frozenset(
    key.name for key in KEYS.values() if not key.declared and key.type is not KeyType.PASSWORD
)


def origins_of(settings: Settings) -> list[ConfigValue]:
    """Return all keys with an effect and all other entries, sorted by key.

    The values of passwords and of undeclared keys, which may be secrets, are hidden. An undeclared
    key counts as having an effect, because plug-ins may read it.
    """
    entries = {entry.key: entry for entry in (*settings.static, *settings.dynamic.entries())}
    rows = []
    for name in sorted(KEYS.keys() | entries.keys()):
        has_effect = not find_key(name).without_effect
        if name in entries:
            hidden = meaning_of(name).sensitive and name not in _SHOWN_ALTHOUGH_UNDECLARED
            value = HIDDEN if hidden else without_login(entries[name].value.strip())
            source = entries[name].source
        else:
            value = KEYS[name].default if default_of(name) is None else default_of(name)
            source = DEFAULT
        rows.append(ConfigValue(key=name, value=value, source=source, hasEffect=has_effect))
    return rows


@command.command(
    epilog=f"""
The server must be stopped. Afterwards, it uses the values in its file again.
{STORE_ADDRESSES}
\b
Exit statuses: 0 done, or nothing to reset; 1 failed, with the reason on stderr;
2 wrong usage.

\b
Examples:
  doorkeeper config reset config:server.properties super.users
  doorkeeper config reset config:server.properties --all
"""
)
@store_argument()
@click.argument("keys", metavar="KEY...", nargs=-1)
@named_option("--all", "every", is_flag=True)
@override_option
@json_output(ForgottenValues)
def reset(
    store: Address, keys: tuple[str, ...], overrides: tuple[str, ...], output: str, *, every: bool
) -> None:
    """Delete the dynamic values of each KEY, as set by kafka-configs.sh."""
    # Without keys nothing is meant, rather than everything: an empty variable resets no key.
    if bool(keys) == every:
        raise click.UsageError("give either keys or --all")

    # Through the log of changes, so that the audit log and other nodes see the reset.
    settings = settings_at(store, overrides)
    forgotten = asyncio.run(forget(settings, None if every else keys))
    record: ForgottenValues = {
        "forgotten": [{"key": row.name, "broker": row.broker or None} for row in forgotten]
    }
    lines = [
        f"reset: {row.name} of {f'broker {row.broker}' if row.broker else 'the cluster'}"
        for row in forgotten
    ]
    show_result(output, record, lines or ["nothing to reset"])
    for key in sorted(set(keys).difference(row.name for row in forgotten)):
        similar = [] if key in KEYS else get_close_matches(key, KEYS, 1)
        hint = f"; did you mean {similar[0]}?" if similar else ""
        say(f"note: {key} has no dynamic value{hint}")


async def forget(settings: Settings, names: Collection[str] | None) -> list[StoredConfig]:
    """Delete the dynamic values of these keys, of all without ``names``; return them.

    They are deleted for every broker and for the cluster. The server is not started: the values may
    be what keeps it from starting. Kafka's request changes those of the node that is asked.

    Raises:
        StorageError: there is no store, a server uses it, or it cannot be written.
        StartError: the audit log cannot be written.
    """
    from doorkeeper.cli.single_user import commit, open_log
    from doorkeeper.server.schema.change import Author, Origin, edit
    from doorkeeper.server.schema.declared import CONFIG

    def plan(state: State) -> tuple[Change, list[StoredConfig]]:
        rows = sorted(row for row in state.configs if names is None or row.name in names)
        return edit(CONFIG, deleted=rows), rows

    async with open_log(settings) as assembly:
        if not plan(assembly.log.state)[1]:
            return []
        origin = Origin(Author("Server:doorkeeper", "", "", "doorkeeper config reset"))
        await assembly.log.start()
        return await commit(assembly, plan, origin)
