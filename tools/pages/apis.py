"""Writes apis.md and the table in compatibility.md of docs/reference.

Both come from the registry, from the table of operations, and from what each handler module says
of itself.
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING

from doorkeeper.server.api.operations import REQUIRED, Requirement
from doorkeeper.server.api.registry import APIS, OPTIONAL, by_key
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.server.api.declaration import Api

APIS_PAGE = ROOT / "docs" / "reference" / "apis.md"
COMPATIBILITY_PAGE = ROOT / "docs" / "reference" / "compatibility.md"

BEGIN, END = "<!-- the registry: begin -->\n", "<!-- the registry: end -->\n"

KAFKA_431 = {
    0: "0-13", 2: "1-11", 3: "0-13", 8: "2-10", 9: "1-10", 10: "0-6", 11: "0-9", 13: "0-5",
    15: "0-6", 16: "0-5", 17: "0-1", 18: "0-4", 19: "2-7", 20: "1-6", 21: "0-2", 22: "0-5",
    23: "2-4", 29: "1-3", 30: "1-3", 31: "1-3", 32: "1-4", 33: "0-2", 34: "1-2", 35: "1-5",
    36: "0-2", 37: "0-3", 38: "1-3", 39: "1-2", 40: "1-2", 41: "1-3", 42: "0-2", 43: "0-2",
    44: "0-1", 45: "0-1", 46: "0", 47: "0", 48: "0-1", 49: "0-1", 50: "0", 51: "0", 55: "0-2",
    57: "0-2", 60: "0-2", 61: "0", 64: "0", 65: "0", 66: "0-2", 69: "0-1", 74: "0-1", 75: "0",
    77: "1", 89: "0",
}  # fmt: skip
"""What a broker 4.3.1 lists, as observed."""

LISTED = by_key([*APIS.values(), *OPTIONAL.values()])

HEAD = """\
# The APIs

What each API answers, to whom, and what its versions added. Made from the modules of
`server/doorkeeper/server/api/` and from `schemas/operations.yaml` by
`make generate`; `make check` keeps it current.

"Refused with" is the error code of a caller without the permission; without a code the thing is
left out, or the next row decides. The authorizer log has denials at INFO,
quiet ones at TRACE only.
"""


def apis_page() -> str:
    """Return the text of docs/reference/apis.md."""
    return HEAD + "".join(map(_section, LISTED.values()))


def _section(api: Api) -> str:
    text = inspect.getdoc(sys.modules[api.handle.__module__])
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
    return ", where `doorkeeper.clients.join.group=true`" if api.key in OPTIONAL else ""


def _need(row: Requirement) -> str:
    refusal = str(row.refusal or "")
    if not row.log_if_denied:
        refusal = f"{refusal} (quiet)".strip()
    return f"| {row.operation} | {row.resource} | {row.when} | {refusal} |\n"


def table() -> str:
    """Return the table of docs/reference/compatibility.md."""
    head = "| key | API | versions here | Kafka 4.3.1 | listeners for controllers |\n"
    rows = "".join(
        f"| {api.key} | {api.name} | {_versions(api.min_version, api.max_version)} |"
        f" {KAFKA_431[api.key]} | {'yes' if api.on_controller else 'no'} |\n"
        for api in LISTED.values()
    )
    return f"{head}|---|---|---|---|---|\n{rows}"


def _versions(lowest: int, highest: int) -> str:
    return str(lowest) if lowest == highest else f"{lowest}-{highest}"


def compatibility_page(text: str) -> str:
    """Return the text of docs/reference/compatibility.md with the table as it should be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


def pages() -> dict[Path, str]:
    """Return the text of each page."""
    compatibility = COMPATIBILITY_PAGE.read_text(encoding="utf-8")
    return {APIS_PAGE: apis_page(), COMPATIBILITY_PAGE: compatibility_page(compatibility)}
