"""The versions of APIs that releases of Kafka list, and the key that caps ours by them."""

from __future__ import annotations

import pytest

from doorkeeper.base.values import NotAllowed
from doorkeeper.server.api.registry import APIS
from doorkeeper.server.config.kafka_versions import (
    FILE,
    TEST_API_VERSIONS,
    VersionCap,
    releases,
)
from kafka_versions_list import RELEASES, written

FETCH, METADATA, HEARTBEAT = 1, 3, 68


def test_table_matches_its_generator() -> None:
    names = [release.rpartition(".")[0] for release in RELEASES]
    rows = {
        release: {"apis": found.apis, "features": found.features}
        for release, found in zip(RELEASES, releases().values(), strict=True)
    }

    assert list(releases()) == names
    assert written(rows) == FILE.read_text(encoding="utf-8")


def test_api_versions_only_grow() -> None:
    for key in APIS:
        found = [
            release.apis[str(key)][1] for release in releases().values() if str(key) in release.apis
        ]
        assert found == sorted(found), key


SERVED = {FETCH: (4, 18), METADATA: (0, 13), HEARTBEAT: (0, 1)}


@pytest.mark.parametrize(
    ("text", "key", "versions"),
    [
        ("2.8", FETCH, (4, 12)),
        ("2.8", METADATA, (0, 11)),
        ("2.8", HEARTBEAT, None),
        ("4.3", HEARTBEAT, (0, 1)),
        ("2.8,Fetch=11", FETCH, (4, 11)),
        ("Fetch = 11, 2.8", FETCH, (4, 11)),
        ("2.8,Fetch=17", FETCH, (4, 17)),
        ("2.8,Fetch=99", FETCH, (4, 18)),
        ("Fetch=11", METADATA, (0, 13)),
        ("Fetch=3", FETCH, None),
        ("", FETCH, (4, 18)),
    ],
)
def test_version_cap(text: str, key: int, versions: tuple[int, int] | None) -> None:
    cap: VersionCap = TEST_API_VERSIONS.parse(text)

    assert cap.versions(key, *SERVED[key]) == versions


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("2.9", ["2.9"]),
        ("1.1", ["1.1"]),
        ("2.8.2", ["2.8.2"]),
        ("2.8,3.0", ["3.0"]),
        ("fetch=11", ["fetch=11"]),
        ("Fetch=x,Fetch=-1,Fetch=32768,Fetch=", ["Fetch=x", "Fetch=-1", "Fetch=32768", "Fetch="]),
        ("2.8,Fetch", ["Fetch"]),
    ],
)
def test_unknown_release_or_api_is_named(text: str, wrong: list[str]) -> None:
    with pytest.raises(NotAllowed, match=r"a Kafka release \(2\.0, 2\.1, .*4\.4\)") as refused:
        TEST_API_VERSIONS.parse(text)

    assert list(refused.value.elements) == wrong


@pytest.mark.parametrize(
    ("text", "levels"),
    [("", (7, 33)), ("2.8", None), ("3.3", (1, 7)), ("3.9", (1, 21)), ("4.3", (7, 30))],
)
def test_features_follow_the_release(text: str, levels: tuple[int, int] | None) -> None:
    """A broker before 3.3 had no level of its metadata."""
    assert TEST_API_VERSIONS.parse(text).feature("metadata.version", 7, 33) == levels
