"""Derives the principal that a listener gives a client, rule by rule, from a configuration.

The rules are those that decide when a client really connects; nothing is connected here, and no
signature, ticket or password is checked. The file may be that of a Kafka broker, and may name
classes in Java: what they decide is not known.

Source: ``DefaultKafkaPrincipalBuilder``, ``SslPrincipalMapper``, ``KerberosShortNamer``,
``SaslChannelBuilder.createServerCallbackHandlers`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.acls.model import ANONYMOUS, Principal
from doorkeeper.base.key import Key, KeyValues
from doorkeeper.base.tls.keys import SSL_CLIENT_AUTH, SSL_PRINCIPAL_MAPPING_RULES
from doorkeeper.server.config.keys import PRINCIPAL_BUILDER_CLASS
from doorkeeper.server.config.sasl_keys import (
    SASL_ENABLED_MECHANISMS,
    SASL_JAAS_CONFIG,
    SASL_KERBEROS_PRINCIPAL_TO_LOCAL_RULES,
    SASL_OAUTHBEARER_JWT_VALIDATOR_CLASS,
    SASL_OAUTHBEARER_SUB_CLAIM_NAME,
    SASL_SERVER_CALLBACK_HANDLER_CLASS,
)
from doorkeeper.server.security.handlers_contract import TokenRefused
from doorkeeper.server.security.kerberos_rules import KerberosName

if TYPE_CHECKING:
    from doorkeeper.server.config.listeners import Listener
    from doorkeeper.server.config.sasl import MechanismSettings

_OAUTH: Final = "org.apache.kafka.common.security.oauthbearer"
SIGNED_HANDLERS: Final = tuple(
    f"{_OAUTH}.{package}OAuthBearerValidatorCallbackHandler" for package in ("", "secured.")
)
"""Kafka's class for signed tokens; up to 3.9 it was in the second package."""

PASSWORD_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


class Certificate(NamedTuple):
    """A certificate's subject, as Java prints it."""

    subject: str


class Ticket(NamedTuple):
    """The name of a Kerberos principal, and the broker's default realm, empty if not known."""

    name: str
    default_realm: str = ""


class BearerToken(NamedTuple):
    """The claims of a token, which is signed or not."""

    claims: Mapping[str, object]
    is_signed: bool


class UserName(NamedTuple):
    """The name of a login by password; ``mechanism`` is empty if it may be any of them."""

    name: str
    mechanism: str = ""


Credential = Certificate | Ticket | BearerToken | UserName


class Outcome(Enum):
    """What comes of a credential on a listener."""

    PRINCIPAL = "principal"
    REFUSED = "refused"
    NOT_KNOWN = "not known"


class Derivation(NamedTuple):
    """What a listener makes of a credential.

    ``principal`` is what Kafka's own class builds; with ``NOT_KNOWN`` another one decides, and with
    ``REFUSED`` it is None. ``key`` is the key of the rules as the file has it, and ``trials`` are
    the rules that were tried, ``not_reached`` those after the deciding one. ``assumed`` are
    statements about the broker that the file does not prove.
    """

    outcome: Outcome
    principal: str | None
    reason: str
    key: str = ""
    trials: tuple[tuple[str, str | None], ...] = ()
    not_reached: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()


class NotForListener(ValueError):
    """The listener authenticates its clients by something else."""


def derive(listener: Listener, credential: Credential) -> Derivation:
    """Return what a listener makes of a credential.

    Raises:
        NotForListener: it takes no credentials of this kind.
        ValueError: a rule is malformed: a broker does not start with it.
    """
    protocol = listener.security_protocol
    if protocol == "PLAINTEXT":
        reason = "a PLAINTEXT listener authenticates nobody"
        return _built(listener, Derivation(Outcome.PRINCIPAL, str(ANONYMOUS), reason))
    if isinstance(credential, Certificate) is listener.authenticates:
        origin = "SASL, not from certificates" if listener.authenticates else "certificates"
        raise NotForListener(
            f"listener {listener.name} uses {protocol}: its principals come from {origin}"
        )
    if isinstance(credential, Certificate):
        return _built(listener, _of_certificate(listener, credential))
    names = _mechanism_names(credential)
    mechanisms = [mechanism for mechanism in listener.mechanisms if mechanism.name in names]
    if not mechanisms:
        key = listener.full_name(SASL_ENABLED_MECHANISMS)
        offered = (
            ", ".join(mechanism.name for mechanism in listener.mechanisms)
            or "none that is known here"
        )
        reason = f"the listener does not offer {' or '.join(names)}; {key}: {offered}"
        return _refused(reason)
    if isinstance(credential, UserName):
        reason = f"{' or '.join(mechanism.name for mechanism in mechanisms)}: the name of the login"
        principal = str(Principal("User", credential.name))
        return _built(mechanisms[0], Derivation(Outcome.PRINCIPAL, principal, reason))
    if isinstance(credential, Ticket):
        return _built(mechanisms[0], _of_ticket(mechanisms[0], credential))
    return _built(mechanisms[0], _of_token(mechanisms[0], credential))


