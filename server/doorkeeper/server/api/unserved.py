"""Refuses the APIs of Kafka without a handler: each request is authorized first.

A client that ignores ApiVersions (sarama, and libraries based on it) would lose its connection, and
the requests behind, if the server closed it as a broker closes on unknown keys. So every version of
Kafka 4.4 that the kind of listener has in Kafka gets a whole response:

    a permission of the table of operations is missing   the API's own code
    all others      35 UNSUPPORTED_VERSION, which clients expect of an older broker

The code is at the top where the response has one there, and otherwise in each row. If some rows are
denied, each row has its own code, as in a broker's answer.

An API is refused if its file in schemas/messages has `listeners`; `resource` marks the fields that
name what is authorized. Requests are read, as strictly as others, and answers are written by the
construct trees of these files. The first needs an import of 50 ms: hence `slow`.

Source: ``KafkaApis`` and the ``getErrorResponse`` of each request (4.3.1).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from functools import cache
from typing import Any, cast

from msgspec import Struct

from doorkeeper.acls.model import ResourceType
from doorkeeper.base.errors import ApiError, ErrorCode, answer_of
from doorkeeper.server.api.declaration import IDENTIFYING, SOURCES, Api
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.operations import REQUIRED
from doorkeeper.server.api.permissions import (
    Need,
    allowed_names,
    is_allowed,
    is_allowed_on_any,
    needs,
)
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.api_keys import API_NAMES
from doorkeeper_wire.declared import module, tree
from doorkeeper_wire.declared.model import Field, Module

Values = dict[str, Any]
"""The fields of a struct by name."""

FETCH, INIT_PRODUCER_ID, ADD_PARTITIONS_TO_TXN = 1, 22, 24

Denials = dict[str, dict[object, ErrorCode]]
"""The code of each denied name, or topic id, by the path of its field in the request."""


Error = tuple[ErrorCode, str | None]
"""The code and the text of an error."""


class Asked(Struct, frozen=True):
    """A request that was decoded by its tree."""

    values: Values
    version: int


class Refusal(Struct, frozen=True):
    """A response with an error; ``error_code`` stands for all of it."""

    name: str
    values: Values
    error_code: int

    def encode(self, version: int) -> bytes:
        """Return the body for a version of the API."""
        body: bytes = tree(self.name, version).build(self.values)
        return body


@cache
def api_of(key: int) -> Api | None:
    """Return an API that refuses; None for an API unknown to Kafka or served in all versions."""
    try:
        declared = module(API_NAMES[key])
    except LookupError:
        return None
    return _Unserved(key, declared).api() if declared.listeners else None


class _Unserved:
    """One API without a handler."""

    def __init__(self, key: int, declared: Module) -> None:
        self._key = key
        self._name = API_NAMES[key]
        self._request, self._response = declared.messages
        self._listeners = declared.listeners

    def api(self) -> Api:
        return Api(
            key=self._key,
            name=self._name,
            min_version=self._request.versions.low,
            max_version=self._request.versions.high,
            request=cast("type[Any]", self),  # has ``read``, which is all that is called
            handle=self.handle,
            refuse=self.refuse,
            on_broker="broker" in self._listeners,
            on_controller="controller" in self._listeners,
            slow=True,
        )

    def read(self, frame: bytes, offset: int, version: int) -> tuple[Asked, int]:
        """Return the request, and the offset of its end.

        Raises:
            Malformed: the bytes are no request of this API.
        """
        values, end = tree(self._request.name, version).decode(frame, offset)
        return Asked(values, version), end

    def handle(self, request: Asked, context: RequestContext, node: Node) -> Refusal:
        """Refuse: a permission or a handler is missing.

        Raises:
            ApiError: the denial of the whole request.
        """
        denials: Denials = {}
        granted = False
        required = REQUIRED[self._key]
        for index, (row, need) in enumerate(zip(required, needs(self._key), strict=True)):
            alternative = "without " in row.when
            if not _applies(self._key, index, request) or (alternative and granted):
                continue
            granted = False
            if need.resource_type is ResourceType.CLUSTER:
                granted = is_allowed(node, context, need)
                if not granted and need.refusal is not ErrorCode.NONE:
                    text = f"Request {context.description} needs {need.operation.name} permission."
                    raise ApiError(need.refusal, text)
            elif need.refusal is not ErrorCode.NONE:
                self._ask_names(request, context, node, need, denials)
        text = f"Doorkeeper does not serve {self._name}."
        return self._answer(request, (ErrorCode.UNSUPPORTED_VERSION, text), denials)

    def refuse(self, request: Asked, version: int, error: BaseException) -> Refusal:
        return self._answer(request, answer_of(error), {})

    def _ask_names(
        self,
        request: Asked,
        context: RequestContext,
        node: Node,
        need: Need,
        denials: Denials,
    ) -> None:
        """Check the named resources, and record the denials of rows.

        Raises:
            ApiError: a resource is denied, and the response has no rows for such resources.
        """
        if self._key == INIT_PRODUCER_ID and need.resource_type is ResourceType.TOPIC:
            # On any topic at all (KIP-679).
            if not is_allowed_on_any(node, context, need):
                raise ApiError(need.refusal)
            return
        by_path = {
            path: _resources_at(request.values, path, node)
            for path in _paths(self._request.fields, request.version, need.resource_type.name)
        }
        names = [name for resources in by_path.values() for _, name in resources]
        allowed = allowed_names(node, context, need, names)
        sources = set(_sources(self._request.fields, self._response.fields, request.version))
        for path, resources in by_path.items():
            denied = {value for value, name in resources if name not in allowed}
            # The response has a row for each element of the array: a name, or a struct with one.
            if denied and not {path, path.rpartition(".")[0]} & sources:
                raise ApiError(need.refusal)
            denials.setdefault(path, {}).update(dict.fromkeys(denied, need.refusal))

    def _answer(self, request: Asked, error: Error, denials: Denials) -> Refusal:
        fields, version = self._response.fields, request.version
        values = {} if any(denials.values()) else _error(fields, version, error)
        if "error_code" not in values:
            values |= _rows(fields, request.values, "", version, denials, error)
        first = next((code for codes in denials.values() for code in codes.values()), error[0])
        return Refusal(self._response.name, values, first.value)


def _rows(
    fields: tuple[Field, ...],
    asked: Values,
    path: str,
    version: int,
    denials: Denials,
    error: Error,
) -> Values:
    """Return the arrays of a struct whose rows come from those of the request."""
    return {
        field.name: [
            _row(field.fields, item, f"{path}{source}", version, denials, error)
            for item in _items(asked, source)
        ]
        for field, source in _arrays(fields, asked, version)
    }


def _row(
    fields: tuple[Field, ...],
    item: object,
    path: str,
    version: int,
    denials: Denials,
    error: Error,
) -> Values:
    asked = item if isinstance(item, dict) else {"*": item}
    denied = _denial(asked, path, denials)
    if denied is not None:
        error = denied, None
    row = _error(fields, version, error)
    for inner in fields:
        source = _source(inner.name, asked)
        if inner.name in IDENTIFYING and version in inner.versions and source:
            row[inner.name] = asked[source]
    return row | _rows(fields, asked, f"{path}.", version, denials, error)


def _denial(asked: Mapping[str, Any], path: str, denials: Denials) -> ErrorCode | None:
    for denied_path, codes in denials.items():
        if denied_path == path and "*" in asked:
            return codes.get(asked["*"])
        array, _, name = denied_path.rpartition(".")
        if array == path and asked[name] in codes:
            return codes[asked[name]]
    return None


def _source(name: str, asked: Container[str]) -> str:
    """Return the field of an element of the request that a field of a row comes from, or ""."""
    return next((source for source in SOURCES.get(name, (name,)) if source in asked), "")


def _arrays(
    fields: tuple[Field, ...], asked: Container[str], version: int
) -> Iterator[tuple[Field, str]]:
    """Yield the arrays of a struct of a response, with those of the request that they follow."""
    for field in fields:
        if field.is_struct and field.is_array and version in field.versions:
            source = _source(field.name, asked)
            if source:
                yield field, source


def _sources(
    request: tuple[Field, ...], response: tuple[Field, ...], version: int, path: str = ""
) -> Iterator[str]:
    """Yield the paths of the arrays of a request for whose elements the response has rows."""
    asked = {field.name: field for field in request}
    for field, source in _arrays(response, asked, version):
        yield f"{path}{source}"
        yield from _sources(asked[source].fields, field.fields, version, f"{path}{source}.")


def _paths(fields: tuple[Field, ...], version: int, resource: str, path: str = "") -> Iterator[str]:
    """Yield the paths of the fields that name resources of a type in a version of a request."""
    for field in fields:
        if version in field.versions:
            if field.resource == resource:
                yield f"{path}{field.name}"
            yield from _paths(field.fields, version, resource, f"{path}{field.name}.")


def _error(fields: tuple[Field, ...], version: int, error: Error) -> Values:
    """Return the fields of an error that a struct has."""
    code, text = error
    values: Values = {"error_code": code.value, "partition_error_code": code.value}
    if text is not None:
        values["error_message"] = text
    names = {field.name for field in fields if version in field.versions}
    return {name: value for name, value in values.items() if name in names}


def _applies(key: int, index: int, request: Asked) -> bool:
    """Return whether a row of the table of operations applies to a request."""
    values = request.values
    when = REQUIRED[key][index].when
    if when.startswith("internal topics"):
        # Nothing is created, so nothing is asked.
        return False
    if key == FETCH:
        replica = max(values["replica_id"], values["replica_state"]["replica_id"])
        return (replica >= 0) is (index == 0)
    if key == INIT_PRODUCER_ID:
        has_id = values["transactional_id"] is not None
        return (has_id, has_id and values["enable2_pc"], not has_id, not has_id)[index]
    if key == ADD_PARTITIONS_TO_TXN and index == 0:
        return request.version >= 4
    return True


def _items(values: Mapping[str, Any], path: str) -> Iterator[Any]:
    """Yield the values at the end of a path, through arrays; none for null."""
    first, _, rest = path.partition(".")
    value = values[first]
    if value is None:
        return
    for item in value if isinstance(value, list | tuple) else (value,):
        if rest:
            yield from _items(item, rest)
        else:
            yield item


def _resources_at(values: Values, path: str, node: Node) -> list[tuple[object, str]]:
    """Return the values of a field, each with the name of its resource.

    An unknown topic id has no name, and is not checked.
    """
    items = list(_items(values, path))
    if not path.endswith("topic_id"):
        return [(name, name) for name in items]
    topics = ((topic_id, node.topics.by_id(topic_id)) for topic_id in items)
    return [(topic_id, topic.name) for topic_id, topic in topics if topic is not None]
