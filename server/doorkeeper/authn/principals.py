"""Who a connection speaks for, from what it has proved.

    without SASL      User:ANONYMOUS
    SASL              User:<authorization id>

``principal.builder.class`` may name a class of Python that has other rules.

Source: ``DefaultKafkaPrincipalBuilder`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from inspect import isabstract
from typing import TYPE_CHECKING, Final, TypeGuard

from doorkeeper.acl.model import ANONYMOUS, Principal
from doorkeeper.authn.guarded_handler import one_line
from doorkeeper.authn.prefixes import configs_of
from doorkeeper.plug_ins import UnusableClass, missing_methods, named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.authn.contract import AuthenticationContext, PrincipalBuilder

KEY: Final = "principal.builder.class"

ENTRY_POINT_GROUP: Final = "doorkeeper.principal_builders"

KAFKA_NAME: Final = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"


class BuilderFault(Exception):
    """A principal builder of others gave no principal; the text says which one, and why."""


class DefaultPrincipalBuilder:
    """Kafka's own rules. A class of yours may inherit them."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """Take the keys of the rules."""

    def build(self, context: AuthenticationContext) -> Principal:
        """Return a principal of the type User."""
        if context.authorization_id is None:
            return ANONYMOUS
        return Principal("User", context.authorization_id)


class OtherBuilder:
    """A builder of others. What it does wrong is a ``BuilderFault`` with its name."""

    __slots__ = ("_builder", "name")

    def __init__(self, builder: PrincipalBuilder, name: str) -> None:
        """Stand before it; ``name`` is what the configuration calls it."""
        self._builder = builder
        self.name = name

    def build(self, context: AuthenticationContext) -> Principal:
        """Return its principal.

        Raises:
            BuilderFault: it raised, or gave something else.

        """
        try:
            principal: object = self._builder.build(context)
        except (Exception, SystemExit) as error:
            raise BuilderFault(f"{self.name}: {one_line(error)}") from error
        if not is_principal(principal):
            found = type(principal).__name__
            raise BuilderFault(
                f"{self.name}: found {found}; allowed: a Principal of two texts, none of them empty"
            )
        # A subclass may compare or print itself in ways of its own.
        return Principal(principal.principal_type, principal.name)


def is_principal(found: object) -> TypeGuard[Principal]:
    """Say whether it is a principal that can be kept and compared."""
    parts: tuple[object, ...] = found if isinstance(found, Principal) else ()
    return bool(parts) and all(isinstance(part, str) and bool(part) for part in parts)


def principal_builder_of(
    originals: Mapping[str, str],
    listener_name: str,
) -> PrincipalBuilder:
    """Return what makes the principals of a listener, configured.

    Raises:
        ValueError: there is no such class, or its configuration is wrong; the text begins with
            the key.

    """
    configs = configs_of(originals, listener_name)
    name = configs.get(KEY, "").strip() or KAFKA_NAME
    if name == KAFKA_NAME:
        ours = DefaultPrincipalBuilder()
        ours.configure(configs)
        return ours
    found = named(KEY, name, ENTRY_POINT_GROUP, (KAFKA_NAME,))
    if not isinstance(found, type) or not callable(getattr(found, "build", None)):
        raise UnusableClass(
            f"{KEY}={name}: found {found!r}; allowed: a class with the method build"
        )
    if isabstract(found):
        raise UnusableClass(f"{KEY}={name}: the class lacks the methods {missing_methods(found)}")
    return OtherBuilder(_configured(found, configs, f"{KEY}={name}"), name)


def _configured(
    found: type[PrincipalBuilder], configs: Mapping[str, str], said: str
) -> PrincipalBuilder:
    """Make a builder of others; one that has a method ``configure`` gets the keys."""
    try:
        builder = found()
        configure = getattr(builder, "configure", None)
        if configure is not None:
            configure(configs)
    except ValueError as error:
        # Such a text begins with the key that is wrong.
        raise ValueError(" ".join(str(error).split())) from error
    except (Exception, SystemExit) as error:
        raise ValueError(f"{said}: {one_line(error)}") from error
    return builder
