r"""A principal builder that gives roles: who you are is the unit that your certificate names.

    CN=alice,OU=operators,O=Example    is Role:operators
    CN=bob,O=Example                   is User:CN=bob,O=Example, as with Kafka

Try it with the certificates of docs/reference/security.md, in the project's folder:

    PYTHONPATH=examples/authentication python -m doorkeeper serve \
        --override listeners=SSL://localhost:9093 \
        --override ssl.client.auth=required \
        --override ssl.keystore.type=PEM --override ssl.keystore.location=server.pem \
        --override ssl.truststore.type=PEM --override ssl.truststore.location=ca.pem \
        --override authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer \
        --override super.users=Role:operators \
        --override principal.builder.class=roles.Roles

Then alice may do everything, and may grant to others' roles:

    kafka-acls.sh ... --add --allow-principal Role:auditors --operation Describe --topic '*'

    roles.attribute    which part of the name is the role (OU)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from doorkeeper.plugins import DefaultPrincipalBuilder, Principal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.plugins import AuthenticationContext


class Roles(DefaultPrincipalBuilder):
    """Gives roles to certificates, and Kafka's principals to everybody else."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """Take the attribute; the base class takes Kafka's own rules."""
        super().configure(configs)
        attribute = configs.get("roles.attribute", "OU")
        if not attribute.isalpha():
            raise ValueError(f"roles.attribute: found {attribute!r}; allowed: letters, as OU")
        self._role = re.compile(rf"(?:^|[^\\][,+]){attribute}=((?:\\.|[^,+\\])+)")

    def build(self, context: AuthenticationContext) -> Principal:
        """Return who this is. What is raised here closes the connection."""
        principal = super().build(context)
        if not context.peer_certificates or context.sasl_mechanism is not None:
            return principal
        found = self._role.search(principal.name)
        return principal if found is None else Principal("Role", found[1])
