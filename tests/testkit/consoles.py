"""A console over a set of ACLs with names that an attacker would choose."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from starlette.testclient import TestClient

from doorkeeper.cli.acls.addresses import Location
from doorkeeper.cli.commands import doorkeeper
from doorkeeper.cli.repositories.addresses import parse_address
from doorkeeper.console.app import Console
from doorkeeper.console.command import command
from doorkeeper.console.login.exposure import Exposure, exposure_of
from doorkeeper.console.page import Settings
from doorkeeper.console.serving import HttpServer
from doorkeeper.console.sets import Sets
from testkit.kafka_broker import free_port

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
def console_over(
    sets: Sets, settings: Settings | None = None, exposure: Exposure | None = None
) -> Iterator[TestClient]:
    """Open a console over sets, and return a client of it when they have been read."""
    sets.start()
    wait_for(sets)
    console = Console(sets, settings or Settings())
    exposure = exposure or exposure_of(options())
    origin = exposure.url
    headers = {"Origin": origin}
    try:
        with TestClient(console.app(exposure), base_url=origin, headers=headers) as client:
            yield client
    finally:
        sets.close()


@contextmanager
def served_over(sets: Sets, settings: Settings | None = None, *words: str) -> Iterator[str]:
    """Serve a console with these options at a free port, for browsers; return its address."""
    exposure = exposure_of(options(f"--port={free_port()}", *words))
    sets.start()
    wait_for(sets)
    console = Console(sets, settings or Settings())
    server = HttpServer(console.app(exposure), exposure)
    thread = Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield exposure.url
    finally:
        server.should_exit = True
        thread.join()
        sets.close()


def wait_for(sets: Sets) -> None:
    """Return when no set is being read."""
    while any(state.is_reading for state in sets.states.values()):
        time.sleep(0.01)


def sets_at(*addresses: Path | str) -> Sets:
    """Return the sets at addresses."""
    return Sets([Location(parse_address(str(one))) for one in addresses])


def options(*words: str) -> dict[str, Any]:
    """Return the options of ``doorkeeper console`` with these words."""
    # click keeps the help option that a command was first asked for, with the names of its parent.
    parent = doorkeeper.make_context("doorkeeper", ["console"])
    return command.make_context("console", list(words), parent=parent).params


def write_advice(folder: Path) -> None:
    """Write the tables of a report about two grants: one is unused, one is too wide."""
    folder.mkdir()
    usage = [
        _grant("g1", "User:bob", uses=0, verdict="REMOVE", why="never used in 90 days"),
        _grant("g2", "User:carol", uses=9, verdict="KEEP", why="used"),
    ]
    wide = {"binding_id": "g2", "excess": ["PREFIX"], "covered_resource_count": 40, "proposal": []}
    decision = {"principal": "User:carol", "host": "10.0.0.1", "operation": "WRITE"}
    decisions = [
        {**decision, "resource_type": "TOPIC", "resource_name": name, "day": day, "count": count}
        for name, day, count in (
            ("pii-a", "2026-11-01", 2),
            ("pii-a", "2026-11-02", 7),
            ("other", "2026-11-02", 100),
        )
    ]
    tables: dict[str, list[dict[str, Any]]] = {
        "grant_usage": usage,
        "unused_grants": [{"binding_id": "g1", "command": "kafka-acls.sh --remove"}],
        "overbroad_grants": [wide],
        "decisions": decisions,
    }
    for name, rows in tables.items():
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")


def _grant(name: str, principal: str, *, uses: int, verdict: str, why: str) -> dict[str, Any]:
    return {
        "binding_id": name,
        "principal": principal,
        "resource_type": "TOPIC",
        "resource_name": "pii-",
        "pattern_type": "PREFIXED",
        "host": "*",
        "operation": "WRITE",
        "permission_type": "ALLOW",
        "uses": uses,
        "verdict": verdict,
        "rule": "test",
        "why": why,
        "severity": "HIGH",
        "resources": ["pii-a"] if uses else [],
        "resource_count": 1 if uses else 0,
        "last_used": "2026-11-02 00:00:00" if uses else None,
        "days_observed": 90,
        "days_known": 90,
    }
