"""The keys of SASL that have an effect: of all mechanisms, then those of single ones."""

from __future__ import annotations

from typing import Final

from doorkeeper.base.key import (
    Applies,
    Dynamic,
    Scope,
    file,
    integer,
    java_class,
    long,
    optional,
    password,
    text,
    words,
)
from doorkeeper.base.values import LONG_MAX, at_least

SASL_ENABLED_MECHANISMS: Final = words(
    "sasl.enabled.mechanisms",
    "GSSAPI",
    "The SASL mechanisms of a listener: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, GSSAPI.",
    scope=Scope.LISTENER,
    in_kafka=Dynamic.BROKER,
)
SASL_JAAS_CONFIG: Final = password(
    "sasl.jaas.config",
    "The login module of a mechanism, given as"
    " listener.name.<name>.<mechanism>.sasl.jaas.config; the users of PLAIN, for example:"
    ' org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="her'
    ' password";',
    scope=Scope.MECHANISM,
    in_kafka=Dynamic.BROKER,
)
SASL_SERVER_CALLBACK_HANDLER_CLASS: Final = java_class(
    "sasl.server.callback.handler.class",
    "The class that checks passwords, supplies SCRAM credentials or validates tokens: the path"
    " of a Python class, an entry point, or Kafka's class name for a built-in one.",
    scope=Scope.MECHANISM,
)
SASL_SERVER_MAX_RECEIVE_SIZE: Final = integer(
    "sasl.server.max.receive.size",
    524_288,
    "The maximum size of a request in bytes before the authentication.",
    at_least(1),
)
CONNECTIONS_MAX_REAUTH_MS: Final = long(
    "connections.max.reauth.ms",
    0,
    "The lifetime of a session, after which the client must authenticate again; 0 means no limit.",
    at_least(0, LONG_MAX),
    scope=Scope.MECHANISM,
    applies=Applies.DYNAMIC,
)
CONNECTION_FAILED_AUTHENTICATION_DELAY_MS: Final = integer(
    "connection.failed.authentication.delay.ms",
    100,
    "Delay of the response to a failed authentication.",
    at_least(0),
)
SASL_PLAIN_USERS_FILE: Final = file(
    "doorkeeper.sasl.plain.users.file",
    "A file of users for PLAIN with salted hashes, written by doorkeeper users-file. It is"
    " reloaded when it changes.",
    scope=Scope.MECHANISM,
)
SASL_CHECK_TIMEOUT_MS: Final = integer(
    "doorkeeper.sasl.check.timeout.ms",
    10_000,
    "Timeout of a callback handler, or of a password check against a users file, including its"
    " wait in the queue. Afterwards the authentication fails.",
    at_least(1),
    scope=Scope.MECHANISM,
)
SASL_CHECKS_MAX: Final = integer(
    "doorkeeper.sasl.checks.max",
    64,
    "The maximum number of concurrent calls of a callback handler; further ones wait in a queue"
    " that is fair to client addresses.",
    at_least(1),
    scope=Scope.MECHANISM,
)
SASL_KERBEROS_SERVICE_NAME: Final = optional(
    "sasl.kerberos.service.name",
    "The service name in the server's Kerberos principal: kafka of kafka/host@REALM.",
    scope=Scope.LISTENER,
    in_kafka=Dynamic.BROKER,
)
SASL_KERBEROS_PRINCIPAL_TO_LOCAL_RULES: Final = words(
    "sasl.kerberos.principal.to.local.rules",
    "DEFAULT",
    "Rules that map the name of a Kerberos principal to a user name; the first matching one"
    " applies.",
    scope=Scope.LISTENER,
    in_kafka=Dynamic.BROKER,
)
SASL_OAUTHBEARER_JWKS_ENDPOINT_URL: Final = optional(
    "sasl.oauthbearer.jwks.endpoint.url",
    "The location of the keys that sign tokens: an http, https or file URL.",
    scope=Scope.MECHANISM,
)
SASL_OAUTHBEARER_JWKS_ENDPOINT_REFRESH_MS: Final = long(
    "sasl.oauthbearer.jwks.endpoint.refresh.ms",
    3_600_000,
    "Interval of the refresh of the keys.",
    at_least(1, LONG_MAX),
    scope=Scope.MECHANISM,
)
SASL_OAUTHBEARER_JWKS_ENDPOINT_RETRY_BACKOFF_MS: Final = long(
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
    100,
    "The first pause after a failed fetch of the keys.",
    at_least(0, LONG_MAX),
    scope=Scope.MECHANISM,
)
SASL_OAUTHBEARER_JWKS_ENDPOINT_RETRY_BACKOFF_MAX_MS: Final = long(
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
    10_000,
    "The longest pause after a failed fetch of the keys.",
    at_least(0, LONG_MAX),
    scope=Scope.MECHANISM,
)
SASL_OAUTHBEARER_JWT_VALIDATOR_CLASS: Final = java_class(
    "sasl.oauthbearer.jwt.validator.class",
    "Kafka's class that validates tokens; both of Kafka's names are allowed. For custom"
    " validation, use a callback handler.",
    "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
    scope=Scope.MECHANISM,
)
SASL_OAUTHBEARER_EXPECTED_AUDIENCE: Final = words(
    "sasl.oauthbearer.expected.audience",
    "",
    "A token must be for one of these audiences. Set it: without it every token that has an aud is"
    " refused, and any token of this provider without aud is accepted.",
    scope=Scope.MECHANISM,
)
SASL_OAUTHBEARER_EXPECTED_ISSUER: Final = optional(
    "sasl.oauthbearer.expected.issuer",
    "The required issuer of tokens; by default every issuer is accepted.",
    scope=Scope.MECHANISM,
)
SASL_OAUTHBEARER_CLOCK_SKEW_SECONDS: Final = integer(
    "sasl.oauthbearer.clock.skew.seconds",
    30,
    "The maximum difference between the clocks of the issuer and of this server.",
    at_least(0),
    scope=Scope.MECHANISM,
)
SASL_OAUTHBEARER_SCOPE_CLAIM_NAME: Final = text(
    "sasl.oauthbearer.scope.claim.name",
    "scope",
    "The name of the claim that contains the scope.",
    scope=Scope.MECHANISM,
)
SASL_OAUTHBEARER_SUB_CLAIM_NAME: Final = text(
    "sasl.oauthbearer.sub.claim.name",
    "sub",
    "The name of the claim that contains the user name.",
    scope=Scope.MECHANISM,
)
