"""Validation of cluster ids, which have Kafka's text form of a uuid."""

from __future__ import annotations

import re

from doorkeeper.server.state.store import StorageError

_FORM = re.compile(r"[A-Za-z0-9_-]{22}")


def check_form(cluster_id: str) -> None:
    """Reject a cluster id that is not in Kafka's text form.

    Raises:
        StorageError: it is not 22 characters of URL-safe base64.

    """
    if _FORM.fullmatch(cluster_id) is None:
        raise StorageError(
            f"cluster id {cluster_id!r}: a cluster id has 22 characters out of A-Z a-z 0-9 _ -"
        )
