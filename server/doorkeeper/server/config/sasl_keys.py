"""The keys of SASL that have an effect on a server."""

from __future__ import annotations

from typing import Final

from doorkeeper.base.key import Applies, Key, Scope
from doorkeeper.base.values import LONG_MAX, KeyType, at_least

_EVERY_MECHANISM = (
    Key(
        name="sasl.enabled.mechanisms",
        type=KeyType.LIST,
        default="GSSAPI",
        doc=(
            "The SASL mechanisms of a listener: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER,"
            " GSSAPI."
        ),
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.jaas.config",
        type=KeyType.PASSWORD,
        default=None,
        doc=(
            "The login module of a mechanism, given as"
            " listener.name.<name>.<mechanism>.sasl.jaas.config; the users of PLAIN, for example:"
            " org.apache.kafka.common.security.plain.PlainLoginModule required"
            ' user_alice="her password";'
        ),
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.server.callback.handler.class",
        type=KeyType.CLASS,
        default=None,
        doc=(
            "The class that checks passwords, supplies SCRAM credentials or validates tokens:"
            " the path of a Python class, an entry point, or Kafka's class name for a built-in"
            " one."
        ),
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.server.max.receive.size",
        type=KeyType.INT,
        default="524288",
        doc="The maximum size of a request in bytes before the authentication.",
        check=at_least(1),
    ),
    Key(
        name="connections.max.reauth.ms",
        type=KeyType.LONG,
        default="0",
        doc=(
            "The lifetime of a session, after which the client must authenticate again; 0 means"
            " no limit."
        ),
        check=at_least(0, LONG_MAX),
        scope=Scope.MECHANISM,
        applies=Applies.DYNAMIC,
    ),
    Key(
        name="connection.failed.authentication.delay.ms",
        type=KeyType.INT,
        default="100",
        doc="Delay of the response to a failed authentication.",
        importance="LOW",
        check=at_least(0),
    ),
)

_CHECKS = (
    Key(
        name="doorkeeper.sasl.plain.users.file",
        type=KeyType.STRING,
        default=None,
        doc=(
            "A file of users for PLAIN with salted hashes, written by doorkeeper users-file. It"
            " is reloaded when it changes."
        ),
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="doorkeeper.sasl.check.timeout.ms",
        type=KeyType.INT,
        default="10000",
        doc=(
            "Time-out of a callback handler, or of a password check against a users file,"
            " including its wait in the queue. Afterwards the authentication fails."
        ),
        importance="LOW",
        check=at_least(1),
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="doorkeeper.sasl.checks.max",
        type=KeyType.INT,
        default="64",
        doc=(
            "The maximum number of concurrent calls of a callback handler; further ones wait in"
            " a queue that is fair to client addresses."
        ),
        importance="LOW",
        check=at_least(1),
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
)

_GSSAPI = (
    Key(
        name="sasl.kerberos.service.name",
        type=KeyType.STRING,
        default=None,
        doc="The service name in the server's Kerberos principal: kafka of kafka/host@REALM.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.kerberos.principal.to.local.rules",
        type=KeyType.LIST,
        default="DEFAULT",
        doc=(
            "Rules that map the name of a Kerberos principal to a user name; the first matching"
            " one applies."
        ),
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
)

_OAUTHBEARER = (
    Key(
        name="sasl.oauthbearer.jwks.endpoint.url",
        type=KeyType.STRING,
        default=None,
        doc="The location of the keys that sign tokens: an http, https or file URL.",
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.oauthbearer.jwks.endpoint.refresh.ms",
        type=KeyType.LONG,
        default="3600000",
        doc="Interval of the refresh of the keys.",
        importance="LOW",
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        type=KeyType.LONG,
        default="100",
        doc="The first pause after a failed fetch of the keys.",
        importance="LOW",
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        type=KeyType.LONG,
        default="10000",
        doc="The longest pause after a failed fetch of the keys.",
        importance="LOW",
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.oauthbearer.jwt.validator.class",
        type=KeyType.CLASS,
        default="org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
        doc=(
            "Kafka's class that validates tokens; both of Kafka's names are allowed. For a"
            " validation of your own use a callback handler."
        ),
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.oauthbearer.expected.audience",
        type=KeyType.LIST,
        default="",
        doc=(
            "A token must be for one of these audiences. Without this key a token for any"
            " audience is rejected, and one without an audience is accepted."
        ),
        importance="HIGH",
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.oauthbearer.expected.issuer",
        type=KeyType.STRING,
        default=None,
        doc="The required issuer of tokens; by default every issuer is accepted.",
        importance="HIGH",
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.oauthbearer.clock.skew.seconds",
        type=KeyType.INT,
        default="30",
        doc="The maximum difference between the clocks of the issuer and of this server.",
        importance="LOW",
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.oauthbearer.scope.claim.name",
        type=KeyType.STRING,
        default="scope",
        doc="The claim of a token with its scope.",
        importance="LOW",
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.oauthbearer.sub.claim.name",
        type=KeyType.STRING,
        default="sub",
        doc="The claim of a token with the user name.",
        importance="LOW",
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
)

SASL: Final = (*_EVERY_MECHANISM, *_CHECKS, *_GSSAPI, *_OAUTHBEARER)
"""Keys of all mechanisms, then those of single ones."""
