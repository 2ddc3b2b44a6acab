"""UpdateFeatures (57), versions 0-2: the levels of the cluster's features (KIP-584).

Needs ALTER on the cluster (31). There is one feature, ``metadata.version``, whose levels are those
that ApiVersions lists: the highest is that of the release that the cluster follows. So nothing is
ever changed: an update to the present level succeeds, every other one is refused with 95 and a
broker's text, and with it the whole request. ``doorkeeper store release`` changes the release.

    v0  whether the level may go down     v1  the type of the update, a check without a change
    v2  no rows for features

Source: ``FeatureControlManager`` (4.3.1).
"""

from __future__ import annotations

from typing import Final

from doorkeeper.base.errors import DEFAULT_MESSAGES, ApiError, ErrorCode
from doorkeeper.server.api.declaration import declare, refuse_as
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import needs, require_on_cluster
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.schema.features import LOWEST_LEVEL, METADATA_VERSION, metadata_level
from doorkeeper_wire.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

(_ALTER,) = needs(UpdateFeaturesRequest.API_KEY)

_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE = 1, 2, 3

_FAILED: Final = "The update failed for all features since the following feature had an error: {}"

_WITHOUT_TYPE: Final = (
    "Can't downgrade the version of this feature without setting the upgrade type to either safe or"
    " unsafe downgrade."
)

_REFUSED_DOWNGRADES: Final = {
    _SAFE_DOWNGRADE: (
        "Refusing to perform the requested downgrade because it might delete metadata information."
    ),
    _UNSAFE_DOWNGRADE: "Unsafe metadata downgrade is not supported in this version.",
}


def handle(
    request: UpdateFeaturesRequest, context: RequestContext, node: Node
) -> UpdateFeaturesResponse:
    """Return success if every update is to the present level.

    Raises:
        ApiError: the first update that is refused.
    """
    require_on_cluster(node, context, _ALTER)
    level = metadata_level(node.state.features)
    for update in request.feature_updates:
        reason = _reason_refused(update, _type_of(update, context), level, node)
        if reason is not None:
            raise ApiError(ErrorCode.INVALID_UPDATE_VERSION, _FAILED.format(reason))
    if context.authorizable.request_version >= 2:
        return UpdateFeaturesResponse(error_message=None)
    results = tuple(
        UpdatableFeatureResult(
            feature=update.feature, error_message=DEFAULT_MESSAGES[ErrorCode.NONE]
        )
        for update in request.feature_updates
    )
    return UpdateFeaturesResponse(error_message=None, results=results)


def _type_of(update: FeatureUpdateKey, context: RequestContext) -> int:
    if context.authorizable.request_version == 0:
        return _SAFE_DOWNGRADE if update.allow_downgrade else _UPGRADE
    return update.upgrade_type


def _reason_refused(update: FeatureUpdateKey, kind: int, level: int, node: Node) -> str | None:
    """Return the text of a refused update; None if it is to the present level."""
    to = update.max_version_level
    reason = _reason_invalid(update.feature, to, kind, level, node)
    if reason is not None:
        return f"Invalid update version {to} for feature {update.feature}. {reason}"
    if to == level:
        return None
    return (
        f"Unsupported {METADATA_VERSION} downgrade from {level} to {to}."
        f" {_REFUSED_DOWNGRADES[kind]}"
    )


def _reason_invalid(  # noqa: PLR0911  one return a reason, in a broker's order
    feature: str, to: int, kind: int, level: int, node: Node
) -> str | None:
    if not _UPGRADE <= kind <= _UNSAFE_DOWNGRADE:
        return "The controller does not support the given upgrade type."
    if to < 0:
        return "A feature version cannot be less than 0."
    if feature != METADATA_VERSION:
        # Every server supports level 0 of what it does not know.
        if to == 0:
            return f"Feature {feature} not found."
        return f"Local controller {node.node_id} does not support this feature."
    if not LOWEST_LEVEL <= to <= level:
        return f"Local controller {node.node_id} only supports versions {LOWEST_LEVEL}-{level}"
    if to < level and kind == _UPGRADE:
        return _WITHOUT_TYPE
    return None


API = declare(UpdateFeaturesRequest, handle, refuse_as(UpdateFeaturesResponse), on_controller=True)
