"""Authorization requests that a broker makes for a client's requests, found by our own handlers.

A handler asks the authorizer first, and returns the change of a request instead of making it. So
each request that passes the tap is handled by a node in memory, whose authorizer allows everything;
the response is thrown away. The node knows the topics of the broker from its Metadata responses: a
request may name a topic by its id, and only topics that do not exist need CREATE.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from doorkeeper.base.errors import ApiError
from doorkeeper.server.api import registry
from doorkeeper.server.api.unserved import api_of
from doorkeeper.server.resources.topics.table import row_of, topic_of
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext, RequestContext
from doorkeeper.server.schema.declared import StoredTopic
from doorkeeper_wire.messages.delete_topics import DeleteTopicsRequest

if TYPE_CHECKING:
    from doorkeeper.acls.model import Principal
    from doorkeeper.server.api.declaration import Api
    from doorkeeper.server.app.assembly import Assembly
    from doorkeeper_wire.framing import RequestHeader
    from doorkeeper_wire.messages.metadata import MetadataResponse

_NO_ID: Final = bytes(16)

_HIGHEST: Final = {0: 9, 1: 15}
"""Produce and Fetch: newer responses may name other brokers in their errors (KIP-951)."""


def readable_versions(api_key: int) -> tuple[int, int] | None:
    """Return the versions of an API that can be read, the lowest and the highest; None without."""
    apis = [api for api in (registry.apis(optional=True).get(api_key), api_of(api_key)) if api]
    if not apis:
        return None
    highest = max(api.max_version for api in apis)
    lowest = min(api.min_version for api in apis)
    return lowest, min(highest, _HIGHEST.get(api_key, highest))


class Shadow:
    """A node that handles requests for their authorization alone."""

    def __init__(self, assembly: Assembly) -> None:
        """``assembly`` has started, with an authorizer that allows everything."""
        self._node = assembly.node
        self._log = assembly.log

    def observe(
        self, header: RequestHeader, frame: bytes, offset: int, principal: Principal, host: str
    ) -> None:
        """Ask for what a broker would ask for.

        Raises:
            Malformed: the body cannot be read.
        """
        api = _api_of(header)
        if api is None:
            return
        request, _ = api.request.decode(frame, offset, header.api_version)
        if isinstance(request, DeleteTopicsRequest):
            self._add_deleted(request)
        context = AuthorizableRequestContext(
            "PLAINTEXT",
            "PLAINTEXT",
            principal,
            host,
            header.api_key,
            header.api_version,
            header.client_id or "",
            header.correlation_id,
        )
        try:
            api.handle(request, RequestContext(context, "", controller_listener=False), self._node)
        except ApiError:
            # The node refuses the request for another reason, behind its authorization.
            return

    def learn_topics(self, response: MetadataResponse) -> None:
        """Take over topics from a Metadata response."""
        added, removed = [], []
        for topic in response.topics:
            # A topic that was asked for by an unknown id has no name.
            if topic.name is None:
                continue
            if topic.error_code:
                removed.append(topic.name)
                continue
            # Before version 10 there are no ids, and nothing asks by them.
            topic_id = topic.topic_id if topic.topic_id != _NO_ID else os.urandom(16)
            added.append(StoredTopic(topic.name, topic_id, max(len(topic.partitions), 1), 1, {}))
        self._replace(added, removed)

    def _add_deleted(self, request: DeleteTopicsRequest) -> None:
        # A client may delete topics of which it never asked for the metadata.
        named = (*request.topic_names, *(topic.name for topic in request.topics if topic.name))
        unknown = [name for name in named if self._node.topics.get(name) is None]
        self._replace([StoredTopic(name, os.urandom(16), 1, 1, {}) for name in unknown], [])

    def _replace(self, added: list[StoredTopic], removed: list[str]) -> None:
        here = self._node.topics
        gone = [row_of(topic) for name in removed if (topic := here.get(name)) is not None]
        new = [topic for topic in added if here.get(topic.name) != topic_of(topic)]
        if new or gone:
            self._log.amend(topics=here.with_changes(new, gone))


def _api_of(header: RequestHeader) -> Api | None:
    for api in (registry.apis(optional=True).get(header.api_key), api_of(header.api_key)):
        if api is not None and api.min_version <= header.api_version <= api.max_version:
            return api
    return None
