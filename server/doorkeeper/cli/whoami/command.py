"""``doorkeeper whoami``: which principal will a broker see?"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from doorkeeper.acls.bulk import snapshot_of
from doorkeeper.acls.model import ANONYMOUS
from doorkeeper.base.config_errors import ConfigError
from doorkeeper.cli.acls.addresses import (
    ADDRESSES,
    check_command_config,
    location_options,
    read_contents,
    take_location,
)
from doorkeeper.cli.json_records.questions import WhoAmI
from doorkeeper.cli.options import PATH, has_overrides, utf8
from doorkeeper.cli.repositories.clusters import ClusterRepository
from doorkeeper.cli.terminal import fail, say, show_result
from doorkeeper.cli.vocabulary.commands import Command
from doorkeeper.cli.vocabulary.json_output import json_output
from doorkeeper.cli.vocabulary.options import named_option
from doorkeeper.cli.whoami.answers import Acls, Answer, lines_of, record_of
from doorkeeper.cli.whoami.credentials import (
    InvalidCredential,
    certificate_in,
    credential_of,
    token_in,
)
from doorkeeper.cli.whoami.name_derivation import (
    Certificate,
    NotForListener,
    Outcome,
    Ticket,
    UserName,
    derive,
)

if TYPE_CHECKING:
    from doorkeeper.cli.acls.addresses import Location
    from doorkeeper.cli.whoami.name_derivation import Credential
    from doorkeeper.client.config import ClientConfig
    from doorkeeper.client.identity import Identity
    from doorkeeper.server.config.listeners import Listener
    from doorkeeper.server.config.settings import Settings

_CREDENTIALS: Final = "one of --cert, --token, --kerberos or --user"
_WORDS_OF_NAMES: Final = ("principal", "claim", "client.auth", "protocol.map", "mechanisms")
"""What is in keys that decide about names, misspelt ones too."""


@click.command(
    cls=Command,
    name="whoami",
    epilog=f"""
With {_CREDENTIALS}, no connection is made: the name follows from the rules of --config, and
ADDRESS has the ACLs. Otherwise ADDRESS is a live cluster, and the command shows the principal of
the login in --command-config. "Known" is what a cluster answered; "inferred" is what follows from
files. Signatures, times and passwords are not checked. Only the claim with the name is shown
from a token, and only the certificate is decoded from a PEM file.

A principal that differs only in case, whitespace, or the order or spelling of a distinguished name
is a near miss: for Kafka it is a different principal.
{ADDRESSES}
\b
Exit statuses: 0 answered; 1 failed, with the reason on stderr; 2 wrong usage;
130 ended by Ctrl-C.

\b
Examples:
  doorkeeper whoami --config server.properties --listener CLIENTS --cert alice.pem
  doorkeeper whoami acls.csv --config server.properties --listener CLIENTS --cert alice.pem
  doorkeeper whoami kafka://localhost:9092 --command-config admin.properties \\
                    --config server.properties --listener OAUTH --token alice.jwt
  doorkeeper whoami kafka://localhost:9092 --command-config alice.properties
