"""Creates the callback handler that ``sasl.server.callback.handler.class`` names.

(empty), or Kafka's own class      none: the mechanism uses the configured users and keys
package.module.Class               a class of Python, also package.module:Class
name                               an entry point of the group below
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from doorkeeper.server.config.plug_ins import PlugIn, class_of, made
from doorkeeper.server.config.sasl_keys import (
    SASL_CHECK_TIMEOUT_MS,
    SASL_CHECKS_MAX,
    SASL_SERVER_CALLBACK_HANDLER_CLASS,
)
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.security.guarded_handler import GuardedHandler
from doorkeeper.server.security.handlers_contract import CallbackHandler
from doorkeeper.server.security.prefixes import configs_of

if TYPE_CHECKING:
    from doorkeeper.server.config.mechanisms import MechanismSettings

ENTRY_POINT_GROUP: Final = "doorkeeper.callback_handlers"

_SECURITY: Final = "org.apache.kafka.common.security"
KAFKA_NAMES: Final = {
    f"{_SECURITY}.plain.internals.PlainServerCallbackHandler": ("PLAIN",),
    f"{_SECURITY}.scram.internals.ScramServerCallbackHandler": ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    f"{_SECURITY}.oauthbearer.OAuthBearerValidatorCallbackHandler": ("OAUTHBEARER",),
    f"{_SECURITY}.oauthbearer.secured.OAuthBearerValidatorCallbackHandler": ("OAUTHBEARER",),
    f"{_SECURITY}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler": (
        "OAUTHBEARER",
    ),
    f"{_SECURITY}.authenticator.SaslServerCallbackHandler": ("GSSAPI",),
}
"""Kafka's handlers and the mechanisms of each, which are built in here."""

H = TypeVar("H", bound=CallbackHandler)


def handler_of(
    settings: MechanismSettings, base: type[H], logger: Logger
) -> GuardedHandler[H] | None:
    """Return the mechanism's handler, configured and not started; None without one."""
    name = settings[SASL_SERVER_CALLBACK_HANDLER_CLASS].strip()
    key = settings.full_name(SASL_SERVER_CALLBACK_HANDLER_CLASS)
    if not name or _is_kafkas(name, key, settings.name):
        return None
    allowed = f"a subclass of doorkeeper.plugins.{{}}, for {settings.name}"
    plug_in = PlugIn(key, ENTRY_POINT_GROUP, base, kafka_names=KAFKA_NAMES, allowed=allowed)
    module = settings.login_module
    configs = configs_of(settings.originals, settings.listener_name, settings.name)
    options = {} if module is None else dict(module.options)
    return GuardedHandler(
        made(
            class_of(plug_in, name),
            lambda handler: handler.configure(configs, settings.name, options),
            f"{key}={name}",
        ),
        key=key,
        name=name,
        mechanism=settings.name,
        timeout_s=settings[SASL_CHECK_TIMEOUT_MS] / 1000,
        at_once=settings[SASL_CHECKS_MAX],
        logger=logger,
    )


def _is_kafkas(name: str, key: str, mechanism: str) -> bool:
    """Return whether it names a handler of Kafka's that serves the mechanism.

    A key without the mechanism's prefix, which Kafka ignores, has no effect on other mechanisms.
    """
    if name not in KAFKA_NAMES:
        return False
    if mechanism in KAFKA_NAMES[name] or f"{mechanism.lower()}." not in key.lower():
        return True
    serves = " and ".join(KAFKA_NAMES[name])
    raise ValueError(f"{key}={name}: this handler supports {serves}, not {mechanism}")
