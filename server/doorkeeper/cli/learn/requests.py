"""Classifies authorization requests by ``schemas/apis.yaml``.

Brokers ask some wide questions first, such as for CREATE on the cluster, and narrow ones only if
the wide one is denied. A denied wide question is no refusal, so it is not counted; where it is
allowed, nothing else shows what the application needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

from doorkeeper.acls.model import WILDCARD, AclOperation, ResourceType
from doorkeeper.acls.recorded_access import RecordedAccess
from doorkeeper.server.api.operations import REQUIRED
from doorkeeper_wire.api_keys import API_NAMES

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator

    from doorkeeper.acls.decision import Question
    from doorkeeper.server.api.operations import Requirement

_API_KEYS: Final = {name: key for key, name in API_NAMES.items()}


def _narrow_rows(rows: tuple[Requirement, ...], at: int) -> list[Requirement]:
    wide = rows[at]
    if wide.refusal:
        return []
    return [row for row in rows[at + 1 :] if f"without {wide.operation}" in row.when]


def _wide_questions() -> Iterator[tuple[tuple[int, AclOperation, ResourceType], bool]]:
    for api_key, rows in REQUIRED.items():
        for at, row in enumerate(rows):
            narrow = _narrow_rows(rows, at)
            if narrow:
                key = api_key, AclOperation[row.operation], ResourceType[row.resource]
                yield key, any(question.refusal for question in narrow)


WIDE_QUESTIONS = dict(_wide_questions())
"""By API: questions whose denial leads to a narrower one, and whether its denial is an error."""


class CountedRequest(NamedTuple):
    """The question of a request, whether a denial is an error that the client sees, and its scope.

    With ``on_any`` it is about any resource of the type, and its name has no meaning.
    """

    question: Question
    reported: bool
    on_any: bool = False


class AccessKey(Struct, frozen=True):
    """The fields that distinguish accesses.

    ``api`` is empty, and ``log_if_denied`` None, where a log does not tell.
    """

    question: Question
    api: str
    allowed: bool
    log_if_allowed: bool = True
    log_if_denied: bool | None = None
    on_any: bool = False


class AccessCounts:
    """Distinct accesses with their numbers. One thread adds, others may read."""

    def __init__(self) -> None:
        self._counts: dict[AccessKey, int] = {}
        self._first: dict[AccessKey, dt.datetime] = {}

    def __bool__(self) -> bool:
        return bool(self._counts)

    def add(self, key: AccessKey, first: dt.datetime, count: int = 1) -> None:
        self._first[key] = min(self._first.get(key, first), first)
        self._counts[key] = self._counts.get(key, 0) + count

    def accesses(self) -> list[RecordedAccess]:
        """Return the accesses, in the order of their first occurrence."""
        return [
            RecordedAccess(
                counted.question,
                key.api or "a request",
                key.allowed,
                counted.reported,
                count,
                self._first[key],
                on_any=counted.on_any,
            )
            for key, count in list(self._counts.items())
            if (counted := counted_request(key)) is not None
        ]


def counted_request(key: AccessKey) -> CountedRequest | None:
    """Classify a request; return None if it is no access of its own."""
    question, api_key, log_if_denied = key.question, _API_KEYS.get(key.api), key.log_if_denied
    if key.on_any:
        return CountedRequest(question, reported=True, on_any=True)
    reported = None
    if api_key is not None:
        reported = WIDE_QUESTIONS.get((api_key, question.operation, question.resource_type))
    if reported is not None:
        if not key.allowed:
            # The narrow question that follows is the one that counts.
            return None
        if question.operation is AclOperation.IDEMPOTENT_WRITE:
            # A broker takes WRITE on any topic instead (KIP-679), and a producer has it anyway.
            # With a topic the cluster-wide ACL is one too many.
            return CountedRequest(any_topic(question), reported, on_any=True)
        return CountedRequest(question, reported)
    if log_if_denied is None and not key.log_if_allowed:
        log_if_denied = False
    return CountedRequest(question, is_reported(api_key, question, log_if_denied=log_if_denied))


def any_topic(question: Question) -> Question:
    """Return the question that follows where IDEMPOTENT_WRITE on the cluster is denied."""
    return question._replace(
        operation=AclOperation.WRITE, resource_type=ResourceType.TOPIC, name=WILDCARD
    )


def is_reported(api_key: int | None, question: Question, *, log_if_denied: bool | None) -> bool:
    """Return whether a denial of an API's question is an error that the client sees.

    Where an API asks the same question for two purposes, one of which has an error, it is reported.
    A denial that Kafka does not log is none: CreateTopics creates a topic whose settings it hides.
    ``log_if_denied`` is None where a log does not tell: then the purposes of the API do.
    """
    if log_if_denied is False:
        return False
    # -1 is no API: without the request each row of a log counts.
    rows = [
        row
        for row in REQUIRED.get(-1 if api_key is None else api_key, ())
        if (row.operation, row.resource) == (question.operation.name, question.resource_type.name)
    ]
    logged = [row for row in rows if row.log_if_denied]
    unknown = not rows if log_if_denied is None else not logged
    return unknown or any(row.refusal for row in logged)
