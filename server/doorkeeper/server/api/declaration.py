"""The declaration of an API by its handler's module, which the registry lists."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar

from msgspec import Struct

from doorkeeper.base.errors import DEFAULT_MESSAGES, ErrorCode, answer_of
from doorkeeper.server.api.node import Node, Outcome, Response
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.message import Message, Record, arrays_of_structs

R = TypeVar("R", bound=Record)

Refuse = Callable[[Any, int, BaseException], "Response | None"]
"""From a request, its version and an error to the response: the broker's ``getErrorResponse``."""


class Api(Struct, frozen=True):
    """One API: its versions, its request class, its functions, and the listeners that serve it.

    ``handle`` answers a request of a version that is served. ``refuse`` builds the error response
    for the whole request. The request of both is an instance of ``request``; they are ``Any`` here
    because each handler names its own class. ``in_thread``: large requests are handled in a thread;
    not where the handler changes a cache. ``is_optional``: it is served only with
    ``doorkeeper.clients.join.group``. ``slow``: small requests are handled in a thread too.
    """

    key: int
    name: str
    min_version: int
    max_version: int
    request: type[Any]
    handle: Callable[[Any, RequestContext, Node], Outcome]
    refuse: Refuse
    on_broker: bool = True
    on_controller: bool = False
    in_thread: bool = True
    is_optional: bool = False
    slow: bool = False


def declare(
    request: type[Any],
    handle: Callable[[Any, RequestContext, Node], Outcome],
    refuse: Refuse,
    *,
    max_version: int | None = None,
    **flags: bool,
) -> Api:
    """Return an API that serves the versions of its request class, on listeners of brokers too.

    ``max_version`` is the highest that is served, if it is not the highest of the class; ``flags``
    are the booleans of ``Api``.
    """
    return Api(
        request.API_KEY,
        request.__name__.removesuffix("Request"),
        request.MIN_VERSION,
        request.MAX_VERSION if max_version is None else max_version,
        request,
        handle,
        refuse,
        **flags,
    )


TextOf = Callable[[ErrorCode, str | None], str | None]
"""From an error's code and text to the text that is sent."""


def own_text(_code: ErrorCode, text: str | None) -> str | None:
    return text


def stock_text(code: ErrorCode, text: str | None) -> str | None:
    return DEFAULT_MESSAGES.get(code, text)


def only_stock_text(code: ErrorCode, _text: str | None) -> str | None:
    return DEFAULT_MESSAGES.get(code)


def no_text(_code: ErrorCode, _text: str | None) -> None:
    return None


def refuse_as(
    response: type[Any],
    text_of: TextOf = own_text,
    **fields: Any,
) -> Refuse:
    """Return a ``refuse`` for a response whose error is at its top.

    The text of the error is left out where the response has no field for it.
    """
    has_text = hasattr(response, "error_message")

    def refuse(_request: object, _version: int, error: BaseException) -> Response:
        code, text = answer_of(error)
        texts = {"error_message": text_of(code, text)} if has_text else {}
        built: Response = response(error_code=code.value, **texts, **fields)
        return built

    return refuse


SOURCES: Final[dict[str, tuple[str, ...]]] = {
    "group_id": ("group_id", "*"),
    "groups": ("groups", "group_ids"),
    "partition_id": ("*",),
    "partition_index": ("partition_index", "partition", "*"),
    "partition_result": ("partitions",),
    "partitions": ("partitions", "partition_indexes"),
    "replica_election_results": ("topic_partitions",),
    "responses": ("topics", "resources"),
    "results": ("topics", "groups_names", "resources", "users"),
    "results_by_partition": ("partitions",),
    "results_by_topic_v3_and_below": ("v3_and_below_topics",),
    "results_by_transaction": ("transactions",),
    "topic_results": ("topics",),
    "transaction_states": ("transactional_ids",),
    "transactional_id": ("transactional_id", "*"),
}
"""Which array of the request an array of a response has its rows from, and which field of an
element a field that identifies a row, where it has not the same name alone: the first that the
request has. "*" is the element itself, of an array of texts or numbers."""

IDENTIFYING: Final = frozenset(
    {
        *("entity", "entity_name", "entity_type", "group_id", "name", "partition"),
        *(
            "partition_id",
            "partition_index",
            "producer_id",
            "resource_name",
            "resource_type",
            "topic",
            "topic_id",
        ),
        *("topic_name", "transactional_id"),
    }
)
"""The fields that identify a row."""


def refuse_rows(
    response: type[Any],
    text_of: TextOf = own_text,
    **fields: Any,
) -> Refuse:
    """Return a ``refuse`` that answers the same error for each row that the request names.

    The rows have its text or another one, and ``fields``; the response has the error too where it
    has one at its top.
    """

    def refuse(request: Record, _version: int, error: BaseException) -> Response:
        code, text = answer_of(error)
        built: Response = refusal_of(response, request, code, text_of(code, text), **fields)
        return built

    return refuse


def refusal_of(
    kind: type[R], asked: object, code: ErrorCode, text: str | None = None, **others: Any
) -> R:
    """Return a response, or a row of it, for what is asked: a request, or an element of one.

    ``others`` are further fields of a row that has an error.
    """
    asked_class: Any = asked.__class__
    has_code, has_text, copied = _shape(kind, asked_class)
    values: dict[str, Any] = {}
    if has_code or has_text:
        values = {} if issubclass(kind, Message) else {**others}
        if has_code:
            values["error_code"] = int(code)
        if has_text:
            values["error_message"] = text
    for name, source, item in copied:
        value: Any = asked if source == "*" else getattr(asked, source)
        if item is not None:
            value = tuple([refusal_of(item, row, code, text, **others) for row in value or ()])
        values[name] = value
    return kind(**values)


# There may be 100,000 rows of one class.
@cache
def _shape(
    kind: type[Record], asked: type[Any]
) -> tuple[bool, bool, tuple[tuple[str, str, type[Record] | None], ...]]:
    """Return whether a row has a code and a text, and its fields that come from what is asked.

    Those are names with the source of each and, for an array, the class of its items.
    """
    fields, arrays = kind.__struct_fields__, dict(arrays_of_structs(kind))
    has_code, has_text = "error_code" in fields, "error_message" in fields
    # The arrays beside the error of a row, such as the members of a group, stay empty.
    is_row_of_error = not issubclass(kind, Message) and (has_code or has_text)
    copied = tuple(
        (name, source, arrays.get(name))
        for name in fields
        if (source := _source(name, asked))
        and (name in IDENTIFYING or (name in arrays and not is_row_of_error))
    )
    return has_code, has_text, copied


def _source(name: str, asked: type[Any]) -> str:
    """Return the field of a request, or of an element of it, for that of a row; empty if none."""
    sources = SOURCES.get(name, (name,))
    if not issubclass(asked, Record):
        return "*" if "*" in sources else ""
    return next((source for source in sources if hasattr(asked, source)), "")
