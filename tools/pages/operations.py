"""The tables of docs/reference/operations.md.

The rows are those of ``schemas/apis.yaml``, by way of the module that the server asks; the notes,
which the server has no use for, come from the file itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from doorkeeper.server.api.operations import REQUIRED, Requirement
from doorkeeper.server.api.registry import APIS
from doorkeeper_schemas.apis import ApiEntry, read_apis
from doorkeeper_wire.api_keys import API_NAMES
from testkit.checkout import ROOT

SOURCE = ROOT / "schemas" / "apis.yaml"

KEYS_A_SECTION = 20

REFUSALS = {
    29: "TOPIC_AUTHORIZATION_FAILED",
    30: "GROUP_AUTHORIZATION_FAILED",
    31: "CLUSTER_AUTHORIZATION_FAILED",
    53: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    65: "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
}
"""The names of the codes that the rows give."""


def text() -> str:
    """Return the table of codes, and one for each twenty APIs."""
    apis = read_apis(SOURCE)
    codes = "".join(f"| {code} | {name} |\n" for code, name in REFUSALS.items())
    keys = groupby(sorted(REQUIRED), key=lambda key: key // KEYS_A_SECTION)
    sections = "".join(_section(list(section), apis) for _, section in keys)
    return f"## Codes\n\n| code | name |\n|---|---|\n{codes}{sections}"


def _section(keys: list[int], apis: Mapping[int, ApiEntry]) -> str:
    rows = "".join(line for key in keys for line in _lines(key, REQUIRED[key], apis[key].note))
    return (
        f"\n## Keys {keys[0]} to {keys[-1]}\n\n"
        f"| key | API | here | needs | on | when | denied | notes |\n"
        f"|---|---|---|---|---|---|---|---|\n{rows}"
    )


def _lines(key: int, needs: tuple[Requirement, ...], note: str) -> list[str]:
    head = f"| {key} | {API_NAMES[key]} | {_served(key)} |"
    if not needs:
        return [f"{head} nothing | | | | {note} |\n"]
    lines = []
    for place, need in enumerate(needs):
        later = needs[place + 1] if place + 1 < len(needs) else None
        lines.append(
            f"{head} {need.operation} | {need.resource} | {need.when} |"
            f" {_denied(need, later)} | {note} |\n"
        )
        head, note = "| | | |", ""
    return lines


def _served(key: int) -> str:
    api = APIS.get(key)
    if api is None:
        return "-"
    lowest, highest = api.min_version, api.max_version
    return str(lowest) if lowest == highest else f"{lowest}-{highest}"


def _denied(need: Requirement, later: Requirement | None) -> str:
    if need.refusal:
        seen = str(need.refusal)
    elif later is not None and "without" in later.when:
        seen = "next"
    else:
        seen = "left out"
    return seen if need.log_if_denied else f"{seen} (quiet)"
