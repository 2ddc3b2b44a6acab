"""DeleteTopics (20), versions 0-6: deletes topics, each with its own result. ACLs stay.

Needs DELETE on the cluster, else DELETE on the topic. A caller without DESCRIBE on a topic gets 29
whether it exists or not, and no name if it asked by id.

    v1  throttle time     v4  flexible     v5  texts     v6  topics by name or by id

Every error has a text, even the stock text of its code. Duplicate names and ids are refused, as is
a name whose id is in the same request. ``delete.topic.enable=false`` refuses everything with 73 (42
before v3). A time-out of 0 or less is 7 in every row and nothing is deleted, unless no row needs a
look-up.

A broker shuffles the rows, so that their order discloses nothing. Here they have the order of the
request, which discloses as little: invalid rows first, then ids, then names.

Source: ``ControllerApis.deleteTopics`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from doorkeeper.base.errors import DEFAULT_MESSAGES, ApiError, ErrorCode, answer_of
from doorkeeper.base.slices import counts
from doorkeeper.server.api.declaration import declare
from doorkeeper.server.api.node import Node, Outcome, Update, UpdateOperation
from doorkeeper.server.api.permissions import allowed_names, is_allowed, needs
from doorkeeper.server.config.keys import DELETE_TOPIC_ENABLE
from doorkeeper.server.resources.groups import deletion_of_topics
from doorkeeper.server.resources.topics.plans import plan_deletion
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.schema.change import Change
from doorkeeper.server.schema.declared import StoredTopic
from doorkeeper.server.state.state import State
from doorkeeper_wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

_DELETE_ON_CLUSTER, _DESCRIBE, _DELETE = needs(DeleteTopicsRequest.API_KEY)

ZERO_ID = bytes(16)


def handle(request: DeleteTopicsRequest, context: RequestContext, node: Node) -> Outcome:
    version = context.authorizable.request_version
    # Asked at once, even for an empty request, as on a broker: the audit log shows it.
    may_delete_all = is_allowed(node, context, _DELETE_ON_CLUSTER)
    if not node.settings[DELETE_TOPIC_ENABLE]:
        # TOPIC_DELETION_DISABLED is unknown to clients of older versions.
        if version < 3:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Topic deletion is disabled.")
        raise ApiError(ErrorCode.TOPIC_DELETION_DISABLED)
    states = _states(request)
    named = counts(s.name for s in states if s.name is not None and s.topic_id == ZERO_ID)
    ids = counts(s.topic_id for s in states if s.name is None and s.topic_id != ZERO_ID)
    # Names behind ids are needed before the permissions are asked, all in one call.
    known = {topic_id: node.topics.by_id(topic_id) for topic_id, n in ids.items() if n == 1}
    once = [name for name, count in named.items() if count == 1]
    names = counts((*once, *(topic.name for topic in known.values() if topic is not None)))
    if may_delete_all:
        every = frozenset(name for name in names)
        rights = _Rights(every, every)
    else:
        needed = (_DESCRIBE, _DELETE)
        rights = _Rights(*(allowed_names(node, context, need, list(names)) for need in needed))
    if request.timeout_ms <= 0 and (once or known):
        raise ApiError(ErrorCode.REQUEST_TIMED_OUT)
    rows = list(_invalid_rows(states, named, ids))
    doomed = _doomed_ids(known, rights, rows)
    for name in once:
        _judge_name(name, node, rights, ids, doomed, rows)
    topics = tuple(doomed.values())
    respond = partial(_respond, topics, rows)
    if not topics:
        return respond(())
    plan = partial(_plan, [topic.name for topic in topics])
    return Update.of_plan(UpdateOperation.TOPICS, plan, context, respond)


def _states(request: DeleteTopicsRequest) -> list[DeleteTopicState]:
    return [*(DeleteTopicState(name=name) for name in request.topic_names), *request.topics]


class _Rights(NamedTuple):
    """The topics that the caller may describe and delete."""

    describable: frozenset[str]
    deletable: frozenset[str]


def _invalid_rows(
    states: Iterable[DeleteTopicState], names: Mapping[str, int], ids: Mapping[bytes, int]
) -> Iterator[DeletableTopicResult]:
    """Yield the rows that need no look-up; ``names`` and ``ids`` are counted."""
    for state in states:
        if state.name is None and state.topic_id == ZERO_ID:
            text = "Neither topic name nor id were specified."
            yield _row(None, ZERO_ID, ErrorCode.INVALID_REQUEST, text)
        elif state.name is not None and state.topic_id != ZERO_ID:
            text = "You may not specify both topic name and topic id."
            yield _row(state.name, state.topic_id, ErrorCode.INVALID_REQUEST, text)
    for name, count in names.items():
        if count > 1:
            yield _row(name, ZERO_ID, ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    for topic_id, count in ids.items():
        if count > 1:
            yield _row(None, topic_id, ErrorCode.INVALID_REQUEST, "Duplicate topic id.")


def _doomed_ids(
    known: Mapping[bytes, StoredTopic | None], rights: _Rights, rows: list[DeletableTopicResult]
) -> dict[bytes, StoredTopic]:
    """Return the topics to delete; add a row with the reason against each other one."""
    doomed: dict[bytes, StoredTopic] = {}
    for topic_id, topic in known.items():
        if topic is None:
            rows.append(_row(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID))
        elif topic.name in rights.deletable:
            doomed[topic_id] = topic
        else:
            # An id must not reveal the name of a topic that the caller may not describe.
            name = topic.name if topic.name in rights.describable else None
            rows.append(_row(name, topic_id, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    return doomed


def _judge_name(
    name: str,
    node: Node,
    rights: _Rights,
    ids: Container[bytes],
    doomed: dict[bytes, StoredTopic],
    rows: list[DeletableTopicResult],
) -> None:
    """Add a topic to those to delete, or a row with the reason against it."""
    topic = node.topics.get(name)
    # The same error whether the topic exists or not, so that names cannot be probed.
    if name not in rights.describable or (topic is not None and name not in rights.deletable):
        rows.append(_row(name, ZERO_ID, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    elif topic is None:
        rows.append(_row(name, ZERO_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    # The name and the id of one topic in one request: both are refused, and it is not deleted.
    elif topic.topic_id in ids:
        doomed.pop(topic.topic_id, None)
        text = "The provided topic name maps to an ID that was already supplied."
        rows.append(_row(name, topic.topic_id, ErrorCode.INVALID_REQUEST, text))
    else:
        doomed[topic.topic_id] = topic


def _plan(names: Sequence[str], state: State) -> tuple[Change, list[ApiError | None]]:
    """Plan to delete topics, and the offsets that groups have committed for them."""
    change, errors = plan_deletion(state.topics, names)
    deleted = [name for name, error in zip(names, errors, strict=True) if error is None]
    return {**change, **deletion_of_topics(state.offsets, deleted)}, errors


def _respond(
    topics: Sequence[StoredTopic],
    rows: Sequence[DeletableTopicResult],
    errors: Sequence[ApiError | None],
) -> DeleteTopicsResponse:
    deleted = [
        _row(topic.name, topic.topic_id)
        if error is None
        else _row(topic.name, topic.topic_id, error.code, error.message)
        for topic, error in zip(topics, errors, strict=True)
    ]
    return DeleteTopicsResponse(responses=(*rows, *deleted))


def _row(
    name: str | None,
    topic_id: bytes,
    code: ErrorCode = ErrorCode.NONE,
    text: str | None = None,
) -> DeletableTopicResult:
    # Every error of a broker's row has a text.
    if code is not ErrorCode.NONE and text is None:
        text = DEFAULT_MESSAGES.get(code)
    return DeletableTopicResult(
        name=name, topic_id=topic_id, error_code=code.value, error_message=text
    )


def refuse(
    request: DeleteTopicsRequest, version: int, error: BaseException
) -> DeleteTopicsResponse:
    """Answer the same error in every row, without a text."""
    code, _ = answer_of(error)
    return DeleteTopicsResponse(
        responses=tuple(
            DeletableTopicResult(name=state.name, topic_id=state.topic_id, error_code=code.value)
            for state in _states(request)
        )
    )


API = declare(DeleteTopicsRequest, handle, refuse, on_controller=True)
