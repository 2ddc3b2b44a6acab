"""The versions of APIs that releases of Kafka list, and the key by which a server lists the same.

``kafka_versions.json`` has the rows of ApiVersions of each release, by the numbers of the APIs,
and the levels of its features, from Kafka's own ``ApiKeys`` and ``MetadataVersion``: before 3.3
those of a broker with ZooKeeper, from then on of one without. ``kafka_versions_list`` writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct, json

from doorkeeper.base.key import NOTHING, Key
from doorkeeper.base.values import KeyType, NotAllowed
from doorkeeper_wire.api_keys import API_NAMES

FILE: Final = Path(__file__).with_suffix(".json")

VERSION_MAX: Final = 2**15 - 1
"""A version is an int16."""

Range = tuple[int, int]
"""The lowest and the highest version of an API, or level of a feature."""


class Release(Struct, frozen=True):
    """What a broker of a release lists in ApiVersions."""

    apis: dict[str, Range]
    features: dict[str, Range]


class VersionCap(Struct, frozen=True):
    """Which versions a server may list; without a release all of APIs that are not named.

    ``highest`` has the highest version of APIs by key: it counts before the release.
    """

    release: str | None = None
    highest: Mapping[int, int] = NOTHING

    def __bool__(self) -> bool:
        return self.release is not None or bool(self.highest)

    def versions(self, key: int, low: int, high: int) -> Range | None:
        """Return the versions of a range that may be listed; None if there are none."""
        if key in self.highest:
            high = min(high, self.highest[key])
        elif self.release is not None:
            lowest, highest = releases()[self.release].apis.get(str(key), (0, -1))
            low, high = max(low, lowest), min(high, highest)
        return (low, high) if low <= high else None

    def feature(self, name: str, low: int, high: int) -> Range | None:
        """Return the levels of a feature that may be listed; None if there are none."""
        if self.release is None:
            return low, high
        return releases()[self.release].features.get(name)


@cache
def releases() -> Mapping[str, Release]:
    """Return what releases list, by the first two numbers of their names, oldest first."""
    return json.decode(FILE.read_bytes(), type=dict[str, Release])


@cache
def version_cap(texts: Iterable[str]) -> VersionCap:
    """Read a release and highest versions of APIs: ``2.8``, ``Fetch=11``."""
    keys = {name: key for key, name in API_NAMES.items()}
    release: str | None = None
    highest: dict[int, int] = {}
    wrong = []
    for text in filter(None, texts):
        name, sign, number = (part.strip() for part in text.partition("="))
        if not sign and release is None and name in releases():
            release = name
        elif name in keys and number.isdecimal() and int(number) <= VERSION_MAX:
            highest[keys[name]] = int(number)
        else:
            wrong.append(text)
    if wrong:
        allowed = (
            f"a Kafka release ({', '.join(releases())}) and APIs with their maximum version, such"
            " as Fetch=11, comma-separated"
        )
        raise NotAllowed(wrong, allowed)
    return VersionCap(release, highest)


TEST_API_VERSIONS: Final = Key(
    "doorkeeper.test.api.versions",
    KeyType.LIST,
    "",
    "For client tests: serve only the API versions of this Kafka release (2.0 to 4.4), and limit"
    " single APIs to a maximum version: 2.8, or 2.8,Fetch=11. An API without remaining versions"
    " is omitted. By default all versions are served.",
    read=version_cap,
)
