"""Plans that create, delete and alter topics.

The topics of a request are one change, without those that are rejected.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.resources.policies.guard import Policies
from doorkeeper.server.resources.settings.operations import AlteredResource
from doorkeeper.server.resources.topics.alteration import altered_topic
from doorkeeper.server.resources.topics.table import Topics, row_of
from doorkeeper.server.schema.change import Change, edit
from doorkeeper.server.schema.declared import TOPIC, StoredTopic


def plan_creation(
    topics: Topics, created: Iterable[StoredTopic]
) -> tuple[Change, list[ApiError | None]]:
    """Return the change, and an error or None for each topic in order."""
    errors: list[ApiError | None] = []
    added: dict[str, StoredTopic] = {}
    for row in created:
        error = None
        if row.name in added or topics.get(row.name) is not None:
            text = f"Topic '{row.name}' already exists."
            error = ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, text)
        else:
            added[row.name] = row
        errors.append(error)
    return edit(TOPIC, set=added.values()), errors


def plan_deletion(topics: Topics, names: Iterable[str]) -> tuple[Change, list[ApiError | None]]:
    """Return the change, and an error or None for each name in order."""
    errors: list[ApiError | None] = []
    deleted: dict[str, StoredTopic] = {}
    for name in names:
        topic = topics.get(name)
        # A name that is given twice is unknown the second time.
        if topic is None or name in deleted:
            errors.append(ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        else:
            deleted[name] = row_of(topic)
            errors.append(None)
    return edit(TOPIC, deleted=deleted.values()), errors


def plan_alteration(topics: Topics, resource: AlteredResource, policy: Policies) -> Change:
    """Return the change of a topic's configuration; an empty one if it is the same."""
    topic = topics.get(resource.name)
    configs = altered_topic(resource, topic, policy)
    assert topic is not None, "refused by altered_topic"
    if configs == topic.configs:
        return {}
    return edit(TOPIC, set=[replace(row_of(topic), configs=configs)])
