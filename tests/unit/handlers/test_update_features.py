"""UpdateFeatures: the present level, and every reason against another one."""

from __future__ import annotations

import pytest

from doorkeeper.acl.model import AclOperation
from doorkeeper.handlers.update_features import API
from doorkeeper.kinds.features import release_change
from doorkeeper.state.state import EMPTY, apply_at_once
from doorkeeper_wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from testkit.acl import allow
from testkit.nodes import CLUSTER, ANode, answer, node_of

UPGRADE, SAFE, UNSAFE = 1, 2, 3
FAILED = "The update failed for all features since the following feature had an error: "


async def follower(release: str) -> ANode:
    """Return a node of a cluster that follows a release; alice may alter the cluster."""
    node = await node_of(allow("alice", AclOperation.ALTER, CLUSTER))
    node.state = apply_at_once(EMPTY, release_change(release))
    return node


def update(level: int, kind: int = UPGRADE, name: str = "metadata.version") -> FeatureUpdateKey:
    return FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)


@pytest.mark.parametrize(("release", "level"), [("4.3", 30), ("4.4", 33)])
@pytest.mark.parametrize("kind", [UPGRADE, SAFE, UNSAFE])
async def test_the_present_level_is_accepted(release: str, level: int, kind: int) -> None:
    """With a row in version 1, without one in version 2; a check and an update alike."""
    node = await follower(release)
    for only in (False, True):
        request = UpdateFeaturesRequest(feature_updates=(update(level, kind),), validate_only=only)

        older = answer(API, request, node, 1, user="alice")
        newer = answer(API, request, node, 2, user="alice")

        [row] = older.results
        assert (row.feature, row.error_code, row.error_message) == ("metadata.version", 0, "NONE")
        assert (newer.error_code, newer.error_message, newer.results) == (0, None, ())


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (update(30, 0), ("Invalid update version 30 for feature metadata.version."
         " The controller does not support the given upgrade type.")),
                        (update(-1), ("Invalid update version -1 for feature metadata.version."
         " A feature version cannot be less than 0.")),
        (update(0, name="odd"), "Invalid update version 0 for feature odd. Feature odd not found."),
        (update(33), ("Invalid update version 33 for feature metadata.version."
         " Local controller 1 only supports versions 7-30")),
        (update(29), ("Invalid update version 29 for feature metadata.version. Can't downgrade the"
         " version of this feature without setting the upgrade type to either safe or unsafe"
         " downgrade.")),
        (update(7, SAFE), ("Unsupported metadata.version downgrade from 30 to 7. Refusing to"
         " perform the requested downgrade because it might delete metadata information.")),
        (update(29, UNSAFE), ("Unsupported metadata.version downgrade from 30 to 29."
         " Unsafe metadata downgrade is not supported in this version.")),
        (update(1, name="group.version"), ("Invalid update version 1 for feature group.version."
         " Local controller 1 does not support this feature.")),
            ],
)  # fmt: skip
async def test_other_levels_are_refused(wanted: FeatureUpdateKey, text: str) -> None:
    """With 95 for the whole request, and a broker's text."""
    node = await follower("4.3")
    request = UpdateFeaturesRequest(feature_updates=(update(30), wanted))

    for version in (1, 2):
        response = answer(API, request, node, version, user="alice")

        assert (response.error_code, response.results) == (95, ())
        assert response.error_message == FAILED + text
