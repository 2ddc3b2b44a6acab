"""The declaration of an API by its handler's module, which the registry lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from doorkeeper.base.errors import answer_of
from doorkeeper.server.api.node import Node, Outcome, Response
from doorkeeper.server.runtime.request_context import RequestContext

Refuse = Callable[[Any, int, BaseException], "Response | None"]
"""From a request, its version and an error to the response: the broker's ``getErrorResponse``."""


class Api(Struct, frozen=True):
    """One API: its versions, its request class, its functions, and the listeners that serve it.

    ``handle`` answers a request of a version that is served. ``refuse`` builds the error response
    for the whole request. The request of both is an instance of ``request``; they are ``Any`` here
    because each handler names its own class. ``in_thread``: large requests are handled in a thread;
    not where the handler changes something, as a cache. ``is_optional``: it is served only with
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
    on_controller: bool = False,
    in_thread: bool = True,
    is_optional: bool = False,
    max_version: int | None = None,
) -> Api:
    """Return an API that serves the versions of its request class, on listeners of brokers too.

    ``max_version`` is the highest that is served, if it is not the highest of the class.
    """
    return Api(
        request.API_KEY,
        request.__name__.removesuffix("Request"),
        request.MIN_VERSION,
        request.MAX_VERSION if max_version is None else max_version,
        request,
        handle,
        refuse,
        on_controller=on_controller,
        in_thread=in_thread,
        is_optional=is_optional,
    )


def refuse_as(response: type[Any], **fields: Any) -> Refuse:
    """Return a ``refuse`` for a response whose error is at its top.

    The text of the error is left out where the response has no field for it.
    """
    has_text = hasattr(response, "error_message")

    def refuse(_request: object, _version: int, error: BaseException) -> Response:
        code, text = answer_of(error)
        texts = {"error_message": text} if has_text else {}
        built: Response = response(error_code=code.value, **texts, **fields)
        return built

    return refuse
