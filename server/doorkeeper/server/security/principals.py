"""Builds the principal of an authenticated connection.

    GSSAPI                                     User:<name given by the rules of Kerberos>
    every other mechanism                      User:<authorization id>
    SSL with a certificate                     User:<name given by ssl.principal.mapping.rules>
    PLAINTEXT, and SSL without a certificate   User:ANONYMOUS

``principal.builder.class`` may name a Python class with other rules.

Source: ``DefaultKafkaPrincipalBuilder`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, TypeGuard

from doorkeeper.acls.model import ANONYMOUS, Principal
from doorkeeper.base.encodings import is_unicode
from doorkeeper.base.tls.keys import SSL_PRINCIPAL_MAPPING_RULES
from doorkeeper.server.config.keys import PRINCIPAL_BUILDER_CLASS
from doorkeeper.server.config.plug_ins import PlugIn, class_of, configs_of, made, one_line
from doorkeeper.server.security.contract import AuthenticationContext, PrincipalBuilder

if TYPE_CHECKING:
    from doorkeeper.server.security.kerberos_rules import ShortNamer
    from doorkeeper.server.security.ssl_rules import SslRules

ENTRY_POINT_GROUP: Final = "doorkeeper.principal_builders"

KAFKA_NAME: Final = PRINCIPAL_BUILDER_CLASS.default_value


_PLUG_IN: Final = PlugIn(
    PRINCIPAL_BUILDER_CLASS.name,
    ENTRY_POINT_GROUP,
    PrincipalBuilder,
    kafka_names=(KAFKA_NAME,),
    allowed="a class with the method build",
)


class BuilderFault(Exception):
    """A custom principal builder failed; the text names it and the cause."""


class NoName(Exception):
    """A mechanism accepted a client without naming it."""


class DefaultPrincipalBuilder:
    """Kafka's own rules. Custom builders may inherit them."""

    def __init__(self) -> None:
        self._configs: Mapping[str, str] = {}
        self._ssl_rules: SslRules | None = None
        self._short_namer: ShortNamer | None = None

    def configure(self, configs: Mapping[str, str]) -> None:
        """Set the keys of the rules, which are parsed on first use."""
        self._configs = configs
        self._ssl_rules = self._short_namer = None

    def prepare(self, security_protocol: str, mechanisms: Iterable[str]) -> None:
        """Parse the rules that a listener needs."""
        if security_protocol == "SSL" and SSL_PRINCIPAL_MAPPING_RULES.name in self._configs:
            self._rules_of_certificates()
        if "GSSAPI" in mechanisms:
            self._rules_of_kerberos()

    def build(self, context: AuthenticationContext) -> Principal:
        """Return a principal of the type User.

        Raises:
            Exception: no rule applies to the name.
        """
        if context.sasl_mechanism is not None and not context.authorization_id:
            raise NoName(f"{context.sasl_mechanism} returned no name")
        if context.sasl_mechanism == "GSSAPI":
            name = self._rules_of_kerberos().short_name(context.authorization_id or "")
            return Principal("User", name)
        if context.authorization_id is not None:
            return Principal("User", context.authorization_id)
        if context.security_protocol == "SSL" and context.peer_certificates:
            from doorkeeper.base.distinguished_name import subject_of

            subject = subject_of(context.peer_certificates[0])
            return Principal("User", self._rules_of_certificates().name(subject))
        return ANONYMOUS

    # Imported where needed: most servers use neither certificates nor Kerberos for names.

    def _rules_of_certificates(self) -> SslRules:
        from doorkeeper.server.security.ssl_rules import SslRules

        if self._ssl_rules is None:
            rules = SSL_PRINCIPAL_MAPPING_RULES
            try:
                text = self._configs.get(rules.name, rules.default_value)
                self._ssl_rules = SslRules(text)
            except ValueError as error:
                raise ValueError(f"{rules}: {error}") from error
        return self._ssl_rules

    def _rules_of_kerberos(self) -> ShortNamer:
        from doorkeeper.server.security.kerberos_setup import short_namer

        if self._short_namer is None:
            self._short_namer = short_namer(self._configs)
        return self._short_namer


class GuardedPrincipalBuilder:
    """A custom builder. Any error of it becomes a ``BuilderFault`` with its name."""

    __slots__ = ("_builder", "name")

    def __init__(self, builder: PrincipalBuilder, name: str) -> None:
        """Wrap a builder; ``name`` is its name in the configuration."""
        self._builder = builder
        self.name = name

    def build(self, context: AuthenticationContext) -> Principal:
        """Return the builder's principal.

        Raises:
            BuilderFault: it raised, or returned something else.
        """
        try:
            principal: object = self._builder.build(context)
        except (Exception, SystemExit) as error:
            raise BuilderFault(f"{self.name}: {one_line(error)}") from error
        if not is_principal(principal):
            type_name = type(principal).__name__
            raise BuilderFault(
                f"{self.name}: returned {type_name}; expected: a Principal of two non-empty Unicode"
                " strings"
            )
        # A subclass may override comparison and repr.
        return Principal(principal.principal_type, principal.name)


def is_principal(value: object) -> TypeGuard[Principal]:
    """Return whether it is a principal of two non-empty strings, which stores and logs can hold."""
    parts: tuple[object, ...] = value if isinstance(value, Principal) else ()
    return bool(parts) and all(
        isinstance(part, str) and bool(part) and is_unicode(part) for part in parts
    )


def principal_builder_of(
    originals: Mapping[str, str],
    listener_name: str,
    security_protocol: str,
    mechanisms: Iterable[str] = (),
) -> PrincipalBuilder:
    """Return the principal builder of a listener, configured."""
    configs = configs_of(originals, listener_name)
    name = configs.get(PRINCIPAL_BUILDER_CLASS.name, "").strip() or KAFKA_NAME
    if name == KAFKA_NAME:
        builder = DefaultPrincipalBuilder()
        builder.configure(configs)
        builder.prepare(security_protocol, mechanisms)
        return builder
    builder_class = class_of(_PLUG_IN, name)

    def configure(builder: PrincipalBuilder) -> None:
        method = getattr(builder, "configure", None)
        if method is not None:
            method(configs)

    return GuardedPrincipalBuilder(
        made(builder_class, configure, f"{PRINCIPAL_BUILDER_CLASS}={name}"), name
    )
