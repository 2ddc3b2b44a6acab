"""An asynchronous administrator's client for Kafka brokers, controllers and Doorkeeper.

    async with AdminClient(ClientConfig(bootstrap="localhost:9092")) as admin:
        await admin.create_acls([binding])
        for binding in await admin.describe_acls():
            ...

admin        what an administrator asks and changes
config       where to and how; properties reads it from a Java client's file
connection   one connection: versions, login, pipelined requests
logins       the client's side of the SASL mechanisms
errors       what can go wrong

This package is public; ``docs/client.md`` says what stays as it is.
"""

from doorkeeper.client.admin import AdminClient, Cluster, Created, Deleted, Removed
from doorkeeper.client.config import ClientConfig
from doorkeeper.client.errors import (
    ApiFailure,
    ClientError,
    ConnectionLost,
    LoginRefused,
    NotServed,
    TimedOut,
    Unreachable,
)
from doorkeeper.client.logins import Bearer, Login, Password

__all__ = [
    "AdminClient",
    "ApiFailure",
    "Bearer",
    "ClientConfig",
    "ClientError",
    "Cluster",
    "ConnectionLost",
    "Created",
    "Deleted",
    "Login",
    "LoginRefused",
    "NotServed",
    "Password",
    "Removed",
    "TimedOut",
    "Unreachable",
]
