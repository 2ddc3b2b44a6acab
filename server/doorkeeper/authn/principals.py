"""Who a connection speaks for, from what it has proved.

    without SASL and without a certificate     User:ANONYMOUS
    SASL                                       User:<authorization id>

Source: ``DefaultKafkaPrincipalBuilder`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acl.model import ANONYMOUS, Principal

if TYPE_CHECKING:
    from doorkeeper.authn.contract import AuthenticationContext


class DefaultPrincipalBuilder:
    """Kafka's own rules."""

    def build(self, context: AuthenticationContext) -> Principal:
        """Return a principal of the type User."""
        if context.authorization_id is None:
            return ANONYMOUS
        return Principal("User", context.authorization_id)
