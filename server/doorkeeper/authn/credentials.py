"""What a server keeps so that it can check a client's proof, and never a password.

Source: ``ScramCredential`` and ``TokenInformation`` of kafka-clients 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from doorkeeper.acl.model import Principal


class ScramCredential(NamedTuple):
    """A user's credential for one mechanism of SCRAM (RFC 5802)."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        """Leave out what is secret."""
        return f"ScramCredential({self.iterations} iterations)"


class TokenLogin(NamedTuple):
    """What a delegation token needs to log in. ``expiry_ms`` is a time of the wall clock."""

    owner: Principal
    hmac: bytes
    expiry_ms: int

    def __repr__(self) -> str:
        """Leave out what is secret."""
        return f"TokenLogin(of {self.owner})"
