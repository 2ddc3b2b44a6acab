"""Plans that create, delete and alter topics.

The topics of a request are one change, without those that are rejected.
"""

from __future__ import annotations

from collections.abc import Sequence

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.resources.settings.operations import AlteredResource
from doorkeeper.server.resources.topics.alteration import ConfigPolicy, altered_topic
from doorkeeper.server.resources.topics.table import Topics, row_of
from doorkeeper.server.schema.change import Change, edit
from doorkeeper.server.schema.declared import TOPIC, StoredTopic


def plan_topics(
    topics: Topics, created: Sequence[StoredTopic], deleted: Sequence[str]
) -> tuple[Change, list[ApiError | None]]:
    """Return the change, and an error or None for each topic in order."""
    errors: list[ApiError | None] = []
    added: list[StoredTopic] = []
    removed: list[StoredTopic] = []
    for row in created:
        error = None
        if topics.get(row.name) is None:
            added.append(row)
            # The next name of the request must see this topic.
            topics = topics.with_changes([row], ())
        else:
            text = f"Topic '{row.name}' already exists."
            error = ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, text)
        errors.append(error)
    for name in deleted:
        topic = topics.get(name)
        if topic is None:
            errors.append(ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        else:
            removed.append(row_of(topic))
            # A name that is given twice is unknown the second time.
            topics = topics.with_changes((), removed[-1:])
            errors.append(None)
    return edit(TOPIC, set=added, deleted=removed), errors


def plan_alteration(topics: Topics, resource: AlteredResource, policy: ConfigPolicy) -> Change:
    """Return the change of a topic's configuration; an empty one if it is the same.

    Raises:
        ApiError: it cannot be altered.

    """
    topic = topics.get(resource.name)
    configs = altered_topic(resource, topic, policy)
    assert topic is not None, "refused by altered_topic"
    if configs == topic.configs:
        return {}
    return edit(TOPIC, set=[row_of(topic)._replace(configs=configs)])