""",
)
@named_option("--listener", type=utf8)
@named_option("--cert", "certificate", type=PATH)
@named_option("--token", type=PATH)
@named_option("--kerberos", type=utf8)
@named_option("--user", type=utf8)
@named_option("--default-realm", type=utf8, default_text="the realm in --kerberos")
@named_option("--create-token", is_flag=True)
@location_options(has_policy=True)
@json_output(WhoAmI)
def command(
    listener: str | None,
    default_realm: str | None,
    output: str,
    *,
    create_token: bool,
    **options: Any,
) -> None:
    """Show which principal a broker sees, which rule produces it, and which ACLs name it.

    The files may be those of a Kafka broker and its clients.
    """
    file, overrides = options.pop("file"), options.pop("overrides")
    _check_config(file, overrides, listener)
    try:
        credential = _take_credential(options, default_realm)
        location = _take_location(options, is_live=credential is None)
        settings = None if file is None else _settings_of(file, overrides)
        if credential is None:
            assert location is not None
            answer = _of_login(location, settings, listener, create_token=create_token)
        else:
            if settings is None:
                raise click.UsageError(
                    "--config is missing; expected: the server.properties of the broker"
                )
            if create_token:
                raise click.UsageError(
                    f"--create-token requires a login to a live cluster, without {_CREDENTIALS}"
                )
            answer = _derived(settings, listener, credential)
            answer = answer._replace(acls=_acls_at(location, settings))
    except (InvalidCredential, NotForListener) as error:
        fail([error])
    show_result(output, record_of(answer), lines_of(answer))


def _check_config(file: Path | None, overrides: tuple[str, ...], listener: str | None) -> None:
    """Refuse options that have no effect without a configuration."""
    if file is not None:
        return
    if listener is not None:
        raise click.UsageError("--listener requires --config, the server.properties of the broker")
    if has_overrides(overrides):
        raise click.UsageError("--override requires --config, the server.properties to override")


def _take_credential(options: dict[str, Any], default_realm: str | None) -> Credential | None:
    names = ("certificate", "token", "kerberos", "user")
    credentials = {name: value for name in names if (value := options.pop(name)) is not None}
    if len(credentials) > 1:
        raise click.UsageError(f"give {_CREDENTIALS}; found {len(credentials)}")
    if default_realm is not None and "kerberos" not in credentials:
        raise click.UsageError("--default-realm requires --kerberos")
    for name, value in credentials.items():
        if name == "certificate":
            return certificate_in(value)
        if name == "token":
            return token_in(value)
        return UserName(value) if name == "user" else Ticket(value, default_realm or "")
    return None


def _take_location(options: dict[str, Any], *, is_live: bool) -> Location | None:
    """Return the location of the ACLs, or of the cluster to log in to."""
    if options["address"] is None:
        if is_live:
            raise click.UsageError(
                f"give {_CREDENTIALS}, or the address of a cluster to log in to: kafka://HOST:PORT"
            )
        check_command_config(options["command_config"], ())
        return None
    location = take_location(options | {"overrides": ()})
    if is_live and not location.address.is_live:
        raise click.UsageError(
            f"{location.address} is not a live cluster; give {_CREDENTIALS} with --config"
        )
    return location


def _settings_of(file: Path, overrides: tuple[str, ...]) -> Settings:
    """Return the settings of a file; problems of keys that decide about names are reported.

    Raises:
        ConfigError: it cannot be read.
    """
    from doorkeeper.server.config.loading import load

    try:
        return load(file, overrides).settings
    except ConfigError as error:
        if error.settings is None:
            raise
        # A broker's file may name what is not here, such as login modules and key stores.
        for problem in error.problems:
            if any(word in problem.key for word in _WORDS_OF_NAMES):
                say(str(problem))
        settings: Settings = error.settings
        return settings


# --- what the rules of a listener give


def _derived(settings: Settings, name: str | None, credential: Credential) -> Answer:
    listener = _listener_of(settings, name)
    try:
        derivation = derive(listener, credential)
    except NotForListener:
        raise
    except ValueError as error:
        raise InvalidCredential(str(error)) from error
    doubts = derivation.assumed
    if derivation.outcome is not Outcome.REFUSED:
        doubts = ("the broker runs with these values", *doubts)
    return Answer(
        derivation.outcome,
        derivation.principal,
        derivation.reason,
        _subject_of(credential),
        listener,
        derivation,
        doubts,
    )


def _listener_of(settings: Settings, name: str | None) -> Listener:
    listeners = {listener.name: listener for listener in settings.listeners}
    if name is None and len(listeners) == 1:
        return next(iter(listeners.values()))
    key = (name or "").upper()
    if key not in listeners:
        why = "is missing" if name is None else f"found {name!r}"
        raise click.UsageError(f"--listener: {why}; allowed: {', '.join(listeners)}")
    return listeners[key]


def _subject_of(credential: Credential) -> tuple[str, str] | None:
    if isinstance(credential, Certificate):
        return "certificate", credential.subject
    if isinstance(credential, Ticket):
        return "Kerberos principal", credential.name
    # Of a token nothing is shown but the name.
    return ("login", credential.name) if isinstance(credential, UserName) else None


def _acls_at(location: Location | None, settings: Settings) -> Acls | None:
    """Return the ACLs of a location, with the super users of its store or of the configuration.

    Raises:
        RepositoryError: they cannot be read.
    """
    if location is None:
        return None
    contents = read_contents(location)
    users, source = _super_users(settings)
    if contents.policy is not None:
        users, source = contents.policy.super_users, contents.policy_from
    return Acls(contents.bindings, location.repository().description, users, source)


def _super_users(settings: Settings | None) -> tuple[frozenset[str] | None, str]:
    from doorkeeper.server.authorizer.standard_keys import read_policy

    if settings is None:
        return None, ""
    try:
        return read_policy(settings.originals).super_users, "--config"
    except ValueError as error:
        say(str(error))
        return None, ""


# --- what a live cluster tells of a login


def _of_login(
    location: Location, settings: Settings | None, listener: str | None, *, create_token: bool
) -> Answer:
    """Return the answer for the login of a location's client properties.

    Raises:
        RepositoryError: the cluster does not answer.
    """
    from doorkeeper.cli.acls.questions import login_note
    from doorkeeper.cli.whoami.live import ask

    repository = location.repository()
    assert isinstance(repository, ClusterRepository)
    with repository.translate_errors():
        config = repository.client_config()
        credential, identity = asyncio.run(_login_of(config))
        live = asyncio.run(ask(config, create_token=create_token))
    if settings is not None and credential is not None:
        answer = _derived(settings, listener, credential)
    else:
        answer = _from_client(identity)
    users, source = _super_users(settings)
    description = repository.description
    if live.refusal:
        reason = "the cluster rejected the login"
        answer = Answer(Outcome.REFUSED, None, reason, answer.subject, answer.listener)
    note = None
    if live.bindings is not None and (principal := live.principal or answer.inferred) is not None:
        note = login_note(principal, snapshot_of(live.bindings))
    return answer._replace(
        note=note or "",
        live=live,
        address=str(location.address),
        acls=Acls(live.bindings, description, users, source),
    )


async def _login_of(config: ClientConfig) -> tuple[Credential | None, Identity]:
    from doorkeeper.client.identity import identity_of

    return await credential_of(config), await identity_of(config)


def _from_client(identity: Identity) -> Answer:
    if identity.principal is None:
        reason = "a delegation token, whose owner is not in it, or a login without a name"
        return Answer(Outcome.NOT_KNOWN, None, reason)
    doubts = ["the broker uses the default principal.builder.class (see --config)"]
    if identity.doubt:
        doubts.insert(0, identity.doubt.removeprefix("assuming that "))
    is_anonymous = identity.principal == str(ANONYMOUS)
    source = "neither a login nor a certificate" if is_anonymous else "the name"
    reason = f"{source} in the client's properties"
    return Answer(Outcome.PRINCIPAL, identity.principal, reason, doubts=tuple(doubts))