def _mechanism_names(credential: Credential) -> tuple[str, ...]:
    if isinstance(credential, UserName):
        return (credential.mechanism,) if credential.mechanism else PASSWORD_MECHANISMS
    return ("GSSAPI",) if isinstance(credential, Ticket) else ("OAUTHBEARER",)


def _refused(reason: str, key: str = "") -> Derivation:
    return Derivation(Outcome.REFUSED, None, reason, key)


def _built(values: KeyValues, derivation: Derivation) -> Derivation:
    """Return a derivation after ``principal.builder.class``."""
    name = values.values.get(PRINCIPAL_BUILDER_CLASS.name, "").strip()
    if name in ("", PRINCIPAL_BUILDER_CLASS.default_value):
        return derivation
    if derivation.outcome is Outcome.REFUSED and not derivation.trials:
        # Refused before a principal is built.
        return derivation
    key = values.full_name(PRINCIPAL_BUILDER_CLASS)
    reason = f"{key} names {name}, whose rules are not known here; by Kafka's own class: "
    return derivation._replace(outcome=Outcome.NOT_KNOWN, reason=reason + derivation.reason)


# --- certificates


def _of_certificate(listener: Listener, certificate: Certificate) -> Derivation:
    from doorkeeper.server.security.ssl_rules import SslRules

    asks = listener[SSL_CLIENT_AUTH]
    key = listener.full_name(SSL_CLIENT_AUTH)
    if asks == "none":
        reason = f"{key} is none: the listener asks for no certificate"
        return Derivation(Outcome.PRINCIPAL, str(ANONYMOUS), reason)
    assumed = ["the broker trusts the certificate's issuer"]
    if asks == "requested":
        assumed.append(
            f"the client shows its certificate: {key} is requested, and without one it is"
            f" {ANONYMOUS}"
        )
    rules = SSL_PRINCIPAL_MAPPING_RULES
    try:
        # An empty value is a list without rules, and not the default.
        mapping = SslRules(listener.values.get(rules.name, rules.default_value))
    except ValueError as error:
        raise ValueError(f"{listener.full_name(rules)}: {error}") from error
    return _tried(
        listener,
        rules,
        mapping.trials(certificate.subject),
        mapping.texts,
        f"no rule matches {certificate.subject}: the connection is closed",
    )._replace(assumed=tuple(assumed))


def _tried(
    values: KeyValues,
    key: Key[object],
    trials: Iterable[tuple[str, str | None]],
    texts: list[str],
    refusal: str,
) -> Derivation:
    """Return what rules make of a name."""
    tried: list[tuple[str, str | None]] = []
    try:
        tried += trials
    except (ValueError, TimeoutError) as error:
        # The rule after those that were tried.
        refusal = f"{texts[len(tried)]} fails: {str(error) or 'timed out'}"
        tried.append((texts[len(tried)], None))
    rest = tuple(texts[len(tried) :])
    whole = values.full_name(key)
    rule, name = tried[-1] if tried else ("", None)
    if name is None:
        return Derivation(Outcome.REFUSED, None, refusal, whole, tuple(tried), rest)
    principal, reason = str(Principal("User", name)), f"the first rule that applies: {rule}"
    return Derivation(Outcome.PRINCIPAL, principal, reason, whole, tuple(tried), rest)


# --- Kerberos


