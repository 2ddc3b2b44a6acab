"""The requests behind an ACL, in words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable

    from doorkeeper.acls.recorded_access import RecordedAccess


def reasons_text(reasons: Iterable[RecordedAccess]) -> str:
    """Return the requests behind an ACL: ``Produce: WRITE (3 times); first at 12:00:00Z``."""
    counts: Counter[tuple[str, str]] = Counter()
    times: list[dt.datetime] = []
    for each in reasons:
        what = each.question.operation.name
        if each.on_any:
            what += f" on any {each.question.resource_type.name.lower()}"
        counts[each.api, what] += each.uses
        times.append(each.first)
    parts = [
        f"{api}: {what} ({count} {'time' if count == 1 else 'times'})"
        for (api, what), count in counts.items()
    ]
    first = min(times).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{', '.join(parts)}; first at {first}"
