"""The table of docs/reference/compatibility.md: the differences that the comparison accepts."""

from __future__ import annotations

from testkit.accepted import ACCEPTED, NEWER_ACCEPTED, OLDER_ACCEPTED


def text() -> str:
    """Return the table."""
    rows = "".join(
        f"| `{row.name}` | {row.reason} |\n"
        for row in (*ACCEPTED, *OLDER_ACCEPTED, *NEWER_ACCEPTED)
    )
    return f"| name | why |\n|---|---|\n{rows}"
