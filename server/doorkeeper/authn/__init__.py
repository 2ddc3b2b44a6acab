"""How a client proves who it is: one module for each SASL mechanism, one contract for all.

contract     what a mechanism is, what its steps give, what a principal is made from
provider     a mechanism of a listener: what it is made from, what it may ask
mechanisms   which module speaks which mechanism
plain        PLAIN: a name and a password
scram        SCRAM-SHA-256 and SCRAM-SHA-512; scram_messages: what they say
             scram_provider: whose users those of a listener are
gssapi       GSSAPI: Kerberos tickets; kerberos_setup: what it needs of the machine
oauth        OAUTHBEARER: tokens of an identity provider
kerberos_rules  users' names from Kerberos names
credentials  what the server keeps of users and tokens
principals   who a connection speaks for

distinguished_name   the name of a certificate, as Java prints it
ssl_rules            ssl.principal.mapping.rules
java_regex           Java's regular expressions; _parsing and _classes translate them

plug-ins:
handlers_contract    what classes of others may know; handler_loading finds, guarded_handler asks
users_file           users of PLAIN, as password_records; passwords checks them, turns says whose

What a plug-in may rely on is exported here; the modules behind it may change at any time.
``docs/authentication-contract.md`` says what stays and for how long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acl.model import Principal
from doorkeeper.authn.contract import AuthenticationContext, PrincipalBuilder
from doorkeeper.authn.credentials import ScramCredential, credential_of
from doorkeeper.authn.handlers_contract import (
    CONTRACT_VERSION,
    CallbackHandler,
    PlainPasswords,
    ScramCredentials,
    TokenRefused,
    TokenValidator,
    ValidatedToken,
)

if TYPE_CHECKING:
    from doorkeeper.authn.principals import DefaultPrincipalBuilder

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
    """Import what few need."""
    if name == "DefaultPrincipalBuilder":
        from doorkeeper.authn.principals import DefaultPrincipalBuilder  # noqa: PLC0415

        return DefaultPrincipalBuilder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