def _of_ticket(mechanism: MechanismSettings, ticket: Ticket) -> Derivation:
    from doorkeeper.server.security.kerberos_setup import short_namer_for

    realm = ticket.default_realm or ticket.name.rpartition("@")[2]
    namer = short_namer_for(realm, mechanism.values)
    try:
        name = KerberosName.parse(ticket.name)
    except ValueError as error:
        return _refused(f"{error}; the form is primary@REALM or primary/host@REALM")
    if name.realm is None:
        return _refused(f"{ticket.name} has no realm; a ticket's name has one: primary/host@REALM")
    derivation = _tried(
        mechanism,
        SASL_KERBEROS_PRINCIPAL_TO_LOCAL_RULES,
        namer.trials(name),
        namer.texts,
        f"no rule applies to {ticket.name}: the login fails",
    )
    if ticket.default_realm or not any(rule == "DEFAULT" for rule, _ in derivation.trials):
        return derivation
    text = f"the broker's default realm is {name.realm} (DEFAULT applies to that one alone)"
    return derivation._replace(assumed=(text,))


# --- tokens


def _of_token(mechanism: MechanismSettings, token: BearerToken) -> Derivation:
    handler = (mechanism.values.get(SASL_SERVER_CALLBACK_HANDLER_CLASS.name) or "").strip()
    if handler and handler not in (*SIGNED_HANDLERS, *_unsecured_handlers()):
        name = mechanism.full_name(SASL_SERVER_CALLBACK_HANDLER_CLASS)
        reason = f"{name} names {handler}, which reads tokens by rules that are not known here"
        return Derivation(Outcome.NOT_KNOWN, None, reason)
    assumed = ["the token is valid: its signature, times, issuer and audience are not checked here"]
    if handler in _unsecured_handlers() or not (handler or token.is_signed):
        if token.is_signed:
            return _refused(f"{handler} takes unsigned tokens only")
        return _of_unsigned(mechanism, token)._replace(assumed=tuple(assumed))
    if not token.is_signed:
        return _refused(f"the token is not signed, and {handler} verifies signatures")
    if not handler:
        assumed.append(
            "the server is a Doorkeeper: without sasl.server.callback.handler.class a Kafka broker"
            " refuses signed tokens"
        )
    return _of_signed(mechanism, token)._replace(assumed=tuple(assumed))


def _unsecured_handlers() -> tuple[str, ...]:
    from doorkeeper.server.security.oauth.provider import UNSECURED_HANDLERS

    return UNSECURED_HANDLERS


def _of_signed(mechanism: MechanismSettings, token: BearerToken) -> Derivation:
    from doorkeeper.server.security.oauth.provider import VALIDATORS
    from doorkeeper.server.security.oauth.subjects import signed_subject

    validator = SASL_OAUTHBEARER_JWT_VALIDATOR_CLASS
    if mechanism[validator] not in VALIDATORS:
        reason = (
            f"{mechanism.full_name(validator)} names {mechanism[validator]}, which is not known"
        )
        return Derivation(Outcome.NOT_KNOWN, None, reason)
    key = SASL_OAUTHBEARER_SUB_CLAIM_NAME
    claim = mechanism[key]
    try:
        name = signed_subject(token.claims, claim)
    except TokenRefused as refused:
        return _refused(f"{claim}: {refused}", mechanism.full_name(key))
    return _of_claim(name, claim, mechanism.full_name(key))


def _of_unsigned(mechanism: MechanismSettings, token: BearerToken) -> Derivation:
    from doorkeeper.server.security.oauth.subjects import unsigned_subject
    from doorkeeper.server.security.oauth.unsecured import PRINCIPAL_CLAIM_NAME, principal_claim

    module = mechanism.login_module
    claim = principal_claim({} if module is None else module.options)
    key = f"{PRINCIPAL_CLAIM_NAME} of {mechanism.full_name(SASL_JAAS_CONFIG)}"
    try:
        name = unsigned_subject(token.claims, claim)
    except TokenRefused as refused:
        return _refused(f"{claim}: {refused}", key)
    return _of_claim(name, claim, key)


def _of_claim(name: str, claim: str, key: str) -> Derivation:
    return Derivation(
        Outcome.PRINCIPAL, str(Principal("User", name)), f"the claim {claim} of the token", key
    )
