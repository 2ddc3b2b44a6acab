"""A console over a set of ACLs with names that an attacker would choose."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from starlette.testclient import TestClient

from doorkeeper.cli.acls.addresses import Location
from doorkeeper.cli.repositories.addresses import parse_address
from doorkeeper.console.app import Console
from doorkeeper.console.guard import hosts_at
from doorkeeper.console.page import Settings
from doorkeeper.console.sets import Sets

PORT = 9480
SCRIPT = "User:<script>alert(1)</script>"
REVERSED = "User:\u202eecila"
LONG = f"User:{'x' * 10_000}"

HEAD = "KafkaPrincipal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host\n"
ACLS = f"""\
{HEAD}User:alice,Topic,LITERAL,orders,Read,Allow,*
User:bob,Topic,PREFIXED,ord,Write,Allow,*
User:bob,Topic,LITERAL,orders,Write,Deny,*
User:carol,Topic,PREFIXED,pii-,Write,Allow,*
User:carol,TransactionalId,PREFIXED,tx-,Write,Allow,*
User:dave,Topic,LITERAL,orders,Read,Allow,10.0.0.0/8
{SCRIPT},Topic,LITERAL,orders,Read,Allow,*
{REVERSED},Topic,LITERAL,orders,Read,Allow,*
{LONG},Topic,LITERAL,orders,Read,Allow,*
"""


@contextmanager
def console_over(sets: Sets, settings: Settings | None = None) -> Iterator[TestClient]:
    """Open a console over sets, and return a client of it when they have been read."""
    sets.start()
    sets.wait()
    console = Console(sets, settings or Settings())
    origin = f"http://localhost:{PORT}"
    headers = {"Origin": origin}
    try:
        with TestClient(console.app(hosts_at(PORT)), base_url=origin, headers=headers) as client:
            yield client
    finally:
        console.close()


def sets_at(*addresses: Path | str) -> Sets:
    """Return the sets at addresses."""
    return Sets([Location(parse_address(str(one))) for one in addresses])
