"""The built-in roles of docs/reference/acl-files.md, from ``acls.formats.built_in_roles``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acls.formats.built_in_roles import BUILT_IN

if TYPE_CHECKING:
    from collections.abc import Mapping


def text() -> str:
    """Return the table."""
    rows = "".join(
        f"| `{name}` | {', '.join(f'`{each}`' for each in role.required)} |"
        f" {', '.join(f'`{each}`' for each in role.optional)} |"
        f" {'; '.join(map(_acl, role.templates))} |\n"
        for name, role in BUILT_IN.items()
    )
    head = "| role | parameters | optional | ACLs |\n|---|---|---|---|\n"
    return head + rows


def _acl(template: Mapping[str, object]) -> str:
    operations = template["operation"]
    assert isinstance(operations, list)
    pattern = f"{template['patternType']} " if "patternType" in template else ""
    return f"{', '.join(operations)} on {template['resourceType']} {pattern}`{template['name']}`"
