"""Refuses the APIs of Kafka without a handler: each request is authorized first.

A client that ignores ApiVersions (sarama, and libraries based on it) would lose its connection, and
the requests behind, if the server closed it as a broker closes on unknown keys. So every version of
Kafka 4.4 that the kind of listener has in Kafka gets a whole response:

    a permission of the table of operations is missing   the API's own code
    all others      35 UNSUPPORTED_VERSION, which clients expect of an older broker

The code is at the top where the response has one there, and otherwise in each row. If some rows are
denied, each row has its own code, as in a broker's answer. Bodies are read as strictly as those of
other requests, without generated code: this module, and the declarations that it reads, are
imported when the first such request arrives.

Source: ``KafkaApis`` and the ``getErrorResponse`` of each request (4.3.1).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from doorkeeper.acls.model import ResourceType
from doorkeeper.base.errors import ApiError, ErrorCode, answer_of
from doorkeeper.server.api.declaration import Api
from doorkeeper.server.api.operations import REQUIRED
from doorkeeper.server.api.permissions import allowed_names, is_allowed, is_allowed_on_any, needs
from doorkeeper_wire.interpreted import decode, encode
from doorkeeper_wire.unserved import UNSERVED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from doorkeeper.server.api.node import Node
    from doorkeeper.server.api.permissions import Need
    from doorkeeper.server.runtime.request_context import RequestContext
    from doorkeeper_wire.interpreted import Declared, Field, Values

ROWS: Final[dict[int, dict[str, str]]] = {
    1: {"Responses": "Topics", "Partitions": "Partitions", "PartitionIndex": "Partition"},
    24: {
        "ResultsByTransaction": "Transactions",
        "TopicResults": "Topics",
        "ResultsByTopicV3AndBelow": "V3AndBelowTopics",
        "ResultsByPartition": "Partitions",
        "PartitionIndex": "*",
    },
    27: {
        "Markers": "Markers",
        "Topics": "Topics",
        "Partitions": "PartitionIndexes",
        "PartitionIndex": "*",
    },
    28: {"Topics": "Topics", "Partitions": "Partitions"},
    42: {"Results": "GroupsNames", "GroupId": "*"},
    78: {"Responses": "Topics", "Partitions": "Partitions"},
    79: {"Responses": "Topics", "Partitions": "Partitions"},
    83: {"Results": "Topics", "Partitions": "Partitions"},
    84: {"Results": "Topics", "Partitions": "Partitions"},
    85: {"Results": "Topics", "Partitions": "Partitions"},
    86: {"Results": "Topics", "Partitions": "Partitions"},
    87: {"Results": "Topics", "Partitions": "Partitions"},
    89: {"Groups": "GroupIds", "GroupId": "*"},
    90: {
        "Groups": "Groups",
        "Topics": "Topics",
        "Partitions": "Partitions",
        "PartitionIndex": "*",
    },
    91: {"Responses": "Topics", "Partitions": "Partitions"},
    92: {"Responses": "Topics"},
}
"""Which array of the request each array of a response has its rows from, and which field of a row
has another name there; "*" is the element itself, of an array of texts or numbers."""

SAME: Final = frozenset(
    {
        "GroupId",
        "Name",
        "Partition",
        "PartitionIndex",
        "ProducerId",
        "Topic",
        "TopicId",
        "TopicName",
        "TransactionalId",
    }
)
"""The fields that identify a row; in the request they have the same names."""

NAMES: Final[dict[ResourceType, tuple[str, ...]]] = {
    ResourceType.GROUP: ("GroupId",),
    ResourceType.TRANSACTIONAL_ID: ("TransactionalId",),
    ResourceType.TOPIC: ("Topics.Name", "Topics.TopicId"),
}
"""The fields of requests that name resources, without those in ``NAMES_OF``."""

_SUBTOPOLOGIES: Final = "Topology.Subtopologies"

NAMES_OF: Final[dict[tuple[int, ResourceType], tuple[str, ...]]] = {
    (1, ResourceType.TOPIC): ("Topics.Topic", "Topics.TopicId"),
    (24, ResourceType.TRANSACTIONAL_ID): (
        "V3AndBelowTransactionalId",
        "Transactions.TransactionalId",
    ),
    (24, ResourceType.TOPIC): ("V3AndBelowTopics.Name",),
    (42, ResourceType.GROUP): ("GroupsNames",),
    (68, ResourceType.TOPIC): ("SubscribedTopicNames",),
    (76, ResourceType.TOPIC): ("SubscribedTopicNames",),
    (88, ResourceType.TOPIC): (
        f"{_SUBTOPOLOGIES}.SourceTopics",
        f"{_SUBTOPOLOGIES}.RepartitionSinkTopics",
        f"{_SUBTOPOLOGIES}.RepartitionSourceTopics.Name",
        f"{_SUBTOPOLOGIES}.StateChangelogTopics.Name",
    ),
    (89, ResourceType.GROUP): ("GroupIds",),
    (90, ResourceType.GROUP): ("Groups.GroupId",),
    (90, ResourceType.TOPIC): ("Groups.Topics.TopicName",),
    (91, ResourceType.TOPIC): ("Topics.TopicName",),
    (92, ResourceType.TOPIC): ("Topics.TopicName",),
}

FETCH, INIT_PRODUCER_ID, ADD_PARTITIONS_TO_TXN = 1, 22, 24

Denials = dict[str, dict[object, ErrorCode]]
"""The code of each denied name, or topic id, by its place in the request."""


class Asked(NamedTuple):
    """A request that was decoded by its declaration."""

    values: Values
    version: int


class Refusal(NamedTuple):
    """A response with an error; ``error_code`` stands for all of it."""

    fields: tuple[Field, ...]
    values: Mapping[str, Any]
    error_code: int
    flexible_from: int

    def encode(self, version: int) -> bytes:
        """Return the body for a version of the API."""
        flexible = version >= self.flexible_from
        return encode(self.fields, self.values, version, flexible=flexible)


@cache
def api_of(key: int) -> Api | None:
    """Return an API that refuses; None for an API unknown to Kafka or served in all versions."""
    declared = UNSERVED.get(key)
    return None if declared is None else _Unserved(key, declared).api()


class _Unserved:
    """One API without a handler."""

    def __init__(self, key: int, declared: Declared) -> None:
        self._key = key
        self._declared = declared
        self._rows = ROWS.get(key, {})

    def api(self) -> Api:
        declared = self._declared
        return Api(
            key=self._key,
            name=declared.name,
            min_version=declared.low,
            max_version=declared.high,
            request=cast("type[Any]", self),  # has ``decode``, which is all that is called
            handle=self.handle,
            refuse=self.refuse,
            on_broker=declared.on_broker,
            on_controller=declared.on_controller,
        )

    def decode(self, frame: bytes, offset: int, version: int) -> tuple[Asked, int]:
        """Return the request, and the offset of its end.

        Raises:
            Malformed: the bytes are no request of this API.
        """
        declared = self._declared
        flexible = version >= declared.flexible_from
        values, end = decode(declared.request, frame, offset, version, flexible=flexible)
        return Asked(values, version), end

    def handle(self, request: Asked, context: RequestContext, node: Node) -> Refusal:
        """Refuse: a permission or a handler is missing."""
        denials: Denials = {}
        granted = False
        required = REQUIRED[self._key]
        for place, (row, need) in enumerate(zip(required, needs(self._key), strict=True)):
            alternative = "without " in row.when
            if not _applies(self._key, place, request) or (alternative and granted):
                continue
            granted = False
            if need.resource_type is ResourceType.CLUSTER:
                granted = self._ask_cluster(context, node, need)
            elif need.refusal is not ErrorCode.NONE:
                self._ask_names(request, context, node, need, denials)
        return self._response(request, ErrorCode.UNSUPPORTED_VERSION, self._text(), denials)

    def _text(self) -> str:
        return f"Doorkeeper does not serve {self._declared.name}."

    def refuse(self, request: Asked, version: int, error: BaseException) -> Refusal:
        code, text = answer_of(error)
        return self._response(request, code, text, {})

    def _ask_cluster(self, context: RequestContext, node: Node, need: Need) -> bool:
        """Return whether the caller has this permission on the cluster.

        Raises:
            ApiError: the denial of the whole request.
        """
        if is_allowed(node, context, need):
            return True
        if need.refusal is not ErrorCode.NONE:
            text = f"Request {context.description} needs {need.operation.name} permission."
            raise ApiError(need.refusal, text)
        return False

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
            _ask_any_topic(context, node, need)
            return
        by_place = {
            place: _resources_at(request.values, place, node)
            for place in self._places(request, need)
        }
        names = [name for found in by_place.values() for _, name in found]
        allowed = allowed_names(node, context, need, names)
        for place, found in by_place.items():
            denied = {value for value, name in found if name not in allowed}
            if denied and not self._has_rows(place):
                raise ApiError(need.refusal)
            denials.setdefault(place, {}).update(dict.fromkeys(denied, need.refusal))

    def _places(self, request: Asked, need: Need) -> Iterator[str]:
        """Yield the places where this version of the request names resources of a type."""
        kind = need.resource_type
        for place in NAMES_OF.get((self._key, kind), NAMES[kind]):
            if _is_present(self._declared.request, place.split("."), request.version):
                yield place

    def _has_rows(self, place: str) -> bool:
        """Return whether the response has a row for each resource named there."""
        array, _, _ = place.rpartition(".")
        return bool({place, array.rpartition(".")[2]} & set(self._rows.values()))

    def _response(
        self, request: Asked, code: ErrorCode, text: str | None, denials: Denials
    ) -> Refusal:
        declared = self._declared
        is_denied = any(denials.values())
        values: Values = {}
        if not is_denied:
            values = _error(code, text)
        if is_denied or not _is_present(declared.response, ["ErrorCode"], request.version):
            rows = _Rows(self._rows, request.version, denials)
            values |= rows.of(declared.response, request.values, "", (code, text))
        first = next((each for found in denials.values() for each in found.values()), code)
        return Refusal(declared.response, values, first.value, declared.flexible_from)


class _Rows:
    """Builds the rows of a response from those of its request."""

    def __init__(self, sources: Mapping[str, str], version: int, denials: Denials) -> None:
        self._sources = sources
        self._version = version
        self._denials = denials

    def of(
        self,
        fields: tuple[Field, ...],
        asked: Mapping[str, Any],
        path: str,
        error: tuple[ErrorCode, str | None],
    ) -> Values:
        """Return the arrays of a struct whose rows come from the request."""
        return {
            field.name: [
                self._row(field, item, f"{path}{self._sources[field.name]}", error)
                for item in _items(asked, self._sources[field.name])
            ]
            for field in fields
            if field.is_array
            and field.name in self._sources
            and field.low <= self._version <= field.high
        }

    def _row(
        self,
        field: Field,
        item: object,
        path: str,
        error: tuple[ErrorCode, str | None],
    ) -> Values:
        asked = item if isinstance(item, dict) else {"*": item}
        denied = self._denial(asked, path)
        if denied is not None:
            error = denied, None
        row = _error(*error)
        for each in field.fields:
            source = self._sources.get(each.name, each.name if each.name in SAME else "")
            if not each.is_array and source in asked:
                row[each.name] = asked[source]
        return row | self.of(field.fields, asked, f"{path}.", error)

    def _denial(self, asked: Mapping[str, Any], path: str) -> ErrorCode | None:
        for place, codes in self._denials.items():
            if place == path and "*" in asked:
                return codes.get(asked["*"])
            array, _, name = place.rpartition(".")
            if array == path and asked[name] in codes:
                return codes[asked[name]]
        return None


def _error(code: ErrorCode, text: str | None) -> Values:
    """Return the fields of an error, under all their names."""
    found: Values = {"ErrorCode": code.value, "PartitionErrorCode": code.value}
    if text is not None:
        found["ErrorMessage"] = text
    return found


def _applies(key: int, place: int, request: Asked) -> bool:
    """Return whether a row of the table of operations applies to a request."""
    values = request.values
    when = REQUIRED[key][place].when
    if when.startswith("internal topics"):
        # Nothing is created, so nothing is asked.
        return False
    if key == FETCH:
        replica = max(values["ReplicaId"], values["ReplicaState"]["ReplicaId"])
        return (replica >= 0) is (place == 0)
    if key == INIT_PRODUCER_ID:
        has_id = values["TransactionalId"] is not None
        return (has_id, has_id and values["Enable2Pc"], not has_id, not has_id)[place]
    if key == ADD_PARTITIONS_TO_TXN and place == 0:
        return request.version >= 4
    return True


def _ask_any_topic(context: RequestContext, node: Node, need: Need) -> None:
    """Check the permission on any topic at all (KIP-679).

    Raises:
        ApiError: it is denied.
    """
    if not is_allowed_on_any(node, context, need):
        raise ApiError(need.refusal)


def _is_present(fields: tuple[Field, ...], names: list[str], version: int) -> bool:
    """Return whether a version of a message has the field at the end of a path."""
    first, *rest = names
    for field in fields:
        if field.name == first and field.low <= version <= field.high:
            return not rest or _is_present(field.fields, rest, version)
    return False


def _items(values: Mapping[str, Any], path: str) -> Iterator[Any]:
    """Yield the values at the end of a path, through arrays; none for null."""
    first, _, rest = path.partition(".")
    found = values[first]
    if found is None:
        return
    for each in found if isinstance(found, list | tuple) else (found,):
        if rest:
            yield from _items(each, rest)
        else:
            yield each


def _resources_at(values: Values, place: str, node: Node) -> list[tuple[object, str]]:
    """Return the values at a place, each with the name of its resource.

    An unknown topic id has no name, and is not checked.
    """
    found = list(_items(values, place))
    if not place.endswith("TopicId"):
        return [(each, each) for each in found]
    topics = ((each, node.topics.by_id(each)) for each in found)
    return [(each, topic.name) for each, topic in topics if topic is not None]
