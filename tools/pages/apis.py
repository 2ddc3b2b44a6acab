"""The table of versions and the sections of docs/reference/apis.md.

They come from the registry, from the table of operations, and from what each handler module says
of itself.
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING

from doorkeeper.server.api.operations import REQUIRED, Requirement
from doorkeeper.server.api.registry import apis
from doorkeeper_schemas.apis import read_apis
from doorkeeper_wire.declared.model import PRIVATE_FROM
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from doorkeeper.server.api.declaration import Api
    from doorkeeper_schemas.apis import ApiEntry

SCHEMA = ROOT / "schemas" / "apis.yaml"

LISTED = apis(optional=True)


def text() -> str:
    """Return the table of versions, and a section for each API."""
    return table() + "".join(map(_section, LISTED.values()))


def _section(api: Api) -> str:
    # The handler's module is named as that of the messages; the handler may stand in another one.
    name = api.request.__module__.rpartition(".")[2]
    text = inspect.getdoc(sys.modules[f"doorkeeper.server.api.{name}"])
    assert text is not None
    _, _, body = text.partition("\n")
    kinds = " and ".join(
        kind
        for kind, offered in (("brokers", api.on_broker), ("controllers", api.on_controller))
        if offered
    )
    needs = "".join(map(_need, REQUIRED[api.key]))
    table = f"\n| needs | on | when | refused with |\n|---|---|---|---|\n{needs}" if needs else ""
    body = body.strip().replace("``", "`")
    return (
        f"\n## {api.name} ({api.key})\n\nOn listeners for {kinds}{_when(api)}.\n{table}\n{body}\n"
    )


def _when(api: Api) -> str:
    return ", where `doorkeeper.clients.join.group=true`" if api.is_optional else ""


def _need(row: Requirement) -> str:
    refusal = str(row.refusal or "")
    if not row.log_if_denied:
        refusal = f"{refusal} (quiet)".strip()
    return f"| {row.operation} | {row.resource} | {row.when} | {refusal} |\n"


def table() -> str:
    """Return the table of versions."""
    entries = read_apis(SCHEMA)
    head = "| key | API | versions here | Kafka 4.3.1 | listeners for controllers |\n"
    rows = "".join(
        f"| {api.key} | [{api.name}](#{api.name.lower()}-{api.key}) |"
        f" {_versions(api.min_version, api.max_version)} |"
        f" {_broker_versions(api, entries[api.key])} | {'yes' if api.on_controller else 'no'} |\n"
        for api in LISTED.values()
    )
    return f"{head}|---|---|---|---|---|\n{rows}"


def _broker_versions(api: Api, entry: ApiEntry) -> str:
    if entry.broker is not None:
        return _versions(*entry.broker)
    if api.key < PRIVATE_FROM:
        raise ValueError(f"{SCHEMA}: {api.name} needs broker: the versions that a broker lists")
    return "-"


def _versions(lowest: int, highest: int) -> str:
    return str(lowest) if lowest == highest else f"{lowest}-{highest}"
