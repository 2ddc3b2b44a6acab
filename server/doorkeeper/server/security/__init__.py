"""Authentication of clients: the SASL mechanisms, callback handlers and principals.

contract     the contract of a mechanism: steps, their results, the authentication context
provider     a mechanism as configured on one listener
mechanisms   the module of each mechanism
plain        PLAIN: a name and a password
scram        SCRAM-SHA-256 and SCRAM-SHA-512; scram_messages: their messages
             scram_provider: the users of a listener
gssapi       GSSAPI: Kerberos tickets; kerberos_setup: configuration, realm, keytab
oauth        OAUTHBEARER: tokens of an identity provider
kerberos_rules  user names from Kerberos names
credentials  stored credentials of users and delegation tokens
prefixes     the keys that a plug-in gets: all, and those of its listener without the prefix
principals   the principal of an authenticated connection

distinguished_name   the name of a certificate's subject, as Java prints it
ssl_rules            ssl.principal.mapping.rules
java_regex           Java's regular expressions; java_regex_parsing and java_regex_classes
                     translate them

plug-ins:
handlers_contract    base classes of callback handlers
handler_loading      creates the configured handler; guarded_handler bounds its calls
users_file           users of PLAIN, as password_records; users_file_changes edits the file
passwords            checks passwords against JAAS options, a users file or a handler
fair_semaphore       bounds concurrent checks, fairly between client addresses

Plug-ins may rely on the names in ``__all__``; the modules behind them may change at any time.
``docs/reference/authentication-contract.md`` states the compatibility guarantee.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acls.model import Principal
from doorkeeper.base.credentials import ScramCredential, credential_of
from doorkeeper.server.security.contract import AuthenticationContext, PrincipalBuilder
from doorkeeper.server.security.handlers_contract import (
    CONTRACT_VERSION,
    CallbackHandler,
    PlainPasswords,
    ScramCredentials,
    TokenRefused,
    TokenValidator,
    ValidatedToken,
)

if TYPE_CHECKING:
    from doorkeeper.server.security.principals import DefaultPrincipalBuilder

__all__ = [
    "CONTRACT_VERSION",
    "AuthenticationContext",
    "CallbackHandler",
    "DefaultPrincipalBuilder",
    "PlainPasswords",
    "Principal",
    "PrincipalBuilder",
    "ScramCredential",
    "ScramCredentials",
    "TokenRefused",
    "TokenValidator",
    "ValidatedToken",
    "credential_of",
]


def __getattr__(name: str) -> object:
    """Import ``DefaultPrincipalBuilder`` on first use; handlers do not need it."""
    if name == "DefaultPrincipalBuilder":
        from doorkeeper.server.security.principals import DefaultPrincipalBuilder  # noqa: PLC0415

        return DefaultPrincipalBuilder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
