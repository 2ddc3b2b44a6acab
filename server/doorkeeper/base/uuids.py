"""Random uuids in Kafka's forms: cluster ids, store ids, delegation tokens; ids of topics.

Source: ``org.apache.kafka.common.Uuid.randomUuid``.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Final

_DASH: Final = 62
"""The value of "-" in URL-safe base64."""


def random_octets(random_bytes: Callable[[int], bytes]) -> bytes:
    """Return 16 bytes: a version 4 uuid whose text does not begin with "-"."""
    while True:
        octets = bytearray(random_bytes(16))
        # A leading dash looks like an option on a command line.
        if octets[0] >> 2 != _DASH:
            # Version 4 and the variant of RFC 9562.
            octets[6] = octets[6] & 0x0F | 0x40
            octets[8] = octets[8] & 0x3F | 0x80
            return bytes(octets)


def random_uuid(random_bytes: Callable[[int], bytes]) -> str:
    """Return such a uuid as 22 characters of URL-safe base64."""
    return urlsafe_b64encode(random_octets(random_bytes)).decode().rstrip("=")
