"""The keys of SASL that have an effect on a server."""

from __future__ import annotations

from typing import Final

from doorkeeper.config.key import Applies, Key, Scope
from doorkeeper.config.values import LONG_MAX, KeyType, at_least

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
            "The class that checks passwords, supplies SCRAM credentials or validates tokens: a"
            " dotted path of Python or an entry point. Kafka's own class names stand for ours."
        ),
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.server.max.receive.size",
        type=KeyType.INT,
        default="524288",
        doc="The largest request, in bytes, before a client has authenticated.",
        check=at_least(1),
    ),
    Key(
        name="connections.max.reauth.ms",
        type=KeyType.LONG,
        default="0",
        doc="How long a session lasts until the client must authenticate again; 0 is no limit.",
        check=at_least(0, LONG_MAX),
        scope=Scope.MECHANISM,
        applies=Applies.DYNAMIC,
    ),
    Key(
        name="connection.failed.authentication.delay.ms",
        type=KeyType.INT,
        default="100",
        doc="How long the answer to a failed authentication is held back.",
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
            "A file of users for PLAIN, each with a salted hash; doorkeeper users-file writes it."
            " It is read again when it changes."
        ),
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="doorkeeper.sasl.check.timeout.ms",
        type=KeyType.INT,
        default="10000",
        doc=(
            "How long a callback handler, or the check of a password of a users file, may take, the"
            " wait for its turn included; later the client is refused."
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
            "How many calls of a callback handler are under way at once; others wait, and client"
            " addresses take turns."
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
        doc="The service that clients ask Kerberos for: kafka of kafka/host@REALM.",
        scope=Scope.LISTENER,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.kerberos.principal.to.local.rules",
        type=KeyType.LIST,
        default="DEFAULT",
        doc=(
            "How the name of a Kerberos principal becomes the name of a user: rules, of which the"
            " first that matches counts."
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
        doc="Where the keys are that tokens are signed with: an http, https or file URL.",
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.oauthbearer.jwks.endpoint.refresh.ms",
        type=KeyType.LONG,
        default="3600000",
        doc="How often the keys are fetched anew.",
        importance="LOW",
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        type=KeyType.LONG,
        default="100",
        doc="How long the first pause is after the keys could not be fetched.",
        importance="LOW",
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        type=KeyType.LONG,
        default="10000",
        doc="How long such a pause becomes at most.",
        importance="LOW",
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.oauthbearer.jwt.validator.class",
        type=KeyType.CLASS,
        default="org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
        doc=(
            "Kafka's name for what validates a token; its own two names are allowed. A check of"
            " your own is a callback handler."
        ),
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.oauthbearer.expected.audience",
        type=KeyType.LIST,
        default="",
        doc=(
            "A token must be meant for one of these. Where none is given, a token that names an"
            " audience is refused, and one that names none is taken."
        ),
        importance="HIGH",
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.oauthbearer.expected.issuer",
        type=KeyType.STRING,
        default=None,
        doc="A token must come from this issuer; absent, every one is taken.",
        importance="HIGH",
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.oauthbearer.clock.skew.seconds",
        type=KeyType.INT,
        default="30",
        doc="How far the clocks of the issuer and of this server may be apart.",
        importance="LOW",
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.oauthbearer.scope.claim.name",
        type=KeyType.STRING,
        default="scope",
        doc="The claim of a token that holds its scope.",
        importance="LOW",
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
    Key(
        name="sasl.oauthbearer.sub.claim.name",
        type=KeyType.STRING,
        default="sub",
        doc="The claim of a token that names the user.",
        importance="LOW",
        scope=Scope.MECHANISM,
        applies=Applies.RELOAD,
    ),
)

SASL: Final = (*_EVERY_MECHANISM, *_CHECKS, *_GSSAPI, *_OAUTHBEARER)
"""Keys of all mechanisms, then those of single ones."""
