"""Random uuids in Kafka's text form: cluster ids, store ids, delegation tokens."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable


def random_uuid(random_bytes: Callable[[int], bytes]) -> str:
    """Return 22 characters of URL-safe base64: a version 4 uuid that does not begin with "-".

    Source: ``org.apache.kafka.common.Uuid.randomUuid``.
    """
    while True:
        octets = bytearray(random_bytes(16))
        octets[6] = octets[6] & 0x0F | 0x40
        octets[8] = octets[8] & 0x3F | 0x80
        text = urlsafe_b64encode(octets).decode().rstrip("=")
        # A leading dash looks like an option on a command line.
        if not text.startswith("-"):
            return text
