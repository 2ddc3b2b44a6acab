"""An asynchronous admin client for Kafka brokers, controllers and Doorkeeper.

    async with AdminClient(ClientConfig(bootstrap="localhost:9092")) as admin:
        await admin.create_acls([binding])
        for binding in await admin.describe_acls():
            ...

A call without an answer raises a ``ClientError``; after one the outcome of a change is unknown.
A refusal by the server is an ``ApiFailure``, an address that is none a ``ValueError``.

admin        the operations of an administrator; scram has those on SCRAM users
entities     topics, users and quotas: descriptions and changes
bindings     ACLs in requests and responses, and local validation
nodes        discovery of nodes, connections to them, retries
config       addresses, timeouts, credentials; properties reads a Java client's file, with the
             variables of config_providers
topics       records of topics, for readers without a group
metadata_log the log of metadata, from the leader of the controllers; logged_acls: its ACLs
connection   one connection: versions, login, pipelined requests
open_by_default  allow.everyone.if.no.acl.found, as far as brokers tell it
identity     the principal of a client, as far as its configuration tells it
logins       the client's side of the SASL mechanisms; bearer_tokens: tokens for OAUTHBEARER
watching     changes as they are made, from an operations port
errors       the exceptions

This package is public; ``docs/how-to/client.md`` states the compatibility guarantee.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from doorkeeper.client.admin import AdminClient, Created, Deleted, Removed
from doorkeeper.client.config import Address, ClientConfig
from doorkeeper.client.errors import (
    ApiFailure,
    ClientError,
    ConnectionLost,
    LoginRefused,
    NotServed,
    TimedOut,
    TlsFailed,
    Unreachable,
    Unsendable,
    WatchRefused,
)
from doorkeeper.client.nodes import Cluster

if TYPE_CHECKING:
    from doorkeeper.client.logins import Bearer, Login, Password
    from doorkeeper.client.properties import client_config
    from doorkeeper.client.scram import Altered, ScramDeletion, ScramPassword

__all__ = [
    "Address",
    "AdminClient",
    "Altered",
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
    "ScramDeletion",
    "ScramPassword",
    "TimedOut",
    "TlsFailed",
    "Unreachable",
    "Unsendable",
    "WatchRefused",
    "client_config",
]

# Imported on first use: a command without TLS and SASL starts a sixth faster.
_LATER = {
    "Altered": "scram",
    "Bearer": "logins",
    "Login": "logins",
    "Password": "logins",
    "ScramDeletion": "scram",
    "ScramPassword": "scram",
    "client_config": "properties",
}


def __getattr__(name: str) -> object:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)
