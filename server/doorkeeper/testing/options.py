"""The options of test servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

from doorkeeper.acls.model import AclBinding

Acls = str | Path | Mapping[str, Any] | Iterable[AclBinding | Mapping[str, Any]]
"""Bindings, records (the keys of the YAML form of ``doorkeeper acls export``), or a file."""

Users = Mapping[str, str] | str | Path
"""Users: passwords by name, or a file with a line for each: ``name=password``."""

Topics = Mapping[str, int | Mapping[str, Any]] | Iterable[str | Mapping[str, Any]]
"""Topics: names, partitions by name, or mappings; docs/how-to/testing.md has their keys."""


class Options(TypedDict, total=False):
    """The options of a server; docs/how-to/testing.md explains each.

    users           see ``Users``; ``admin`` always exists, with ``admin-secret``
    acls            see ``Acls``
    super_users     principals; default: the administrator of each listener
    principals      who does not log in, and is named in statements all the same
    allow_everyone  for resources without ACLs: ``allow.everyone.if.no.acl.found``
    topics          see ``Topics``
    listeners       names of ``configuration.LISTENERS``; the first is the default one
    mechanisms      of SASL; default: PLAIN and both of SCRAM
    records         whether producers and consumers work too: ``doorkeeper.test.broker``
    learn           whether everything is allowed, so that ``least_acls`` sees all requests
    kafka           the release of Kafka whose versions of APIs clients meet, as in ``2.8``, and
                    highest versions of single APIs: ``doorkeeper.test.api.versions``
    properties      other keys of server.properties
    """

    users: Users
    acls: Acls
    super_users: Iterable[str]
    principals: Iterable[str]
    allow_everyone: bool
    topics: Topics
    listeners: Sequence[str]
    mechanisms: Sequence[str]
    records: bool
    learn: bool
    kafka: str
    properties: Mapping[str, str]


class ResourceOption(TypedDict, total=False):
    """The resource of a question (exactly one key), and the client's host."""

    topic: str
    group: str
    cluster: Literal[True]
    transactional_id: str
    delegation_token: str
    user: str
    host: str
