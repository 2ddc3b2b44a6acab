"""The name of the cluster: a random uuid in Kafka's text form, made once and kept in the store."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING

from doorkeeper.storage.contract import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

_FORM = re.compile(r"[A-Za-z0-9_-]{22}")


def random_uuid(random_bytes: Callable[[int], bytes]) -> str:
    """Return 22 characters of URL-safe base64: a version 4 uuid that does not begin with "-".

    One that begins with a dash looks like an option on a command line.

    Source: ``org.apache.kafka.common.Uuid.randomUuid``.
    """
    while True:
        octets = bytearray(random_bytes(16))
        octets[6] = octets[6] & 0x0F | 0x40
        octets[8] = octets[8] & 0x3F | 0x80
        text = urlsafe_b64encode(octets).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def check_form(cluster_id: str) -> None:
    """Refuse a cluster id that is not in Kafka's text form.

    Raises:
        StorageError: it is not 22 characters of URL-safe base64.

    """
    if _FORM.fullmatch(cluster_id) is None:
        raise StorageError(
            f"cluster id {cluster_id!r}: a cluster id has 22 characters out of A-Z a-z 0-9 _ -"
        )
